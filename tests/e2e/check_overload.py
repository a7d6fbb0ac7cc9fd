# SPDX-License-Identifier: MIT
"""More than ctp-run can take: two threads switch as fast as they can while it is held up, so that it gets less than a
twelfth of the records. What is counted and what is concluded must be as if it had got all of them."""
import collections
import json
import os
import re
import signal
import struct
import subprocess
import threading

from check_verdicts import describe
from harness import equal, need, proc_state, tool, until, witness

RING = 4096       # slots of one with 64 KiB
KEPT = 6 * RING   # slots in the trace, when it is enough
TIMES = 12        # as many switches have been made
WOKEN = 2 * 2 * 50 # switches of each thread that are none of its rush: its waiters are woken twice
STEPS = (("f", "fed 1"), ("c", "closed"), ("f", "fed 2"), ("s", "ready")) # what it is told, and what it says then


def taken(case):
    """Slots that have been written: more than records."""
    return sum(p.stat().st_size for p in case.dir.glob("ctp.data/t[0-9]*")) // 16


def made(case):
    """Switches of each thread's rush so far."""
    return struct.unpack("2Q", (case.dir / "counts").read_bytes()[:16])


class Rush:
    """The program under way. `stop` and `go` hold up ctp-run and let it go on."""

    def __init__(self, case, *options):
        self.case = case
        self.process = case.ctp_start("--ring-size=64K", *options, case.target("overload"), case.dir / "counts",
                                      stdin=subprocess.PIPE)
        self.process.wait_for("begun")
        until(lambda: min(made(case)) > 0, "both threads to switch")

    def tell(self, letter, answer):
        self.process.popen.stdin.write(letter.encode())
        self.process.popen.stdin.flush()
        self.process.wait_for(answer)

    def stop(self):
        self.process.signal(signal.SIGSTOP)
        until(lambda: proc_state(self.process.pid) == "T", "ctp-run to stand still")

    def go(self):
        self.process.signal(signal.SIGCONT)

    def end(self):
        """SIGTERM, once the witness has searched for what leads to the forgotten one: nothing, or a word by chance.
        The report and what the program counted."""
        def seen():
            return any(e["id"] == "P6a" and e["holds"] is not None
                       for line in witness(self.case.dir / "ctp.data") for e in line["evidence"])
        until(seen, "the witness")
        self.process.signal(signal.SIGTERM)
        equal(self.process.done().status, -signal.SIGTERM, "status")
        _, report = self.case.report()
        return report, int(re.search(r"^switches (\d+)$", self.process.out(), re.M)[1])


def hold_up(case, rush):
    """ctp-run goes on only while it has less than its share; meanwhile all waiters are woken and one is forgotten."""
    asked = list(STEPS[:-1])
    while taken(case) < KEPT or asked:
        rush.stop()
        until(lambda: sum(made(case)) > TIMES * (taken(case) + 2 * RING), "the program to be that far ahead")
        if asked:
            rush.tell(*asked.pop(0))
        before = taken(case)
        rush.go()
        until(lambda: taken(case) > before, "ctp-run to write something")
    rush.stop()
    until(lambda: sum(made(case)) > TIMES * (taken(case) + 2 * RING), "the program to be that far ahead")
    rush.tell(*STEPS[-1])
    rush.go()


def right(report, switches):
    """What must not depend on what was lost."""
    trace, what = report["trace"], describe(report)
    equal(trace["switches"], switches, "switches by the tables")
    equal(trace["healthy_waiters"], 100, "healthy waiters")
    equal([(f["rule"], f["count"]) for f in report["findings"]], [("CTP001", 1)], what)
    # A word that leads to it by chance makes it likely, or inconclusive: main never sleeps in a wait of its own.
    found = report["findings"][0]
    need(found["verdict"] == "proven" or any(" leads to it" in way for way in found["open"]), f"{found['verdict']}: {what}")


def shown(case, kind):
    return case.run(tool("babeltrace2"), "ctp.data").out.count(f" ctp:{kind}")


def check_drop(case):
    whole = Rush(case, "--overflow=block")
    for step in STEPS:
        whole.tell(*step)
    report, switches = whole.end()
    right(report, switches)
    equal(report["trace"]["lost"], 0, "lost")
    # The records that are no switches. A loop may come out of its wait at the end, when it is held until SIGTERM ends it.
    others = report["trace"]["events"] - switches - shown(case, "slept")

    rush = Rush(case, "--overflow=drop")
    hold_up(case, rush)
    report, switches = rush.end()
    right(report, switches)
    trace = report["trace"]
    need(trace["lost"] > 9 * trace["events"], f"only {trace['lost']} lost, {trace['events']} kept")
    equal(trace["events"] + trace["lost"], switches + others + shown(case, "slept"), "events and lost")
    each = [text for text in trace["coverage"] if text.startswith("records were lost by thread ")]
    lost = {int(tid): int(n) for tid, n in re.findall(r" (\d+) \((\d+)\)", each[0])}
    equal((len(lost), sum(lost.values())), (2, trace["lost"]), f"threads that lost records, and how many each: {each}")
    need(each[0] in " ".join(case.analyze().out.split()), "not in the text")
    need(f"{trace['lost']} lost" in rush.process.err(), "not in ctp-run's lines")
    lines = collections.Counter(json.loads(line)["tid"] for line in case.analyze("ctp.data", "--format=jsonl").out.splitlines())
    equal(sum(lines.values()), 2 * shown(case, "switch"), "lines of switches")
    for tid, rushed in re.findall(r"^thread (\d+) rushed (\d+)$", rush.process.out(), re.M):
        known = lines[int(tid)] // 2 + lost[int(tid)] - int(rushed)
        need(WOKEN <= known <= WOKEN + others, f"thread {tid}: {known} more switches and records lost than its rush made")


def check_block(case):
    """The same, held up for nine tenths of the time: the program waits, and nothing is lost."""
    rush, over = Rush(case, "--overflow=block"), threading.Event()

    def slow(pidfd):
        while not over.wait(0.005):
            signal.pidfd_send_signal(pidfd, signal.SIGSTOP)
            over.wait(0.045)
            signal.pidfd_send_signal(pidfd, signal.SIGCONT)
        os.close(pidfd)

    thread = threading.Thread(target=slow, args=(os.pidfd_open(rush.process.pid),))
    thread.start()
    try:
        for at, step in enumerate(STEPS, 1):
            until(lambda: min(made(case)) > 10 * at * RING, "the program to go on")
            rush.tell(*step)
    finally:
        over.set()
        thread.join()
    report, switches = rush.end()
    right(report, switches)
    equal(report["trace"]["lost"], 0, "lost")
    equal(case.switches(), switches, "in the trace")


CHECKS = [("drop", check_drop), ("block", check_block)]
