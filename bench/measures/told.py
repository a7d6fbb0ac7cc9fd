# SPDX-License-Identifier: MIT
"""Coroutines that the program tells of (ctp/coroutine.h, ctp/coroutine.hpp). An event is a resumption or a suspension: one
call, one record. What it costs beside the reading of the clock that stamps it, and how many bytes it takes."""
from figures import Missing, Row, coroutines, median, missing, paired, told
from measures.size import history_bytes
from stand import HERE

CLOCK, WITHOUT, BYTES = "at most 10 ns above the clock", "at most 1 ns", "at most 16"
WAYS = {"ctp/coroutine.h": ("told.c", ()), "ctp/coroutine.h, on stacks of their own": ("told.c", ("own",)),
        "ctp/coroutine.h, for descriptors": ("told.c", ("waits",)), "ctp/coroutine.hpp": ("told.cpp", ()),
        "ctp/coroutine.hpp, at two places in turn": ("told.cpp", ("places",)), "ctp/coroutine.hpp, for descriptors": ("told.cpp", ("waits",))}


def program(stand, source, *words):
    more = ["-std=c++20"] if source.endswith(".cpp") else []
    return stand.program("-".join(["bench", source, *words]), f"-I{HERE.parent}/include", *more, *words, source=source)


def cost(stand, way, n):
    """Name -> what runs once and gives (ns of an event, ns of a reading of the clock)."""
    source, words = WAYS[way]
    run = lambda *argv: tuple(map(float, stand.run(*argv, "cost", n, stand.size(20000, 2000), *words).out.split()))
    ctp = lambda clock: run(*stand.ctp("--overflow=block", f"--clock={clock}"), program(stand, source))
    return {"bare": lambda: run(program(stand, source, "-DBARE")), "without": lambda: run(program(stand, source)),
            "exact": lambda: ctp("exact"), "adaptive": lambda: ctp("adaptive")}


def of_way(stand, way, n):
    what, untraced = (f"{way}, {coroutines(n)}, {how}" for how in ("recorded", "without ctp"))
    runs = stand.side_by_side(cost(stand, way, n))
    why = next((found for found in runs.values() if isinstance(found, Missing)), None)
    if why:
        return [missing(what, why, CLOCK), missing(untraced, why, WITHOUT)]
    bare = [ns for ns, _ in runs["bare"]]
    added = {name: paired(bare, [ns for ns, _ in runs[name]])[0] for name in runs}
    above = [ns - clock for ns, (_, clock) in zip(added["exact"], runs["exact"])]
    clock = median([clock for _, clock in runs["exact"]])
    others = f"+{median(added['exact']):.1f} ns in all, of which {clock:.1f} are the clock; " \
        f"with --clock=adaptive {told(added['adaptive'], 'ns', plus=True)} in all"
    return [Row(what, f"{told(above, 'ns', plus=True)}", told(bare, "ns"), others, CLOCK, above, 10),
            Row(untraced, told(added["without"], "ns", plus=True), told(bare, "ns"), "", WITHOUT, added["without"], 1)]


def told_cost(stand):
    """What an event of a coroutine that the program tells of costs"""
    many = lambda way: stand.size((1, 100, 10000), (100,)) if not WAYS[way][1] else (100,)
    return [row for way in WAYS for n in many(way) for row in of_way(stand, way, n)]


def told_bytes(stand):
    """Bytes of an event of a coroutine that the program tells of"""
    rows = []
    for way in ("ctp/coroutine.h", "ctp/coroutine.hpp"):
        events, what = stand.size(10000000, 300000), f"bytes an event of {way}"
        try:
            stand.run(*stand.ctp("--overflow=block", max_size="4G"), program(stand, WAYS[way][0]), 100, events)
            each = history_bytes(stand.dir / "trace") / events
            rows.append(Row(what, f"{each:.2f}", "", f"of {events:,}", BYTES, round(each, 1), 16))
        except Missing as why:
            rows.append(missing(what, why, BYTES))
        stand.drop_traces()
    return rows


MEASURES = [told_cost, told_bytes]
