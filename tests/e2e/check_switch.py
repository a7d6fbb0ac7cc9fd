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
    ("bench-fcontext", ("in-turn",), 100): 180,
    ("bench-fcontext-static", (), 1): 127, ("bench-fcontext-static", (), 100): 127,
    ("bench-fcontext-static", ("in-turn",), 100): 188,
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
FINISHED = 4


def check_two_ways(case):
    """What both ways write is the same, word by word but for times (of one that is no more, too: TRIED; how late they may be: LATE), the
    thread's number, and where those that are no more have saved themselves (nobody asks): records, the stations with their registers, the stacks and what is known of them."""
    runs = ((1, 300), (2, 3000), (7, 5000), (40, 20000))
    engines = [(), ("callers",), ("jump",), ("jump", "callers")] + [("fcontext",)] * (case.build / "bench/bench-fcontext").exists()
    for n, switches, *more in [(*run, *more) for run in runs for more in engines]:
        lines, tables = [], []
        for way in ("short", "other"):
            trace = ".".join(["x", way, str(n), *more])
            done = case.ctp_by_tsc("-q", "-o", trace, "--overflow=block", case.target("twoways"), way, n, switches,
                                   *more, before=(tool("setarch"), "-R"))
            equal((done.status, done.out), (0, ""), f"{way}: status ({done})")
            shown = case.run(tool("babeltrace2"), trace).out.splitlines()
            lines.append([re.sub(r"^.*?(?=ctp:)|\{ tid = [^}]*\}, |tid = \d+", "", x) for x in shown])
            image = case.dir / trace / "ctp/image0"
            stations = bytearray((image / "stations").read_bytes()[HEAD:])
            need(stations and len(stations) % STATION == 0, f"{len(stations)} bytes of stations")
            for at in range(0, len(stations), STATION):
                for word in (SINCE, CREATED, *[SLOT, TRIED] * (stations[at + LIFE] >= FINISHED)):
                    struct.pack_into("<Q", stations, at + word, 0)
                stations[at + LATE] = 0
                stations[at + TURN] &= 0xe0  # its lock's sequence: `late` is written under it
            tables.append([stations] + [(image / name).read_bytes()[HEAD:] for name in ("stack_words", "stack_index", "sites")])
        need(sum("ctp:s" in x for x in lines[0]) > switches // 2, f"{n}: hardly any switch")
        equal(len(lines[0]), len(lines[1]), f"{n}: records")
        for one, other in zip(*lines):
            equal(one, other, f"{n}: a record")
        for name, one, other in zip(("stations", "stack_words", "stack_index", "sites"), *tables):
            need(one == other, f"{n}: {name} differ")


CHECKS = [("two_ways", check_two_ways)] + [("_".join(["switch", "instructions", *words, *program.split("-")[1:], str(n)]),
           lambda case, p=program, w=words, n=n: check_instructions(case, p, w, n)) for program, words, n in MOST]
