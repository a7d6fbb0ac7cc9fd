# SPDX-License-Identifier: MIT
"""Instructions added to a switch: callgrind's counts are the same on a busy machine. Two lengths are
run and set against each other, so that neither start nor end counts."""
import re

from figures import Missing, Row, coroutines, missing
from stand import WAYS, tool

GOAL = 80
SHORT, LONG = 20000, 60000


def count(stand, program, n, switches, traced):
    words = [tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", program, n, switches]
    done = stand.run(*(stand.ctp() if traced else []), *words)
    stand.drop_traces()
    found = re.search(r"Collected : (\d+)", done.err)
    if not found:
        raise Missing("callgrind said no number")
    return int(found[1])


def each(stand, program, n, traced):
    base = 10 * n  # by then the table in which a target is found has its size
    return (count(stand, program, n, base + LONG, traced) - count(stand, program, n, base + SHORT, traced)) / (LONG - SHORT)


def rows(stand, way):
    found = []
    for n in stand.size((1, 100, 10000), (1,)):
        what = f"instructions added to a switch by {WAYS[way]}, {coroutines(n)}"
        try:
            program = stand.switcher(way)
            bare, ours = each(stand, program, n, False), each(stand, program, n, True)
            found.append(Row(what, f"+{ours - bare:.0f}", f"{bare:.0f}", "", f"at most {GOAL}", round(ours - bare), GOAL))
        except Missing as why:
            found.append(missing(what, why, f"at most {GOAL}"))
    return found


def instructions(stand):
    """Instructions of a switch"""
    return [row for way in WAYS for row in rows(stand, way)]


MEASURES = [instructions]
