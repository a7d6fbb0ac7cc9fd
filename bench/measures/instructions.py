# SPDX-License-Identifier: MIT
"""Instructions added to a switch: callgrind's counts are the same on a busy machine. Two lengths are
run and set against each other, so that neither start nor end counts."""
import re

from figures import Missing, Row, coroutines, missing
from stand import WAYS, tool

GOAL = 130
SHORT, LONG = 20000, 60000


def count(stand, words, n, switches, traced):
    program, *more = words
    argv = [tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", program, n, switches, *more]
    done = stand.run(*(stand.ctp() if traced else []), *argv)
    stand.drop_traces()
    found = re.search(r"Collected : (\d+)", done.err)
    if not found:
        raise Missing("callgrind said no number")
    return int(found[1])


def each(stand, words, n, traced):
    base = 10 * n  # by then the table in which a target is found has its size
    return (count(stand, words, n, base + LONG, traced) - count(stand, words, n, base + SHORT, traced)) / (LONG - SHORT)


def rows(stand, way):
    found, turns = [], [(100, ["in-turn"])] if way == "fcontext" else []
    for n, more in [(n, []) for n in stand.size((1, 100, 10000), (1,))] + turns:
        what = f"instructions added to a switch by {WAYS[way]}, {coroutines(n)}{', from two places in turn' if more else ''}"
        try:
            words = [stand.switcher(way), *more]
            bare, ours = each(stand, words, n, False), each(stand, words, n, True)
            found.append(Row(what, f"+{ours - bare:.0f}", f"{bare:.0f}", "", f"at most {GOAL}", round(ours - bare), GOAL))
        except Missing as why:
            found.append(missing(what, why, f"at most {GOAL}"))
    return found


def instructions(stand):
    """Instructions of a switch"""
    return [row for way in WAYS for row in rows(stand, way)]


MEASURES = [instructions]
