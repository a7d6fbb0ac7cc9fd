# SPDX-License-Identifier: MIT
"""The adaptive clock: times that were not read lie in the range that is told, and are few where few are asked for.
The program notes by its own readings when each switch was made: no more is compared than what happened before what."""
import itertools
import json
import platform

from harness import Skip, equal, need

SWITCHES, EACH, SPIN_US = 20000, 500, 200
SLACK_NS = 30_000  # between the program's clock and ticks as ns


def recorded(case, how):
    """(lines of switches in turn that the program noted, its notes)"""
    notes, trace = case.dir / f"notes.{how}", f"trace.{how}"
    done = case.ctp_by_tsc("-q", f"--clock={how}", "--overflow=block", "-o", trace, case.target("clocked"), SWITCHES, EACH, SPIN_US, notes)
    equal((done.status, done.err), (0, ""), how)
    lines = [json.loads(x) for x in case.analyze(trace, "--format=jsonl").out.splitlines()]
    for _, own in itertools.groupby(sorted(lines, key=lambda x: (x["probe_id"], x["seq"])), key=lambda x: x["probe_id"]):
        times = [x["ts"] for x in own]
        equal(times, sorted(times), f"{how}: the times of a coroutine")
    leaves = [x for x in lines if not x["is_active"]]
    leaves = leaves[1:]  # main enters the first of them
    noted = [tuple(map(int, x.split())) for x in notes.read_text().splitlines()]
    equal((len(leaves), len(noted)), (SWITCHES + 1, SWITCHES), f"{how}: switches")  # one back to main
    return leaves, noted


def check_ranges(case, how):
    if platform.machine() != "x86_64":
        raise Skip("only x86_64 has a fast path")
    leaves, noted = recorded(case, how)
    until, latest = [], leaves[-1]["ts"]
    for x in reversed(leaves):  # up to the next reading
        until.append(x["ts"] if "read" not in x else latest)
        latest = x["ts"] if "read" not in x else latest
    until.reverse()
    for i, (x, (before, after), most) in enumerate(zip(leaves, noted, until)):
        need("read" not in x or x["read"] is False, x)
        need(x["ts"] <= after + SLACK_NS, f"{how}: switch {i} is recorded at {x['ts']}, but was over at {after}")
        need(most >= before - SLACK_NS, f"{how}: switch {i} was made by {most}, it is said, but not before {before}")
    unread = sum("read" in x for x in leaves)
    if how == "exact":
        equal(unread, 0, "times that were not read")
    if how == "sparse":
        need(unread > SWITCHES / 2, f"only {unread} of {SWITCHES} took no reading")
    runs = [len(list(own)) for read, own in itertools.groupby(leaves, key=lambda x: "read" not in x) if not read]
    need(max(runs, default=0) < 16, f"{how}: {max(runs, default=0)} switches in a row without a reading")


def check_refused(case):
    """A word that is none of the three."""
    bad = case.ctp("--clock=often", "true")
    equal(bad.status, 125, "status")
    need("adaptive, exact or sparse" in bad.err, bad.err)


CHECKS = [(f"ranges_{how}", lambda case, how=how: check_ranges(case, how)) for how in ("exact", "adaptive", "sparse")] + [
    ("refused", check_refused)]
