# SPDX-License-Identifier: MIT
"""What a recorded switch adds, in instructions: counted, not timed, so the same on every machine that has this
CPU's short way. The numbers may fall, not rise: who makes it shorter writes down the new one here."""
import platform
import re

from harness import Skip, equal, need, tool

# program, further words, coroutines: instructions added to a switch, at most
MOST = {
    ("bench-switch", (), 1): 120, ("bench-switch", (), 100): 120, ("bench-switch", (), 10000): 126,
    ("bench-fcontext", (), 1): 118, ("bench-fcontext", (), 100): 118, ("bench-fcontext", (), 10000): 119,
}
LESS, MORE = 100_000, 200_000  # switches
SLACK = 5  # the compiler, the frames of other programs, an engine that comes late


def instructions(done):
    found = re.search(r"Collected : (\d+)", done.err)
    need(found, f"no count: {done}")
    return int(found[1])


def check_instructions(case, program, words, n):
    path = case.build / "bench" / program
    if platform.machine() != "x86_64":
        raise Skip("only x86_64 has a short way")
    if not path.exists():
        raise Skip(f"{program} was not built: no Boost.Context")
    counted = [tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", path, n]
    bare = [instructions(case.run(*counted, k, *words)) for k in (LESS, MORE)]
    ours = [case.ctp("-o", f"x.{k}", *counted, k, *words) for k in (LESS, MORE)]
    for done in ours:
        equal(done.status, 0, "status")
    ours = [instructions(done) for done in ours]
    added = (ours[1] - ours[0] - bare[1] + bare[0]) / (MORE - LESS)
    need(added > 20, f"{added:.1f} instructions: was it recorded at all?")
    most = MOST[program, words, n]
    need(added <= most + SLACK, f"a switch costs {added:.1f} instructions more, it was {most}")


CHECKS = [("_".join(["switch", "instructions", *words, program.split("-")[1], str(n)]),
           lambda case, p=program, w=words, n=n: check_instructions(case, p, w, n)) for program, words, n in MOST]
