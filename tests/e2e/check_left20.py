# SPDX-License-Identifier: MIT
"""C++20 coroutines whose handles are gone while words of before still lie about (tests/targets/left20.cpp), and what looks like them."""
import os
import signal

from check_births import program
from check_engines import TARGETS
from check_stackless import COMPILERS, looked, observed, said
from harness import child_of, equal, need, until

SOURCE = TARGETS / "left20.cpp"
COUNT = 3
# What must be said, and of how many at least: a word may lead to one by chance.
FAULTS = {
    "overwritten_after_queue": ({"CTP029 suspect"}, COUNT - 1),
    "overwritten_after_vector": ({"CTP029 suspect"}, COUNT - 1),
    "lost_beside_keeper": ({"CTP029 likely"}, COUNT - 1),
}
WHERE = {"overwritten_after_queue": "queued_then_waits", "overwritten_after_vector": "listed", "lost_beside_keeper": "asks"}
# What may be said at most.
SOUND = {"queued_again": set(), "queued_far_behind": set(), "in_turns": {"CTP029 suspect"}}


def look(case, compiler, name):
    return observed(case, compiler, name, program(case, SOURCE, compiler, "-O1"))[0]


def check_fault(case, compiler, name):
    allowed, least = FAULTS[name]
    for _ in range(3):
        report = look(case, compiler, name)
        found = sum(f["count"] for f in report["findings"])
        if found >= least:
            break
        case.anew()
    need(report["findings"] and set(said(report)) <= allowed, f"{said(report)}: {looked(case.dir / 'ctp.data')}")
    need(least <= found <= COUNT, f"{found} coroutines in findings")
    for f in report["findings"]:
        at = f["waiter_stack"][0]
        need(at["symbol"].split("(")[0] == WHERE[name] and at["file"].endswith(SOURCE.name) and at["line"], f"waiter: {at}")
    if allowed == {"CTP029 suspect"}:
        text = " ".join(case.analyze().out.split())
        need("where a std::deque or std::vector, or what looks like one, has no element now" in text, text)


def check_sound(case, compiler, name):
    report = look(case, compiler, name)
    need(set(said(report)) <= SOUND[name], f"{said(report)}: {looked(case.dir / 'ctp.data')}")


def check_reads(case, compiler):
    """A thread that waits in recv is no reason not to search, and sees nothing of that it was stopped."""
    process = case.ctp_start(program(case, SOURCE, compiler, "-O1"), "lost_beside_keeper", "reads")
    process.wait_for("ready")
    until(lambda: [line for line in looked(case.dir / "ctp.data") if line["what"] == "coroutine"], "a look at what was lost")
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()
    equal(process.out().split(), ["ready"], "what it said")


def checks():
    for compiler in COMPILERS:
        short = compiler.replace("+", "x")
        for name in FAULTS:
            yield f"fault/{name}/{short}", lambda case, c=compiler, n=name: check_fault(case, c, n)
        for name in SOUND:
            yield f"sound/{name}/{short}", lambda case, c=compiler, n=name: check_sound(case, c, n)
        yield f"reads/{short}", lambda case, c=compiler: check_reads(case, c)


CHECKS = list(checks())
