# SPDX-License-Identifier: MIT
"""What a recorded switch adds, in instructions: counted, not timed, so the same on every machine that has this
CPU's fast path. The numbers may fall, not rise: who makes it shorter writes down the new one here."""
import platform
import re
import struct

from harness import Skip, equal, need, tool

# program, further words, coroutines: instructions added to a switch, at most
MOST = {
    ("bench-switch", (), 1): 120, ("bench-switch", (), 100): 120, ("bench-switch", (), 10000): 120,
    ("bench-jump", (), 1): 164, ("bench-jump", (), 100): 164, ("bench-jump", (), 10000): 169,
    ("bench-fcontext", (), 1): 116, ("bench-fcontext", (), 100): 116, ("bench-fcontext", (), 10000): 118,
    ("bench-fcontext", ("in-turn",), 100): 157,
    ("bench-fcontext-static", (), 1): 127, ("bench-fcontext-static", (), 100): 127,
    ("bench-fcontext-static", ("in-turn",), 100): 165,
}
LESS, MORE = 100_000, 200_000  # switches
SLACK = 5  # the compiler, the frames of other programs
TRIES = 3  # the least counts: on a busy machine an engine that comes late adds what is no switch's


def instructions(done):
    found = re.search(r"Collected : (\d+)", done.err)
    need(found, f"no count: {done}")
    return int(found[1])


def check_instructions(case, program, words, n):
    path = case.build / "bench" / program
    if platform.machine() != "x86_64":
        raise Skip("only x86_64 has a fast path")
    if not path.exists():
        raise Skip(f"{program} was not built: no Boost.Context")
    counted = [tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", path, n]
    bare = [instructions(case.run(*counted, k, *words)) for k in (LESS, MORE)]
    most = MOST[program, words, n]
    for _ in range(TRIES):
        ours = [case.ctp_by_tsc("--clock=exact", "-o", f"x.{k}", *counted, k, *words) for k in (LESS, MORE)]
        for done in ours:
            equal(done.status, 0, "status")
        ours = [instructions(done) for done in ours]
        added = (ours[1] - ours[0] - bare[1] + bare[0]) / (MORE - LESS)
        need(added > 20, f"{added:.1f} instructions: was it recorded at all?")
        if added <= most + SLACK:
            break
    need(added <= most + SLACK, f"a switch costs {added:.1f} instructions more, it was {most}")


STATION = 456  # bytes of an image's record of a station: its number, then struct ctp_state, from HEAD on
HEAD, TURN, LIFE, SINCE, SLOT, CREATED, TRIED, LATE = 64, 8, 8 + 1, 8 + 16, 8 + 24, 8 + 280, 8 + 0x1a0, 8 + 0x1bc
OTHER, OTHER_SP = 8 + 336, 8 + 344
FINISHED = 4


def written(case, trace):
    """What a run has written down, but for times (how late they may be: LATE), the thread's number, where the fast path looks first (OTHER),
    and of those that are no more since when they waited (TRIED) and where they saved themselves (SLOT), which nobody asks: (records, tables)."""
    shown = case.run(tool("babeltrace2"), trace).out.splitlines()
    lines = [re.sub(r"^.*?(?=ctp:)|\{ tid = [^}]*\}, |tid = \d+", "", x) for x in shown]
    image = case.dir / trace / "ctp/image0"
    stations = bytearray((image / "stations").read_bytes()[HEAD:])
    need(stations and len(stations) % STATION == 0, f"{len(stations)} bytes of stations")
    for at in range(0, len(stations), STATION):
        for word in (SINCE, CREATED, OTHER, OTHER_SP, *[SLOT, TRIED] * (stations[at + LIFE] >= FINISHED)):
            struct.pack_into("<Q", stations, at + word, 0)
        stations[at + LATE] = 0
        stations[at + TURN] &= 0xe0  # its lock's sequence: `late` is written under it
    return lines, {"stations": stations} | {name: (image / name).read_bytes()[HEAD:] for name in ("stack_words", "stack_index", "sites")}


def compare_ways(case, program, words, least):
    """The same switches, by the fast path and by the slow one: what is written is the same, word by word. words: of a way."""
    found = []
    for way in ("short", "other"):
        trace = ".".join(["x", *map(str, words(way))])
        done = case.ctp_by_tsc("-q", "-o", trace, "--overflow=block", program, *words(way), before=(tool("setarch"), "-R"))
        equal((done.status, done.out), (0, ""), f"{way}: status ({done})")
        found.append(written(case, trace))
    (lines, tables), (others, other_tables) = found
    need(sum("ctp:s" in x for x in lines) > least, f"{words('')}: hardly any switch")
    equal(len(lines), len(others), f"{words('')}: records")
    for one, other in zip(lines, others):
        equal(one, other, f"{words('')}: a record")
    for name, one in tables.items():
        need(one == other_tables[name], f"{words('')}: {name} differ")


def check_two_ways(case):
    runs = ((1, 300), (2, 3000), (7, 5000), (40, 20000))
    engines = [(), ("callers",), ("jump",), ("jump", "callers")] + [("fcontext",)] * (case.build / "bench/bench-fcontext").exists()
    for n, switches, *more in [(*run, *more) for run in runs for more in engines]:
        compare_ways(case, case.target("twoways"), lambda way: (way, n, switches, *more), switches // 2)


CHECKS = [("two_ways", check_two_ways)] + [("_".join(["switch", "instructions", *words, *program.split("-")[1:], str(n)]),
           lambda case, p=program, w=words, n=n: check_instructions(case, p, w, n)) for program, words, n in MOST]
