# SPDX-License-Identifier: MIT
"""Ways back to a coroutine that nobody would think of: never PROVEN while one
of them is left, and clean once the program has gone it."""
import os
import signal

from harness import equal, need, child_of, until, witness

PLACES = ["packed", "counted", "private_ro", "private_none", "shared_ro", "shared_none", "file_ro", "stream", "pipe",
          "socketpair", "tcp", "udp", "eventfd", "memfd", "signal", "timer", "nested", "pool_guards", "pool_fixed",
          "pool_raw", "pool_moved", "tail"]
if os.uname().machine == "x86_64":
    PLACES += ["vector", "process"]


def verdicts(case):
    _, report = case.report()
    return [(f["rule"], f["verdict"]) for f in report["findings"]], report


def turns(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))


def check_place(case, place):
    process = case.ctp_start(case.target("sound-hide"), place)
    process.wait_for("ready")
    program = child_of(process.pid)
    until(lambda: witness(case.dir / "ctp.data"), "a witness line", 20)
    begun = turns(process.pid)
    until(lambda: turns(process.pid) > begun + 40, "turns of ctp-run", 20)
    os.kill(program, signal.SIGKILL)
    equal(process.done().status, -signal.SIGKILL, "ctp-run's status")
    found, report = verdicts(case)
    need(all(v != "proven" for _, v in found), f"{place}: {report['findings']}")


def check_resumed(case, place):
    done = case.ctp(case.target("sound-hide"), place, "300")
    equal((done.status, "done" in done.out), (0, True), f"the program's end: {done}")
    found, _ = verdicts(case)
    equal(found, [], "findings")


def checks():
    for place in PLACES:
        yield f"never_proven/{place}", lambda case, place=place: check_place(case, place)
        yield f"resumed/{place}", lambda case, place=place: check_resumed(case, place)


CHECKS = list(checks())
