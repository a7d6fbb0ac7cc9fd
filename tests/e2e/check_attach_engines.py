# SPDX-License-Identifier: MIT
"""ctp-run -p: switch functions that begin with any instruction are patched under the program's threads, and get their code back."""
import hashlib
import json
import os
import platform
import re
import shutil
import signal

import packages
from check_attach import may_attach, words_into_libctp
from check_counts import said
from check_engines import built
from harness import ROOT, Skip, equal, need, tool, until

IN_USE = "would lead into memory that is in use"
TRIES = 10


def code_of(pid, part):
    """A digest of the code of the objects that have this in their path, as it is in memory."""
    digest, pieces = hashlib.sha256(), 0
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            fields = line.split(None, 5)
            if fields[1] == "r-xp" and len(fields) > 5 and part in fields[5]:
                lo, hi = (int(x, 16) for x in fields[0].split("-"))
                memory.seek(lo)
                digest.update(memory.read(hi - lo))
                pieces += 1
    need(pieces, f"no code of {part}")
    return digest.hexdigest()


class Program:
    """A program that does what it reads, a line each; `part` is in the path of the object with its switch function."""

    def __init__(self, case, part, *argv):
        read, self.to = os.pipe()
        self.case, self.part = case, part
        self.process = case.start(*argv, stdin=read)
        os.close(read)
        self.process.wait_for("ready")
        self.pid = self.process.pid
        self.own = code_of(self.pid, part)

    def say(self, line, answer):
        before = len(re.findall(answer, self.process.out()))
        os.write(self.to, line.encode())
        until(lambda: len(re.findall(answer, self.process.out())) > before, f"{answer} after {line}")

    def attach(self, trace):
        ctp = self.case.ctp_start("-v", "--overflow=block", "-o", trace, "-p", self.pid)
        ctp.wait_for("ctp-run: attached to", stream="err")
        return ctp

    def is_patched(self):
        return code_of(self.pid, self.part) != self.own

    def detach(self, ctp):
        ctp.signal(signal.SIGINT)
        done = ctp.done()
        equal(done.status, 0, f"status of ctp-run ({done})")
        equal(code_of(self.pid, self.part), self.own, "its code afterwards")
        equal(words_into_libctp(self.pid), 0, "entries that lead to libctp.so")

    def end(self, line, answer):
        self.say(line, answer)
        equal(self.process.done().status, 0, "the program's status")
        os.close(self.to)


def attached(case, start):
    """A program that is attached to, and patched: (program, ctp-run, trace). There is one place for each function's jump, and
    seldom the heap or the stack lies there: then it is said, and another process has other addresses."""
    may_attach(case)
    for i in range(TRIES):
        program, trace = start(), f"trace{i}"
        ctp = program.attach(trace)
        if program.is_patched():
            return program, ctp, trace
        program.detach(ctp)
        facts = [f["message"] for f in case.report(trace)[1]["facts"]]
        need(any(IN_USE in x for x in facts), f"not patched, and no word of why: {facts}")
        program.process.signal(signal.SIGKILL)
        program.process.done()
    raise AssertionError(f"memory was in use in each of {TRIES} processes")


def again(program, times, between):
    """Attaches and detaches once more, and again."""
    for i in range(times):
        ctp = program.attach(f"again{i}")
        need(program.is_patched(), f"round {i}: not patched")
        between()
        program.detach(ctp)
        between()


PROGRAM, LIBRARY = ("attach-engines", "t-attach-engines"), ("attach-shared", "libt-engines.so")


def engines(case, threads, place):
    if platform.machine() != "x86_64":
        raise Skip("attaching is made for x86_64")
    target, part = case.target(place[0]), place[1]
    return lambda: Program(case, part, target, threads)


def exact_engines(case, place):
    program, ctp, trace = attached(case, engines(case, 0, place))
    program.say("g", "coroutines")
    program.detach(ctp)
    program.say("g", "coroutines")
    known = said(program.process.out().splitlines()[1])
    report = case.report(trace)[1]
    trace = report["trace"]
    equal((trace["coroutines"]["total"], trace["switches"], trace["lost"]), (*known, 0), "coroutines, switches, lost")
    equal(report["findings"], [], "findings")
    need(any(f"{place[1]} has its own " in x and ", patched" in x for x in trace["coverage"]), f"{trace['coverage']}")
    program.end("q", "balanced")


def engines_under_threads(case, place):
    program, ctp, _ = attached(case, engines(case, 3, place))
    program.detach(ctp)
    again(program, 10, lambda: program.say("g", "coroutines"))
    program.end("q", "balanced")


def check_engines(case):
    """One switch function of each family: every switch from the attach to the detach counts, none before or after."""
    exact_engines(case, PROGRAM)


def check_engines_under_threads(case):
    """Beside threads that switch by all of them as fast as they can, ten times: none goes astray."""
    engines_under_threads(case, PROGRAM)


def check_shared_engines(case):
    """The same in a library, some of whose jumps lead far below it: ctp's own tables are not in the way."""
    exact_engines(case, LIBRARY)


def check_shared_engines_under_threads(case):
    engines_under_threads(case, LIBRARY)


def state_threads(case, *words):
    may_attach(case)
    packages.want("gcc", "libst-dev")
    program = built(case, "attach-st", tool("gcc"), "-O1", "-g", ROOT / "tests/targets/attach_st.c", "-lst", "-lpthread")
    return lambda: Program(case, "/libst.so", program, *words)


def check_state_threads_untraced(case):
    """Nobody has attached: what one function saves and another restores is found by the code of the first."""
    program = state_threads(case)()
    program.say("g", "rounds 101\n")
    found = json.loads(case.run(case.build / "src/ps/ctp-ps", "--json", program.pid).out)
    equal((found["counts"]["suspended"], found["counts"]["running"]), (5, 1), "its threads, and the one that waits for events")
    program.end("q", "balanced")


def check_state_threads(case):
    """State Threads as a shared library, attached to while it waits for events: each switch is counted."""
    program, ctp, trace = attached(case, state_threads(case))
    program.say("g", "rounds 101\n")
    program.say("g", "rounds 201\n")
    program.detach(ctp)
    program.say("g", "rounds 301\n")
    report = case.report(trace)[1]
    equal((report["trace"]["coroutines"]["total"], report["trace"]["switches"]), (6, 2 * (100 * 6 + 2)), "threads and the one that waits, switches")
    equal(report["findings"], [], "findings")
    program.end("q", "balanced")


def check_state_threads_at_speed(case):
    """While they switch as fast as they can, ten times: each has its turns, and who waits for room at the detach gets it."""
    program, ctp, trace = attached(case, state_threads(case, "spin"))
    program.detach(ctp)
    equal(case.report(trace, validated=False)[1]["trace"]["lost"], 0, "lost")
    again(program, 10, lambda: program.say("g", r"rounds \d+\n"))
    program.end("q", "balanced")


RUBY = """
fibers = 5.times.map { Fiber.new { n = 0; loop { n += 1; Fiber.yield n } } }
said = fibers.map(&:resume)
rounds, over = 0, false
threads = ARGV[0].to_i.times.map do
  Thread.new do
    f = 3.times.map { Fiber.new { n = 0; loop { n += 1; Fiber.yield n } } }
    at, k = [0] * 3, 0
    until over do at[k % 3] = f[k % 3].resume; k += 1 end
    at.sum == k
  end
end
puts "ready"; $stdout.flush
loop do
  IO.select([$stdin])
  break if $stdin.readpartial(1) == "q"
  100.times { said[rounds % 2] = fibers[rounds % 2].resume; rounds += 1 }
  puts "went"; $stdout.flush
end
over = true
puts said.sum - rounds == 5 && threads.all?(&:value) ? "balanced" : "astray"
"""


def ruby(case, threads):
    packages.want("ruby")
    (case.dir / "fibers.rb").write_text(RUBY)
    return lambda: Program(case, "libruby", shutil.which("ruby"), "fibers.rb", threads)


def check_ruby(case):
    """Ruby's fibers: those that are there are found, and each switch from the attach on is counted."""
    program, ctp, trace = attached(case, ruby(case, 0))
    need("; 5 coroutines were found" in ctp.err(), ctp.err())
    program.say("g", "went")
    program.say("g", "went")
    program.detach(ctp)
    program.say("g", "went")
    program.end("q", "balanced")
    report = case.report(trace)[1]
    equal((report["trace"]["coroutines"]["total"], report["trace"]["switches"]), (5, 400), "fibers, switches")
    equal(report["findings"], [], "findings")


def check_ruby_under_threads(case):
    """Again and again beside threads of the script whose fibers run all the time."""
    program, ctp, _ = attached(case, ruby(case, 3))
    program.detach(ctp)
    again(program, 4, lambda: program.say("g", "went"))
    program.end("q", "balanced")


# Where a coroutine gives way in a sort's comparison, perl is in a C function: it needs a stack of its own.
PERL = """use Coro;
$| = 1;
my ($rounds, $n) = (0, 0);
my @all = map { async { for (;;) { my @sorted = sort { $n++; cede; $a <=> $b } 1..4 } } } 1..5;
cede for 1..3;
print "ready\\n";
for (;;) {
    my $in = ''; vec($in, 0, 1) = 1;
    select($in, undef, undef, undef);
    sysread(STDIN, my $order, 1);
    last if $order eq 'q';
    my $was = $n;
    cede for 1..100;
    print "went ", $n - $was, "\\n";
}
print "balanced\\n";
"""


def check_coro(case):
    """Perl's Coro: its switches are seen from the attach on, again and again, and its coroutines keep their turns."""
    packages.want("libcoro-perl")
    (case.dir / "coro.pl").write_text(PERL)
    program, ctp, trace = attached(case, lambda: Program(case, "/State.so", shutil.which("perl"), "coro.pl"))
    program.say("g", r"went 500\n")
    program.detach(ctp)
    report = case.report(trace)[1]
    need(report["trace"]["switches"] >= 500, f"switches: {report['trace']}")
    equal(report["findings"], [], "findings")
    again(program, 2, lambda: program.say("g", r"went 500\n"))
    program.end("q", "balanced")


LUA = """
local fiber, socket = require('fiber'), require('socket')
local n, turns = 0, {}
for i = 1, 20 do turns[i] = fiber.create(function() while true do fiber.cond():wait(1000000) n = n + 1 end end) end
io.stdout:write('ready\\n') io.stdout:flush()
while true do
  socket.iowait(0, 'R')
  local order = io.stdin:read(1)
  if order == 'q' then break end
  for k = 1, 100 do for i = 1, 20 do turns[i]:wakeup() end fiber.yield() end
  io.stdout:write('went ', n, '\\n') io.stdout:flush()
end
io.stdout:write('balanced\\n') io.stdout:flush()
os.exit(0)
"""


def check_tarantool(case):
    """Tarantool's fibers: each turn that the script counts is a switch at least, and so is each round."""
    packages.want("tarantool")
    (case.dir / "fibers.lua").write_text(LUA)
    program, ctp, trace = attached(case, lambda: Program(case, "/tarantool", shutil.which("tarantool"), "fibers.lua"))
    program.say("g", r"went 2000\n")
    program.detach(ctp)
    report = case.report(trace)[1]
    need(report["trace"]["switches"] >= 2100, f"switches: {report['trace']}")
    equal(report["findings"], [], "findings")
    again(program, 2, lambda: program.say("g", r"went \d+\n"))
    program.say("g", r"went 12000\n")
    program.end("q", "balanced")


CHECKS = [("engines", check_engines), ("engines_under_threads", check_engines_under_threads),
          ("shared_engines", check_shared_engines), ("shared_engines_under_threads", check_shared_engines_under_threads),
          ("state_threads_untraced", check_state_threads_untraced), ("state_threads", check_state_threads),
          ("state_threads_at_speed", check_state_threads_at_speed), ("ruby", check_ruby), ("ruby_under_threads", check_ruby_under_threads), ("coro", check_coro), ("tarantool", check_tarantool)]
