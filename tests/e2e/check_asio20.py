# SPDX-License-Identifier: MIT
"""C++20 coroutines of a real library: Boost.Asio's awaitables (tests/targets/asio20.cpp), an echo server under load. Not traced."""
import pathlib
import re
import signal

import packages
from check_engines import TARGETS, built
from check_stackless import listing, stacks
from harness import Skip, equal, need, tool, until

COUNT, LOOKS = 40, 6


def program(case):
    packages.want("g++", "libboost1.74-dev")
    if not pathlib.Path("/usr/include/boost/asio/awaitable.hpp").exists():
        raise Skip("no Boost.Asio")
    return built(case, "t-asio20", tool("g++"), "-std=c++20", "-g", "-O1", "-w", TARGETS / "asio20.cpp", "-pthread")


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
            if f["file"] and f["file"].endswith("asio20.cpp") and f["symbol"].split("(")[0] != "listener"}  # GCC leaves the next line of it
    equal(said, {("rest", "rests"), ("client", "awaits rest"), ("read_some", "reads"), ("read_line", "awaits read_some"),
                 ("session", "awaits read_line")}, "lines")
    process.end()
    if not decided:
        raise Skip("no look found all threads at rest long enough")


CHECKS = [("echo", check_echo)]
