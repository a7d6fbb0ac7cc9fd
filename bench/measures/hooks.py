# SPDX-License-Identifier: MIT
"""What calls cost that are no switches: hooks.c names them, and measures one by itself."""
from figures import Missing, Row, least, missing, paired, told

SLOW = ("blocks", "nanosleep")  # each waits for some 50 us
GOALS = {"read+write-eventfd": 8, "epoll_wait-0": 13, "epoll_ctl-MOD": 11, "recv+send": 13, "eventfd+close": 100,
         "malloc+free-32": 2, "malloc+free-4096": 2, "clock_gettime": 5, "timerfd_settime": 5}


def hooks(stand):
    """Calls that are no switches"""
    try:
        program = stand.program("bench-hooks", source="hooks.c")
        names = stand.run(program).out.split()
    except Missing as why:
        return [missing("what hooks add to a call", why, "at most as many ns as GOALS tells")]
    rows = []
    for name in names:
        count = stand.size(1000000, 20000) // (100 if any(x in name for x in SLOW) else 1)
        ways = {}
        for place in ("coroutine", "native"):
            words = [program, name, place, count]
            ways[f"bare {place}"] = lambda words=words: float(stand.run(*words).out)
            ways[f"ctp {place}"] = lambda words=words: float(stand.run(*stand.ctp(), *words).out)
        rows.append(row(name, stand.side_by_side(ways, rounds=1 if stand.quick else None)))
    return rows


def row(name, runs):
    limit = GOALS.get(name)
    goal = f"at most +{limit} ns" if limit else ""
    for values in runs.values():
        if isinstance(values, Missing):
            return missing(name, values, goal)
    added, _ = paired(runs["bare coroutine"], runs["ctp coroutine"])
    native, _ = paired(runs["bare native"], runs["ctp native"])
    best = least(runs["bare coroutine"], runs["ctp coroutine"], "ns")
    return Row(name, told(added, "ns", plus=True) + best, told(runs["bare coroutine"], "ns"),
               f"on a thread's own stack {told(native, 'ns', plus=True)}", goal, added, limit)


MEASURES = [hooks]
