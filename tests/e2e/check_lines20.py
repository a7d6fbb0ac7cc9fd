# SPDX-License-Identifier: MIT
"""The line at which a C++20 coroutine is suspended (tests/targets/lines20.cpp): that of its co_await, at every co_await of
functions with several of them, with GCC and Clang at every level. ctp-ps says it of all; a finding of those that are lost."""
import json
import os
import signal

from check_engines import TARGETS
from check_stackless import COMPILERS, program, said
from harness import child_of, equal, need

SOURCE = TARGETS / "lines20.cpp"
LEVELS = [("-O0",), ("-O1",), ("-O2",), ("-Os",), ("-O2", "-flto")]
LEAST = 80        # coroutines that the program makes,
FOUND_LEAST = 12  # that are found of these:
WHICH = [0, 1, 2, 5, 8]
NEAR = "the line is near that of its co_await: its code tells no other"
# What has no initial suspension begins in its ramp, which Clang may inline into whoever calls it: where nothing else tells
# the line of the first co_await, one near it is told, and it is said so.
NEAR_MOST = {"g++": 0, "clang++": 8}


def told(process):
    """{address: (line, function)} as the program says."""
    process.wait_for("ready")
    rows = [line.split(None, 2) for line in process.out().splitlines() if line.startswith("0x")]
    return {int(address, 16): (int(line), function) for address, line, function in rows}


def check_listed(case, compiler, *level):
    process = case.start(program(case, compiler, *level, source=SOURCE))
    truth = told(process)
    need(len(truth) >= LEAST, f"{len(truth)} coroutines")
    done = case.run(case.build / "src/ps/ctp-ps", "--json", process.pid)
    equal(done.status, 0, done.err)
    rows = {int(str(c["id"]), 0): c for g in json.loads(done.out)["groups"] for c in g["coroutines"]}
    near = 0
    for address, (line, function) in truth.items():
        at = rows[address]["suspended_at"]
        if not at["line"] or NEAR in rows[address]["evidence"]:
            near += 1
            continue
        equal(at["line"], line, f"line in {function}")
    need(near <= NEAR_MOST[compiler], f"{near} lines are not known for certain")
    process.end()


def check_found(case, compiler, *level):
    """The same in what ctp-analyze says of those that nothing leads to; of those that await another one, in its stack."""
    found = near = 0
    for which in WHICH:
        process = case.ctp_start(program(case, compiler, *level, source=SOURCE), str(which))
        truth = told(process)
        os.kill(child_of(process.pid), signal.SIGTERM)
        process.done()
        report = json.loads(case.analyze("ctp.data", "--format=json").out)
        need(set(said(report)) <= {"CTP029 proven", "CTP029 likely", "CTP014 proven"}, said(report))
        for f in report["findings"]:
            line, function = truth.get(f["coroutines"][0]["id"], (0, ""))
            if line and any("near this line" in e["text"] for e in f["evidence"]):
                near += 1
            elif line:
                equal(f["waiter_stack"][0]["line"], line, f"line in {function}")
                found += f["count"] == 1
        case.anew()
    # A word that the stack still has may lead to some.
    need(found >= FOUND_LEAST and near <= NEAR_MOST[compiler], f"{found} lines, and {near} that are near")


def checks():
    for compiler in COMPILERS:
        short = compiler.replace("+", "x")
        for level in LEVELS:
            yield f"listed/{short}{''.join(level)}", lambda case, c=compiler, o=level: check_listed(case, c, *o)
        for level in LEVELS[0], LEVELS[2]:
            yield f"found/{short}{''.join(level)}", lambda case, c=compiler, o=level: check_found(case, c, *o)


CHECKS = list(checks())
