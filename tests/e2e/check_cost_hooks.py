# SPDX-License-Identifier: MIT
"""What hooks that are no switches add to a call, in instructions: counts by callgrind, so a
number that rises is a change of ours. Where one falls, the table falls with it."""
import functools
import json
import math
import platform
import re

from check_engines import built, packages
from harness import ROOT, Skip, need, tool

# bench/hooks.c: (on a thread's own stack, in a coroutine), of one turn of the call's loop
MOST = {
    "read+write-eventfd": (131, 139),  # both do not block
    "read+write-pipe": (251, 259),     # both can
    "recv+send": (246, 254),
    "read-EAGAIN": (132, 135),
    "epoll_wait-1": (307, 306),
    "epoll_wait-0": (145, 145),
    "epoll_ctl-MOD": (185, 185),
    "poll-1": (351, 356),
    "eventfd+close": (476, 395),
    "nanosleep-0": (96, 96),
    "timerfd_settime": (141, 105),
    "malloc+free-32": (10, 10),
    "malloc+free-4096": (35, 35),
    "mutex-pair": (24, 47),
    "clock_gettime": (0, 0),
}
FEW, MANY = 100, 1100
SLACK = 4  # and a twentieth: what another version of the compiler may make of it
TRIES = 3  # the least counts: what ctp-run asks of the library while the call is counted comes on top of it


def need_plain_build(case):
    if platform.machine() != "x86_64":
        raise Skip("the counts are of x86_64")
    options = {o["name"]: o["value"] for o in json.loads((case.build / "meson-info/intro-buildoptions.json").read_text())}
    if options["optimization"] == "0" or options["b_sanitize"] != "none" or options.get("b_coverage"):
        raise Skip("not built as it is shipped")


def turn(case, program, traced, name, where):
    counts = []
    for n in (FEW, MANY):
        words = [tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, where, n]
        done = case.ctp_by_tsc("-q", *words) if traced else case.run(*words)
        counts.append(int(re.search(r"Collected : (\d+)", done.err)[1]))
    return (counts[1] - counts[0]) / (MANY - FEW)


def check_call(case, name):
    need_plain_build(case)
    packages.want("gcc", "valgrind")
    program = built(case, "bench-hooks", tool("gcc"), "-O2", "-w", "-D_GNU_SOURCE", ROOT / "bench/hooks.c", "-lpthread")
    for where, most in zip(("native", "coroutine"), MOST[name]):
        bare, more = turn(case, program, False, name, where), math.inf
        for _ in range(TRIES):
            if more > most * 1.05 + SLACK:
                more = min(more, turn(case, program, True, name, where) - bare)
        need(more <= most * 1.05 + SLACK, f"{name} on a {where} stack takes {more} instructions more, not {most}")


CHECKS = [(name, functools.partial(check_call, name=name)) for name in MOST]
