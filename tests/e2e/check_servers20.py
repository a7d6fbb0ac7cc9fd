# SPDX-License-Identifier: MIT
"""Servers of C++20 coroutines in shapes of their own (tests/targets/servers20.cpp): a descriptor that is closed under those that wait for
it, handles that are lost by other means, and what looks like that and is healthy."""
from check_births import program
from check_engines import TARGETS
from check_stackless import COMPILERS, observed, said
from harness import need

SOURCE = TARGETS / "servers20.cpp"
LEVELS = {"O2": "-O2"}

# How many coroutines are lost of each three, at most, where they wait, and who closed the descriptor (None: nobody, or its registration
# does not lead to them). Words that lead to one by chance make it LIKELY, or hide it.
FAULTS = {
    "weak_registry": (3, {"serves"}, "drop"),
    "cancelled_by_flag": (3, {"until_cancelled"}, "drop"),
    "when_all": (6, {"reads_for", "joins"}, "drop"),
    "tagged_data": (3, {"waits_tagged"}, "drop"),
    "semaphore_held": (3, {"holds"}, "drop"),
    "strand_stopped": (3, {"posts"}, None),
    "deep": (3, {"level"}, "drop"),
}
# Of these at most so much may be said.
SOUND = {name: [] for name in ("cancel_resumes", "live_race", "live_join", "member_kept", "dup_open", "state_of_another", "lazy_member",
                               "in_any", "pool_paused", "frames_in_chunk", "close_destroys")}
SOUND["deadlines"] = SOUND["frames_in_chunk"] = ["CTP029 likely"]
ENDS = ("cancel_resumes", "close_destroys")


def look(case, compiler, level, name):
    return observed(case, compiler, name, program(case, SOURCE, compiler, LEVELS[level]), ENDS)[0]


def check_fault(case, compiler, level, name):
    many, where, closer = FAULTS[name]
    report = look(case, compiler, level, name)
    found = report["findings"]
    need(found and set(said(report)) <= {"CTP029 proven", "CTP029 likely"}, f"{said(report)}")
    need(sum(f["count"] for f in found) <= many, f"{sum(f['count'] for f in found)} coroutines in findings, at most {many}")
    for f in found:
        at = f["waiter_stack"][0]
        need(at["symbol"].split("(")[0].split("::")[-1] in where and at["file"].endswith(SOURCE.name) and at["line"], f"waiter: {at}")
    closers = {f["closer_stack"][0]["symbol"].split("(")[0] for f in found if f["closer_stack"]}
    need(closers <= {closer}, f"closed by {closers}")


def check_sound(case, compiler, level, name):
    report = look(case, compiler, level, name)
    need(all(x in SOUND[name] for x in said(report)), f"{said(report)}")


def checks():
    for compiler in COMPILERS:
        short = compiler.replace("+", "x")
        for level in LEVELS:
            for name in FAULTS:
                yield f"fault/{name}/{short}/{level}", lambda case, c=compiler, o=level, n=name: check_fault(case, c, o, n)
            for name in SOUND:
                yield f"sound/{name}/{short}/{level}", lambda case, c=compiler, o=level, n=name: check_sound(case, c, o, n)


CHECKS = list(checks())
