# SPDX-License-Identifier: MIT
"""What calls cost that are no switches: hooks.c names them, and measures one by itself."""
from figures import Missing, Row, least, missing, paired, told

SLOW = ("blocks", "nanosleep")  # each waits for some 50 us
# On descriptors without O_NONBLOCK, or without a timeout of 0: before the call it is said that it may wait, and in what.
CAN_BLOCK = ("read+write-pipe", "recv+send", "read-nothing", "epoll_wait-1", "epoll_wait-blocks", "poll-1", "select-1")


def limit_of(name):
    if name.startswith("malloc"):
        return 2
    return 25 if name in CAN_BLOCK else None if name.startswith(("mutex", "nanosleep")) else 5


def hooks(stand):
    """Calls that are no switches"""
    try:
        program = stand.program("bench-hooks", source="hooks.c")
        names = stand.run(program).out.split()
    except Missing as why:
        return [missing("what hooks add to a call", why, "at most +5 ns; +25 ns where it blocks; free +2 ns")]
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
    limit = limit_of(name)
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
