# SPDX-License-Identifier: MIT
"""ctp-gdb.py: coroutines in the debugger, of processes and of cores, and what it must not do to either."""
import os
import re
import signal
import subprocess
import sys

import check_announced as announced
import check_stackless as stackless
from check_ends import make_core
from check_engines import with_boost
from harness import ROOT, Skip, child_of, equal, need, proc_state, tool, until

SCRIPT = ROOT / "scripts/ctp-gdb.py"
FACTORS = {"a": 3, "b": 5, "c": 7, "d": 11, "e": 13, "f": 17}  # of tests/targets/seen.c
BROKEN = re.compile(r"Traceback|Python Exception|Backtrace stopped|Error while executing Python|Undefined .*command")


def gdb(case, *words, commands):
    done = case.run(tool("gdb"), "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set confirm off",
                    "-x", SCRIPT, *words, *[w for c in commands for w in ("-ex", c)])
    if "ptrace: Operation not permitted" in done.err:
        raise Skip("ptrace is not permitted here")
    if "Couldn't write extended state status" in done.err:
        raise Skip("this gdb cannot write registers of this CPU (AMX), of any program")
    need(not BROKEN.search(done.out + done.err), f"{commands}: {done.out[:5000]}\n{done.err[:5000]}")
    return done


def seen(case, *words, engine="ucontext"):
    """(t-seen, traced and waiting for a line; its pid)"""
    program = with_boost(case, "t-seen-fcontext", "-O2", "seen.c", "co.c", "co_fcontext.c", "must.c") if engine == "fcontext" \
        else case.target("seen")
    process = case.ctp_start("-q", program, *words, env={"CO_ENGINE": engine}, stdin=subprocess.PIPE)
    process.wait_for("ready")
    return process, child_of(process.pid), program


def goes_on(process):
    """It has come to no harm: it does what it is told, and ends as it would."""
    process.popen.stdin.write(b"\n")
    process.popen.stdin.close()
    process.wait_for("round")
    equal(process.done().status, 0, "the program's status afterwards")


def ids(text):
    return [int(x) for x in re.findall(r"^[* ] +(\d+) ", text, re.M)]


def taken(case, pid):
    made = case.run(tool("gcore"), "-o", case.dir / "taken", pid)
    core = case.dir / f"taken.{pid}"
    if not core.exists():
        raise Skip(f"gcore makes none: {made.err.strip().splitlines()[-1:]}")
    return core


# ---- what is shown

def need_locals(case, *words):
    """Each coroutine of `seen 3` has its own six values, in the registers of a frame that is suspended."""
    listed = gdb(case, *words, commands=["info coroutines"]).out
    need("3 coroutines: 0 created, 3 suspended, 0 running" in listed, listed)
    each = [c for i in ids(listed) for c in (f"coroutine {i}", "echo <<<", "frame function seen_keeps", "info locals", "bt")]
    parts = [part.split("[Switching")[0] for part in gdb(case, *words, commands=each).out.split("<<<")[1:]]
    got = [{k: int(v) for k, v in re.findall(r"^([a-f]) = (-?\d+)$", part, re.M)} for part in parts]
    equal(got, [{k: f * seed for k, f in FACTORS.items()} for seed in (100, 101, 102)], f"locals in {parts}")
    for part in parts:
        names = re.findall(r"^#\d+ .*?(?:in )?(\w+) \(.*\) at ", part[part.index("<coroutine"):], re.M)
        names = names[names.index("seen_keeps"):]
        equal(names[:3], ["seen_keeps", "seen_main", "co_body"], part)
        need(len(names) <= 5, f"goes on behind the coroutine: {part}")


def check_engine(engine):
    def check(case):
        """Live, and in a core; afterwards the program goes on as if nobody had looked."""
        process, pid, program = seen(case, engine=engine)
        need_locals(case, "-p", pid)
        core = taken(case, pid)
        goes_on(process)
        need_locals(case, program, core)
    return check


def check_kernel_core(case):
    """Of a program that died: who waits, and with which frames."""
    core = make_core(case, "abort")
    out = gdb(case, case.target("dying"), core, commands=["info coroutines", "coroutine", "coroutine apply all bt", "coroutine none",
                                                          "bt"]).out
    need(re.search(r"^ +1 \S+ +suspended \[fd \d+#1 EPOLLIN\S* \(closed\), [^]]+\] \w+ \(\) at \w+\.c:\d+$", out, re.M), out)
    need(re.search(r"^#\d+ .* in conn_reader \(", out, re.M), out)
    need("is on its own stack" in out and re.search(r"^#\d+ .* end_now \(", out, re.M), out)


def check_mix(case):
    """All states, filters, groups, and what can be said of those that have no frames."""
    process = case.ctp_start("-q", case.target("ps"), "mix")
    process.wait_for("ready")
    commands = ["info coroutines", "info coroutines -g", "info coroutines suspended fd 8", "info coroutines -n 2 wait_for",
                "coroutine find ^sleeper", "coroutine apply all bt", "info coroutines native"]
    out = gdb(case, "-p", child_of(process.pid), commands=[w for c in commands for w in ("echo ---\\n", c)]).out
    every, grouped, some, two, found, stacks, natives = out.split("---\n")[1:]
    need(re.search(r"^ +1 reader_main +suspended \[fd \d+#1 EPOLLIN, [^]]+\] park \(\) at ps.c:\d+$", every, re.M), every)
    equal((every.count("(closed)"), every.count(" created "), every.count(" suspended [")), (1, 4, 5), every)
    need(re.search(r"busy_main +running +on thread \d+ \(LWP \d+\)$", every, re.M), every)
    need("10 coroutines: 4 created, 5 suspended, 1 running" in every, every)
    need(re.search(r"^ +3 x reader_main .*park \(\) at ps.c:\d+ < wait_for < read_request < reader_main: 1 3 4$", grouped, re.M), grouped)
    need(re.search(r"^ +4 x fresh_main .*: 7 8 9 10$", grouped, re.M), grouped)
    equal((len(ids(some)), "1 of 10 coroutines" in some), (1, True), some)
    equal((len(ids(two)), "... 2 more" in two, "4 of 10" in two), (2, True, True), two)
    equal(found.strip(), "Coroutine 6 has name 'sleeper_main'", "found")
    equal(len(re.findall("^Coroutine ", stacks, re.M)), 10, "stacks")
    equal(stacks.count("has not run yet; it begins in fresh_main () at ps.c"), 4, stacks)
    equal(len(re.findall(r"^#\d+ .* in descend ", stacks, re.M)), 5, stacks)
    need(re.search(r"^#\d+ .* in busy_main \(", stacks, re.M), stacks)
    need("2 threads' own stacks" in natives, natives)


def check_named(case):
    """Coroutines that the program has named, live and in a core."""
    process = case.ctp_start("-q", case.target("named"), "lost")
    process.wait_for("ready")
    pid = child_of(process.pid)
    commands = ["info coroutines", "echo ---\\n", "coroutine find reap", "echo ---\\n", "info coroutines reap"]
    live = gdb(case, "-p", pid, commands=commands).out
    core = gdb(case, case.target("named"), taken(case, pid), commands=commands).out
    for out in (live, core):
        every, found, one = out.split("---\n")
        given = re.findall(r'^ +(\d+) (\w+ "[^"]+") +suspended ', every, re.M)
        equal(len(given), 4, every)
        need(re.fullmatch(f"Coroutine {given[3][0]} has name '{given[3][1]}'\n", found), found)
        equal(ids(one), [int(given[3][0])], one)


def check_copied(case):
    """Frames of a stack that is shared by copying are not there: the recorded ones are told."""
    process = case.ctp_start("-q", case.target("ps"), "copy")
    process.wait_for("ready")
    out = gdb(case, "-p", child_of(process.pid), commands=["coroutine apply all bt"]).out
    equal(out.count("shares its stack with others by copying"), 3, out)
    equal([out.count(f"  copied_{x} () at ps.c") for x in "abc"], [1, 1, 1], out)


def check_thousand(case):
    """`coroutine apply all bt` over a thousand: each has its frames and its end."""
    process, pid, _ = seen(case, "1000")
    out = gdb(case, "-p", pid, commands=["coroutine apply all bt"]).out
    goes_on(process)
    stacks = out.split("\nCoroutine ")[1:]
    equal(len(stacks), 1000, "stacks")
    for n, text in enumerate(stacks):
        names = re.findall(r"^#\d+ .*?(?:in )?(\S+) \(.*\) at ", text, re.M)
        equal(names, ["seen_keeps", "seen_main", "co_body", "uc_enter"], text)
        need(f"seen_keeps (seed=seed@entry={100 + n})" in text, text)


def check_complete(case):
    def said(text):
        return gdb(case, commands=["complete " + text]).out.split("\n")
    for text, wanted in (("coroutine ", "coroutine apply"), ("coroutine apply a", "coroutine apply all"),
                         ("coroutine apply all backt", "coroutine apply all backtrace"),
                         ("coroutine apply 1-3 -q inf", "coroutine apply 1-3 -q info"),
                         ("info coroutines sus", "info coroutines suspended"), ("info corou", "info coroutines")):
        need(wanted in said(text), f"{text!r} completes to {said(text)}")


# ---- what it must not do

REGISTERS = "python print('now', [int(gdb.newest_frame().read_register(r)) for r in 'rip rsp rbp rbx r12 r13 r14 r15'.split()])"


def check_untouched(case):
    """Whoever is chosen, the thread keeps its registers, and what would give it others is refused."""
    process, pid, _ = seen(case)
    done = gdb(case, "-p", pid, commands=[
        REGISTERS, "coroutine 1", "frame function seen_main", "p seen_visit(0)", "coroutine", "coroutine 3", "coroutine none", "bt",
        REGISTERS])
    refused = [gdb(case, "-p", pid, commands=["coroutine 1", c, REGISTERS]) for c in ("return", "jump seen_visit", "p $rbx = 1")]
    now = re.findall(r"^now (.*)$", done.out + "".join(r.out for r in refused), re.M)
    equal((len(now), len(set(now))), (5, 1), f"registers {now}")
    need("[Current coroutine is 1 (uc_enter, suspended)]" in done.out, f"after a call: {done.out}")
    equal([("coroutine 1 is chosen, which this thread does not run" in r.err) for r in refused[:2]], [True, True], "refused")
    need(re.search(r"^#\d+ .* main \(", done.out[done.out.index("is on its own stack"):], re.M), done.out)
    goes_on(process)


def check_goes_on(case):
    """$_coroutine() in a condition; to step and to continue leave the choice; finish waits for the coroutine's own frame."""
    process, pid, _ = seen(case)
    line = f"shell echo > /proc/{os.getpid()}/fd/{process.popen.stdin.fileno()}"
    commands = [line, "break seen_visit if $_coroutine() == 2", "continue", "coroutine", "coroutine 1", "next", "coroutine", "bt 1",
                "delete", "coroutine 3", "frame function seen_keeps", "finish", "coroutine", "p $_coroutine()"]
    out = gdb(case, "-p", pid, commands=[w for c in commands for w in ("echo ---\\n", c)]).out
    parts = dict(zip(("line", "break", "stop", "who", "other", "next", "stepped", "top", "_", "chosen", "frame", "finish", "last", "p"),
                     out.split("---\n")[1:]))
    need("Breakpoint 1, seen_visit (seed=" in parts["stop"] and "seed@entry=101" in parts["stop"], parts)
    need("Current coroutine is 2 (uc_enter, running on thread 1 " in parts["who"], parts)
    need("Switching to coroutine 1 (uc_enter, suspended)" in parts["other"], parts)
    need("return sum;" in parts["next"] and "Current coroutine is 2" in parts["stepped"], f"stepped elsewhere: {parts}")
    need("seen_visit (" in parts["top"], parts)
    need("seen_main (" in parts["finish"] and "Value returned" in parts["finish"], parts)
    need("Current coroutine is 3 (uc_enter, running" in parts["last"] and parts["p"].startswith("$2 = 3\n"), parts)
    goes_on(process)


def check_not_traced(case):
    """One clear line where there is nothing to show."""
    process = case.start(tool("sleep"), "600")  # never traced, and without a coroutine
    until(lambda: proc_state(process.pid) == "S", "sleep")
    done = gdb(case, "-p", process.pid, commands=["info coroutines", "p $_coroutine()", "coroutine 1"])
    need("0 coroutines: 0 created, 0 suspended, 0 running\n" in done.out and "$1 = 0\n" in done.out, done.out)
    equal(done.err.count("no coroutine 1 lives now"), 1, done.err)
    traced, pid, _ = seen(case)
    wrong = gdb(case, "-p", traced.pid, commands=["info coroutines"])
    need("attach to the program, not to its ctp-run" in wrong.err, wrong.err)
    words = ("coroutine 99", "coroutine x", "coroutine apply", "coroutine apply 1", "coroutine find [", "info coroutines -n x", "coroutine find")
    lines = gdb(case, "-p", pid, commands=["echo <<<"] + [w for c in words for w in ("python print(flush=True)", c)])
    said = [x for x in lines.err.splitlines() if re.search("coroutine|-n wants|regular", x)]
    equal(len(said), len(words), f"a line each: {lines.err}")


# Turns words of a live region round, through gdb's own writes, and looks at what the commands make of it.
DAMAGE = r"""
import random, struct, gdb
from ctp_gdb import region
random.seed(5)
r = region.find()
u64 = lambda at: struct.unpack_from("<Q", r.ext, at)[0]
odd = [0, 1, 2**64 - 1, 2**63, 2**31, 2**32 - 1, 2**20, 2**40]
places = [(0, 1024, 150), (r.threads_off, 1024, 20), (r.fds_off, 2048, 10), (r.index_off, 64, 20), (r.words_off, 512, 40)]
places += [(r.states_off + i * 448, 448, 40) for i in range(4)]
memory = gdb.selected_inferior()
count = refused = 0
for place, room, times in places:
    for _ in range(times):
        at = r.base + place + 8 * random.randrange(room // 8)
        was = bytes(memory.read_memory(at, 8))
        memory.write_memory(at, struct.pack("<Q", random.choice(odd + [random.getrandbits(64)])))
        for command in ("info coroutines", "info coroutines -g seen", "coroutine 1", "coroutine apply all -c bt", "coroutine none"):
            try:
                gdb.execute(command, to_string=True)
            except gdb.error as error:
                refused += 1
                if not str(error).strip() or "Error occurred in Python" in str(error):
                    print("BAD at 0x%x: %s: %r" % (at - r.base, command, str(error)))
        memory.write_memory(at, was)
        count += 1
print("damaged %d times, refused %d" % (count, refused))
memory.write_memory(r.base + 0x48, struct.pack("<I", 99))
"""


def check_hostile(case):
    """Any word of the tables turned round: a list or one line, never a trace of Python's, a crash or a hang."""
    process, pid, _ = seen(case)
    script = case.dir / "damage.py"
    script.write_text(DAMAGE)
    done = gdb(case, "-p", pid, commands=[f"source {script}", "info coroutines"])
    need("BAD" not in done.out, done.out[:3000])
    need(re.search(r"^damaged 400 times, refused [1-9]", done.out, re.M), done.out[-500:])
    need("have layout 99, and this ctp-gdb.py reads layout" in done.err, done.err[-500:])
    process.end()


def check_short_names(case):
    """C++ names are the same in gdb as in reports: what the unit test of those asks."""
    sys.path.insert(0, str(ROOT / "scripts/ctp_gdb"))
    import cxx  # it needs nothing of gdb's
    asked = (ROOT / "tests/unit/test_name.c").read_text()
    pairs = re.findall(r'^\t\t\{ "(.*)", "(.*)" \},$', asked, re.M)
    need(len(pairs) > 20, f"{len(pairs)} names")
    equal([cxx.short(whole) for whole, _ in pairs], [short for _, short in pairs], "names")
    equal(cxx.short("session::go()::{lambda(int (*)())#1}::operator()(int) const [clone .isra.0]"), "session::go()::{lambda#1}::operator()", "a lambda")


def check_searched(case):
    """A program that was never traced, live and in a core: its coroutines, each with its frames and locals."""
    process = case.start(case.target("bare"), 10)
    process.wait_for("ready")
    core = taken(case, process.pid)
    for words in (["-p", process.pid], [case.target("bare"), core]):
        listed = gdb(case, *words, commands=["info coroutines"]).out
        need("6 coroutines: 2 created, 4 suspended, 0 running" in listed, listed)
        suspended = [int(x) for x in re.findall(r"^ +(\d+) uc_enter +suspended ", listed, re.M)]
        equal(len(suspended), 4, listed)
        commands = [f"coroutine {suspended[0]}", "bt", "frame function serve", "info args", "coroutine none", "bt"]
        out = gdb(case, *words, commands=commands).out
        chosen, own = out[out.index("<coroutine"):].split("is on its own stack")
        functions = re.findall(r"^#\d+ .*?(?:in )?(\w+) \(", chosen, re.M)
        need("deep" in functions and functions.index("serve") > functions.index("deep"), out)
        need(re.search(r"^arg = ", chosen, re.M) and "main (" in own, out)
        stacks = gdb(case, *words, commands=["coroutine apply all bt", "coroutine find serve"]).out
        equal((len(re.findall(r"^Coroutine \d+ \(", stacks, re.M)), stacks.count("has not run yet")), (6, 2), stacks)
    need(process.popen.poll() is None, "it lives")


def check_stackless(case):
    """C++20 coroutines, of a program that was never traced and of one that was: each with the stack of its awaits."""
    program = stackless.program(case, "g++")
    process = case.start(program, "healthy")
    process.wait_for("ready")
    traced = case.ctp_start("-q", program, "healthy")
    traced.wait_for("ready")
    lines = stackless.SOURCE.read_text().splitlines()
    for pid in (process.pid, child_of(traced.pid)):
        listed = gdb(case, "-p", pid, commands=["info coroutines"]).out
        need("12 coroutines: 0 created, 12 suspended, 0 running" in listed, listed)
        inner = [int(x) for x in re.findall(r"^ +(\d+) read_byte +suspended \[fd \d+ EPOLLIN\] ", listed, re.M)]
        equal(len(inner), 3, listed)
        grouped = gdb(case, "-p", pid, commands=["info coroutines -g"]).out
        need(re.search(r"^ +3 x read_byte +suspended read_byte \(\) at stackless.cpp:\d+ < read_line < session: ", grouped, re.M), grouped)
        out = gdb(case, "-p", pid, commands=[f"coroutine {inner[0]}", "coroutine", "coroutine apply all bt"]).out
        stack = re.findall(r"^#\d +(\w+) \(\) at stackless.cpp:(\d+)$", out, re.M)[:3]
        equal([f for f, _ in stack], ["read_byte", "read_line", "session"], out)
        need(all("co_await" in lines[int(n) - 1] for _, n in stack), out)
        need("is on its own stack" in out and len(re.findall(r"^\(its frame lies at 0x", out, re.M)) == 13, out)
    process.end()
    traced.signal(signal.SIGTERM)
    traced.done()


def check_announced(case):
    """Of those that the program tells of: the line of the co_await, not of ctp's header."""
    traced = case.ctp_start("-q", announced.cxx(case, "g++"), "lost", "2")
    traced.wait_for("ready")
    out = gdb(case, "-p", child_of(traced.pid), commands=["info coroutines", "coroutine find read_byte"]).out
    need("coroutine.hpp" not in out and "detail" not in out, out)
    line = announced.marked(announced.CXX)
    inner = [int(x) for x in re.findall(rf"^ +(\d+) read_byte \S.* read_byte \(\) at announced.cpp:{line}$", out, re.M)]
    equal(len(inner), 2, out)
    out = gdb(case, "-p", child_of(traced.pid), commands=[f"coroutine {inner[0]}"]).out
    equal(re.findall(r"^#\d +(\w+) \(\) at announced.cpp", out, re.M), ["read_byte", "read_line", "connection"], out)
    traced.signal(signal.SIGTERM)
    traced.done()


CHECKS = [(f"engine {engine}", check_engine(engine)) for engine in ("ucontext", "sjlj", "sigalt", "fcontext")]
CHECKS += [(name[len("check_"):], function) for name, function in list(globals().items())
           if name.startswith("check_") and function is not check_engine]
