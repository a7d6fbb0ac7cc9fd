# SPDX-License-Identifier: MIT
"""Boost.Fiber, which knows no descriptor: main waits for fibers that nothing will ever resume."""
import functools
import re

import packages
from check_engines import built
from harness import equal, need, tool
from stage import HERE

PACKAGES = ("g++", "libboost-fiber1.74-dev")
REST_S = (3, 10, 40)  # until it has rested for a second, on a machine that is busy with others
STUCK = {  # word: rule, coroutines, the waiter's line
    "in_both_orders": ("CTP015", 2, "// waits in a circle"),
    "lock_kept": ("CTP003", 4, "// waits for a lock"),
    "channel_open": ("CTP003", 1, "// waits for a value"),
    "ended_first": ("CTP003", 1, "// waits for a value"),  # and no finding on those that wait to be joined
}
HELD = ("lock_kept",)  # its holder has ended, and is named


def program(case):
    packages.want(*PACKAGES)
    return built(case, "fibers-stuck", tool("g++"), "-g", "-O1", "-w", HERE / "fibers_stuck.cpp", "-lboost_fiber",
                 "-lboost_context", "-lpthread")


def line_of(comment):
    return next(i for i, text in enumerate((HERE / "fibers_stuck.cpp").read_text().splitlines(), 1) if comment in text)


def check_stuck(case, word):
    rule, count, comment = STUCK[word]
    fibers, line = program(case), line_of(comment)
    for seconds in REST_S:
        case.ctp("-q", f"--timeout={seconds}", fibers, word)
        _, report = case.report()
        if report["findings"]:
            break
    equal([(f["rule"], f["verdict"], f["count"]) for f in report["findings"]], [(rule, "likely", count)], "findings")
    need(line in [x["line"] for x in report["findings"][0]["waiter_stack"]], f"not line {line}: {report['findings'][0]['waiter_stack']}")
    equal(word in HELD, "a coroutine holds that is no more" in report["findings"][0]["message"], "is a holder that has ended named")
    a = report["accounting"]
    equal(a["suspended"], a["in_findings"] + a["parked"] + a["pooled"], "all are told")


def check_goes_on(case, word):
    """Asleep, but something can wake it: a time limit of a thread, another process."""
    case.ctp("-q", "--timeout=3", program(case), word)
    _, report = case.report()
    equal(report["findings"], [], "findings")
    equal(report["accounting"]["parked"], 1, "parked")


def check_beside(case, never):
    """Others go on: a place from which none was ever resumed is told, and no other."""
    case.ctp("-q", "--timeout=4", program(case), "notified_first" if never else "served_before")
    _, report = case.report()
    equal(report["findings"], [], "findings")
    told = [f["message"] for f in report["facts"] if "was ever resumed" in f["message"]]
    equal(len(told), never, f"told: {told}")
    line = line_of("// waits for a notification")
    need(not never or re.match(rf"1 coroutine is parked for \S+ s in .*fibers_stuck\.cpp:{line}\b.*; others were resumed [1-9]\d+ times", told[0]),
         str(told))


CHECKS = [(word, functools.partial(check_stuck, word=word)) for word in STUCK] + [
    (word, functools.partial(check_goes_on, word=word)) for word in ("sent_later", "outside_wakes")] + [
    ("notified_first", functools.partial(check_beside, never=1)), ("served_before", functools.partial(check_beside, never=0))]
