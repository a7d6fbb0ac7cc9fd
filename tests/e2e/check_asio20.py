# SPDX-License-Identifier: MIT
"""C++20 coroutines of a real library: Asio's awaitables (tests/targets/asio20.cpp), an echo server under load, not traced; and at rest,
traced. And what is special of them (tests/targets/threads20.cpp): the outermost's promise holds the innermost."""
import os
import pathlib
import re
import signal

import check_births
import packages
from check_engines import TARGETS, built
from check_stackless import COMPILERS, COUNT as EACH, listing, looked, observed, said, stacks
from harness import Skip, child_of, equal, need, tool, until

COUNT, LOOKS = 40, 6


def program(case, alone=False):
    packages.want("g++", "libasio-dev" if alone else "libboost1.74-dev")
    if not pathlib.Path("/usr/include", "asio/awaitable.hpp" if alone else "boost/asio/awaitable.hpp").exists():
        raise Skip("no Asio" if alone else "no Boost.Asio")
    return built(case, "t-asio20-alone" if alone else "t-asio20", tool("g++"), "-std=c++20", "-g", "-O1", "-w",
                 *["-DSTANDALONE"] * alone, TARGETS / "asio20.cpp", "-pthread")


def check_echo(case):
    """Looked at again and again under load, nothing of it is lost; at rest, what is listed is what there is."""
    process = case.start(program(case), COUNT)
    process.wait_for("ready")
    decided = 0
    for n in range(LOOKS):
        done = case.run(case.build / "src/ps/ctp-ps", "--lost", "--stop", process.pid)
        need(done.status in (0, 3), f"look {n}: {done}")  # 1: lost ones
        decided += done.status == 0
    process.signal(signal.SIGUSR1)
    until(lambda: "at rest" in process.out(), "rest")
    need(int(re.search(r"at rest (\d+)", process.out())[1]) > COUNT, "rounds")
    out = listing(case, process.pid)
    found = {key: n for (key, _), n in stacks(out).items() if n}
    chains = [("initiate", "rest", "client"), ("initiate", "read_some", "read_line", "session"), ("initiate", "listener")]
    # Each frame of a chain is a coroutine, and is listed with those that await it; `initiate` and the last are Asio's.
    expected = {(*chain[n:], "co_spawn_entry_point"): 1 if "listener" in chain else COUNT for chain in chains for n in range(len(chain))}
    equal(found, {**expected, ("co_spawn_entry_point",): 2 * COUNT + 1}, "at rest")
    lines = (TARGETS / "asio20.cpp").read_text().splitlines()
    said = {(f["symbol"].split("(")[0], lines[f["line"] - 1].rpartition("// ")[2]) for g in out["groups"] for f in g["stack"]
            if f["file"] and f["file"].endswith("asio20.cpp")}
    equal(said, {("rest", "rests"), ("client", "awaits rest"), ("read_some", "reads"), ("read_line", "awaits read_some"),
                 ("session", "awaits read_line"), ("listener", "accepts")}, "lines")
    process.end()
    if not decided:
        raise Skip("no look found all threads at rest long enough")


def check_rest(case, alone):
    """What waits for far timers, and for clients that send nothing, is healthy."""
    process = case.ctp_start(program(case, alone), COUNT)
    process.wait_for("ready")
    os.kill(child_of(process.pid), signal.SIGUSR1)
    until(lambda: "at rest" in process.out(), "rest")

    def all_looked_at():
        lines = looked(case.dir / "ctp.data")
        return lines and lines[0]["total"] >= 9 * COUNT and not lines[0]["undecided"]

    until(all_looked_at, "a look at all of them")
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()
    _, report = case.report()
    equal(said(report), [], "findings")


def shape(case, compiler, name):
    return observed(case, compiler, name, check_births.program(case, TARGETS / "threads20.cpp", compiler, "-O1"))


def check_shape(case, compiler, name, each):
    report, lines = shape(case, compiler, name)
    equal((lines[0]["total"], lines[0]["undecided"], said(report)), (EACH * each, 0, []), "all are looked at, and healthy")


def check_two_stripped(case):
    """Only debug information says where Clang's promises end: without it, what may be healthy is a suspicion."""
    report, _ = observed(case, "clang++", "two", check_births.program(case, TARGETS / "threads20.cpp", "clang++", "-O1", "-g0"))
    equal(said(report), ["CTP029 suspect"], "findings")


def check_lost(case, compiler, name, innermost):
    """Their descriptors were closed: what keeps the operations does not resume them. Or nothing keeps the operations, or leads from there to them."""
    report, _ = shape(case, compiler, name)
    need(report["findings"] and set(said(report)) <= {"CTP029 proven", "CTP029 likely"}, f"{said(report)}")
    names = [[frame["symbol"].split("(")[0] for frame in f["waiter_stack"]][:3] for f in report["findings"]]
    need(all(n == [*innermost, "entry"] for n in names), f"{names}")


def checks():
    yield "echo", check_echo
    yield "rest/boost", lambda case: check_rest(case, False)
    yield "rest/alone", lambda case: check_rest(case, True)
    for compiler in COMPILERS:
        short = compiler.replace("+", "x")
        yield f"shape/three/{short}", lambda case, c=compiler: check_shape(case, c, "three", 3)
        yield f"shape/watched/{short}", lambda case, c=compiler: check_shape(case, c, "watched", 3)
        yield f"shape/timed/{short}", lambda case, c=compiler: check_shape(case, c, "timed", 3)
        yield f"shape/dropped/{short}", lambda case, c=compiler: check_lost(case, c, "dropped", ["initiate", "session"])
        yield f"shape/forgotten/{short}", lambda case, c=compiler: check_lost(case, c, "forgotten", ["expires", "sleeps"])
        yield f"shape/cut/{short}", lambda case, c=compiler: check_lost(case, c, "cut", ["initiate", "session"])
        yield f"shape/two/{short}", lambda case, c=compiler: check_shape(case, c, "two", 2)
    yield "shape/two/stripped", check_two_stripped


CHECKS = list(checks())
