# SPDX-License-Identifier: MIT
"""Switch functions that cannot be interposed: programs that have one in their own code, stripped,
and know their coroutines and switches (t-patched, on tests/targets/co_patched.c)."""
import platform

from check_counts import said
from harness import Skip, equal, need

ENGINES = ("slot", "from", "slot_back", "struct", "saved")
CASES = ("basic", "threads", "short", "migrate", "orphan", "scheduler", "nested")


def program(case):
    path = case.build / "tests/targets/t-patched"
    if platform.machine() != "x86_64":
        raise Skip("functions are patched on x86_64 only")
    need(path.exists(), f"no {path}")
    return path


def counted(case, engine, what):
    """Its own numbers, and those of the trace: equal, nothing lost, no finding."""
    done = case.ctp("-o", f"{engine}.{what}", "-E", f"CO_ENGINE={engine}", program(case), what)
    equal(done.status, 0, f"status ({done})")
    coroutines, switches = said(done.out)
    _, report = case.report(case.dir / f"{engine}.{what}")
    trace = report["trace"]
    equal((trace["coroutines"]["total"], trace["switches"], trace["lost"]), (coroutines, switches, 0),
          f"{engine} {what}: coroutines, switches, lost")
    equal(report["findings"], [], f"{engine} {what}: findings")
    return trace


def check_counts(engine):
    def run(case):
        for what in CASES:
            trace = counted(case, engine, what)
            need(any("t-patched has its own " in x and x.endswith(", patched") for x in trace["coverage"]),
                 f"coverage: {trace['coverage']}")
    return run


def check_off(case):
    """Not patched where that is turned off, by either way: nothing is seen, and the program does its work."""
    for words in (["--no-patch"], ["-E", "CTP_PATCH=0"]):
        done = case.ctp("-o", "x", *words, "-E", "CO_ENGINE=slot", program(case), "basic")
        equal(done.status, 0, "status")
        said(done.out)
        _, report = case.report(case.dir / "x")
        equal(report["trace"]["switches"], 0, f"{words}: switches")


def check_breakpoint(case):
    """A breakpoint in one of the functions: all of that program is left alone, and the report says why."""
    code = program(case).read_bytes()
    body = bytes.fromhex("5553415441554156415748892748 8b26")  # the pushes and the exchange of sw_slot
    at = code.find(body)
    need(at > 0 and code.find(body, at + 1) < 0, "sw_slot is not there, or twice")
    broken = case.dir / "broken"
    broken.write_bytes(code[:at] + b"\xcc" + code[at + 1:])
    broken.chmod(0o755)
    done = case.ctp("-o", "x", "-E", "CO_ENGINE=struct", broken, "basic")
    equal(done.status, 0, f"status ({done})")
    said(done.out)
    _, report = case.report(case.dir / "x")
    equal(report["trace"]["switches"], 0, "switches: all or nothing")
    facts = [f["message"] for f in report["facts"] if f["rule"] == "CTP030"]
    need(any("a breakpoint stands in it" in x for x in facts), f"facts: {facts}")


CHECKS = [(f"counts_{engine}", check_counts(engine)) for engine in ENGINES] + [("off", check_off), ("breakpoint", check_breakpoint)]
