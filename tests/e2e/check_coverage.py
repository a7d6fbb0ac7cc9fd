# SPDX-License-Identifier: MIT
"""What ctp cannot see, and that it says so: which functions were looked for,
who imports them, and whose switches cannot be interposed. No finding comes of
it, and the program is as without ctp."""
import os
import shutil
import signal
import struct
import sys

from harness import OURS, ROOT, Skip, child_of, equal, need, tool, until

sys.path.append(str(ROOT / "tests/programs"))
import packages  # noqa: E402

FUNCTIONS = ("swapcontext", "setcontext", "makecontext", "getcontext", "jump_fcontext", "ontop_fcontext", "make_fcontext")
HEARTBEAT = 0x100  # in the region (spec/cTP.md)

PHP = """<?php
$fiber = new Fiber(function (int $x): int { for ($i = 0; $i < 3; $i++) $x += Fiber::suspend($x); return $x; });
for ($x = $fiber->start(1); !$fiber->isTerminated(); $x = $fiber->resume(10)) echo "$x\\n";
echo $fiber->getReturn(), "\\n";
exit(3);
"""
GREENLET = """import greenlet, signal, sys
def count():
    for i in range(3):
        main.switch(i)
    return 'end'
main = greenlet.getcurrent()
g = greenlet.greenlet(count)
while not g.dead:
    print(g.switch(), flush=True)
if len(sys.argv) > 1:
    print('ready', flush=True)
    signal.pause()
sys.exit(3)
"""
RUBY = """fiber = Fiber.new { |x| 3.times { x = Fiber.yield(x + 1) }; :done }
4.times { |i| p fiber.resume(i) }
exit 3
"""
BOOST = """#include <boost/context/fiber.hpp>
#include <cstdio>
#include <unistd.h>
int main(int argc, char **)
{
    int n = 0;
    boost::context::fiber f{[&n](boost::context::fiber &&m) {
        for (; n < 3; n++)
            m = std::move(m).resume();
        return std::move(m);
    }};
    while (f)
        f = std::move(f).resume();
    std::printf("%d\\n", n);
    if (argc > 1) {
        std::puts("ready");
        std::fflush(stdout);
        pause();
    }
}
"""
UNUSED = """#include <ucontext.h>
int main(int argc, char **argv)
{
    ucontext_t a, b;
    return argc > 100 ? swapcontext(&a, &b) : 0;
}
"""


def built(case, name, text, *words):
    source = case.dir / f"{name}.{'cpp' if 'cstdio' in text else 'c'}"
    source.write_text(text)
    compiler = tool("g++" if source.suffix == ".cpp" else "gcc")
    done = case.run(compiler, "-O1", source, "-o", name, *words)
    if done.status != 0:
        raise Skip(f"does not build here: {done.err.strip()[-300:]}")
    return f"./{name}"


def closing(done):
    lines = [x for x in done.err.splitlines() if x.startswith(OURS)]
    need(len(lines) <= 3, f"more than three lines at the end: {done.err}")
    return next((x for x in lines if "no coroutine switch seen" in x), "")


def looked_for(text):
    """Every function is named."""
    for name in FUNCTIONS:
        need(name in text, f"{name} is not named: {text}")


def seen_none(case, done, symbol=None, where=None):
    """No switch was seen; of the object `where`, symbol is named where it must be."""
    line = closing(done)
    looked_for(line)
    status, report = case.report()
    coverage = report["trace"]["coverage"]
    looked_for(next((x for x in coverage if x.startswith("looked for")), ""))
    equal((status, report["findings"], report["trace"]["switches"]), (0, [], 0), "status, findings, switches")
    facts = [f["message"] for f in report["facts"] if f["rule"] == "CTP030"]
    if symbol is None:
        equal(facts, [], "facts")
        need("not seen" not in line, f"something is said to be there: {line}")
        return coverage
    need(symbol in line and where in line, f"does not say what it cannot see: {line}")
    for what, texts in (("coverage", coverage), ("facts", facts)):
        need(any(symbol in x and where in x and "not seen" in x for x in texts), f"{what}: {texts}")
    text = " ".join(case.analyze().out.split())
    need("covered" in text and symbol in text and "CTP030" in text, f"the report in words: {text}")
    return coverage


def as_without(case, argv, symbol, where):
    bare = case.run(*argv)
    if bare.status != 3:
        raise Skip(f"does not run here: {bare.err.strip()[-300:]}")
    done = case.ctp("--no-patch", *argv)
    equal((done.status, done.out), (bare.status, bare.out), "the program")
    return seen_none(case, done, symbol, where)


def check_php(case):
    packages.want("php8.2-cli")
    (case.dir / "fiber.php").write_text(PHP)
    as_without(case, [tool("php8.2"), "fiber.php"], "zend_fiber_switch_context", "php8.2")


def greenlet(case):
    packages.want("python3-greenlet")
    (case.dir / "count.py").write_text(GREENLET)
    return ["/usr/bin/python3", "count.py"]


def check_greenlet(case):
    as_without(case, greenlet(case), "PyInit__greenlet", "_greenlet.cpython")


def check_greenlet_term(case):
    """It has loaded the module long after its start, and does not end by exit."""
    program = case.ctp_start("--no-patch", *greenlet(case), "wait")
    program.wait_for("ready")
    program.signal(signal.SIGTERM)
    done = program.done()
    equal(done.status, -signal.SIGTERM, f"status ({done})")
    seen_none(case, done, "PyInit__greenlet", "_greenlet.cpython")


def check_ruby(case):
    """It calls coroutine_transfer by name: seen without a patch."""
    packages.want("ruby")
    (case.dir / "fiber.rb").write_text(RUBY)
    bare = case.run(tool("ruby"), "fiber.rb")
    done = case.ctp("--no-patch", tool("ruby"), "fiber.rb")
    equal((done.status, done.out, closing(done)), (bare.status, bare.out, ""), "the program, and that switches were seen")
    equal(case.report()[1]["trace"]["switches"], 8, "there and back for each of four resumes")


def check_lines(case):
    """JSON lines have no room for it, the closing lines do."""
    done = case.ctp("--no-patch", "-o", "x.jsonl", *greenlet(case))
    line = closing(done)
    looked_for(line)
    need("PyInit__greenlet" in line, f"does not say what it cannot see: {line}")


def check_boost_static(case):
    """The program's own jump_fcontext comes before ours."""
    packages.want("libboost-context-dev")
    program = built(case, "static", BOOST, "-l:libboost_context.a")
    done = case.ctp("--no-patch", program)
    equal((done.status, done.out), (0, "3\n"), "the program")
    seen_none(case, done, "jump_fcontext", "static")


def check_boost_killed(case):
    """What can be known at the start is known even if there is no end."""
    packages.want("libboost-context-dev")
    program = built(case, "static", BOOST, "-l:libboost_context.a")
    run = case.ctp_start("--no-patch", "--shm-file=region", program, "wait")
    run.wait_for("ready")

    def turns():
        with open(case.dir / "region", "rb") as f:
            f.seek(HEARTBEAT)
            return struct.unpack("<Q", f.read(8))[0]
    until(lambda: turns() >= 2, "the engine's second turn")
    os.kill(child_of(run.pid), signal.SIGKILL)
    done = run.done()
    equal(done.status, -signal.SIGKILL, f"status ({done})")
    need("jump_fcontext" in closing(done), f"does not say what it cannot see: {done}")
    _, report = case.report()
    need(any("jump_fcontext" in f["message"] for f in report["facts"]), f"facts: {report['facts']}")


def check_boost_stripped(case):
    """Without symbols its code tells, where it may be patched; else the place that switches is named."""
    packages.want("libboost-context-dev")
    built(case, "bare", BOOST, "-l:libboost_context.a", "-s")
    seen = case.ctp("-o", "seen", "./bare")
    equal((seen.status, seen.out), (0, "3\n"), "the program")
    _, report = case.report(case.dir / "seen")
    equal((report["trace"]["switches"], report["trace"]["coroutines"]["total"]), (10, 1), "switches, coroutines")
    done = case.ctp("--no-patch", "./bare")
    equal((done.status, done.out), (0, "3\n"), "the program")
    coverage = seen_none(case, done, "code that sets the stack pointer at", "bare+0x")
    need(any("none of" in x and "imports" in x for x in coverage), f"coverage: {coverage}")


def check_boost_shared(case):
    """The same program with the library: every switch is seen, and nothing is missing."""
    packages.want("libboost-context-dev")
    done = case.ctp(built(case, "shared", BOOST, "-lboost_context"))
    equal((done.status, done.out, closing(done)), (0, "3\n", ""), "the program, and that switches were seen")
    status, report = case.report()
    coverage = report["trace"]["coverage"]
    equal((status, report["findings"]), (0, []), "status, findings")
    need(report["trace"]["switches"] > 0, "no switch seen")
    need(not any(f["rule"] == "CTP030" for f in report["facts"]), f"facts: {report['facts']}")
    need(any("shared imports" in x and "ontop_fcontext" in x for x in coverage), f"coverage: {coverage}")


def check_unused(case):
    """Imported, never called."""
    done = case.ctp(built(case, "unused", UNUSED))
    equal(done.status, 0, "status")
    coverage = seen_none(case, done)
    need("unused imports swapcontext" in closing(done), f"does not say who imports it: {done.err}")
    need(any("unused imports swapcontext" in x for x in coverage), f"coverage: {coverage}")


def check_none(case):
    done = case.ctp("/bin/true")
    equal(done.status, 0, "status")
    coverage = seen_none(case, done)
    need("none of 0 files" not in closing(done), f"it looked at nothing: {done.err}")
    equal(len(coverage), 1, "lines about the coverage")


def check_not_looked(case):
    """--no-preload interposes nothing, and does not pretend to have looked."""
    done = case.ctp("--no-preload", "/bin/true")
    equal(done.status, 0, "status")
    need("--no-preload" in closing(done) and "swapcontext" not in closing(done), f"closing lines: {done.err}")


def check_gone(case):
    """The program's file is gone before it ends."""
    packages.want("libboost-context-dev")
    built(case, "static", BOOST, "-l:libboost_context.a")
    shutil.copy(case.dir / "static", case.dir / "brief")
    run = case.ctp_start("--no-patch", "./brief", "wait")
    run.wait_for("ready")
    (case.dir / "brief").unlink()
    run.signal(signal.SIGTERM)
    done = run.done()
    equal(done.status, -signal.SIGTERM, f"status ({done})")
    seen_none(case, done, "jump_fcontext", "brief")


CHECKS = [("php", check_php), ("greenlet", check_greenlet), ("greenlet_term", check_greenlet_term), ("ruby", check_ruby),
          ("lines", check_lines), ("boost_static", check_boost_static), ("boost_killed", check_boost_killed),
          ("boost_stripped", check_boost_stripped), ("boost_shared", check_boost_shared), ("unused", check_unused),
          ("none", check_none), ("not_looked", check_not_looked), ("gone", check_gone)]
