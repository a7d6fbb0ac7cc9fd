# SPDX-License-Identifier: MIT
"""What ctp adds to the time of an answer, where a server of C++20 coroutines ticks: its looks are made between two ticks, and
take one of its CPUs meanwhile."""
from figures import Missing, Row, missing, paired, told

NAMES = ("median", "99 %", "99.9 %", "longest")
WAYS = {"loop": "answered in the loop", "worker": "answered by a thread that waits at a semaphore"}


def once(stand, way, words):
    """Microseconds: the median, 99 %, 99.9 %, the longest."""
    program = stand.program("bench-echo", "-std=c++20", source="echo.cpp")
    server = stand.start(*words, program, "serve", way, 16)
    try:
        port = server.wait_for("port ").split()[1]
        said = stand.run(program, "ask", port, stand.size(20, 2)).out
        server.popen.terminate()
        server.done(good=None)
        return [float(x) for x in said.split()]
    finally:
        server.end(15)


def of_way(stand, way):
    what = f"an echo of a C++20 server that ticks, {WAYS[way]}"
    runs = stand.side_by_side({"bare": lambda: once(stand, way, []), "ctp": lambda: once(stand, way, stand.ctp("-q"))})
    why = next((found for found in runs.values() if isinstance(found, Missing)), None)
    if why:
        return [missing(what, why)]
    rows = []
    for i, name in enumerate(NAMES):
        bare, ours = ([run[i] for run in runs[which]] for which in ("bare", "ctp"))
        _, ratios = paired(bare, ours)
        rows.append(Row(f"{what}: {name}", f"x{told(ratios)}", told(bare, "us"), f"with ctp {told(ours, 'us')}"))
    return rows


def latency(stand):
    """The time of an answer, where a server ticks"""
    return [row for way in WAYS for row in of_way(stand, way)]


MEASURES = [latency]
