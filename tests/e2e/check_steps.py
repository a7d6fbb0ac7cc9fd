# SPDX-License-Identifier: MIT
"""A signal at every single instruction of a switch (robust_steps.c), by the fast path and the long one."""
import re

from harness import Skip, equal, need


def steps(case, how, *by):
    bare = case.run(case.target("steps"), how, *by)
    if bare.status == 77:
        raise Skip("only for x86_64's trap flag")
    done = case.ctp("--overflow=block", case.target("steps"), how, *by)
    equal((bare.status, done.status), (0, 0), f"{how}: status ({done})")
    stepped, truth, clean = (int(re.search(rf"{word} (\d+)", out)[1]) for word, out in
                             (("switches", bare.out), ("switches", done.out), ("clean", done.out)))
    need(truth > stepped, f"{how}: our instructions were not stepped through")
    report = case.report()[1]
    seen, lost = report["trace"]["switches"], report["trace"]["lost"]
    equal(report["findings"], [], f"{how} {by}: findings")
    need(seen >= clean, f"{how}: {seen} seen, and {clean} were clean")
    if how == "jumps":  # a jump out of a switch: it may have been written down, and did not happen
        need(clean <= seen <= truth, f"{how}: {seen} seen, of {truth}, {clean} of them clean")
    elif by:  # of a jump between a switch's record and the switch it is not always known that it is one
        need(lost and seen + lost <= truth, f"{how} {by}: {seen} seen and {lost} lost, of {truth}")
    else:
        equal(seen + lost, truth, f"{how}: {seen} seen and {lost} lost")


def check_calls_and_switches(case):
    """What the signal's handler does takes nothing else along. Every switch is seen or lost, and those that no
    signal came near are seen."""
    for how in ("calls", "away", "jumps", "nested", "threads"):
        steps(case, how)


def check_errors(case):
    """The same, where others jump within their own stacks while somebody was swapped away inside a switch: nobody
    may take his place there, as he comes back."""
    steps(case, "errors")


def check_longjmp(case):
    """The same by setjmp and longjmp, in the handler, too."""
    for how in ("away", "errors", "threads"):
        steps(case, how, "longjmp")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
