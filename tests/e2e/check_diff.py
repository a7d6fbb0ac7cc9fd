# SPDX-License-Identifier: MIT
"""ctp-analyze --diff OLD NEW: what has come and gone between two runs, in whatever build; and what either side lacks.
That times are compared rightly is tests/unit/test_diff.c's matter: nothing here depends on how fast a machine is."""
import json
import os
import re
import signal

from harness import ROOT, Failed, Skip, child_of, equal, need, tool, until, witness

_validator = None


def validate(report):
    """Against the schema in spec/diff.md; without python3-jsonschema not at all."""
    global _validator
    if _validator is None:
        try:
            import jsonschema
        except ImportError:
            return
        rules = json.loads(re.search(r"```json\n(.*?)```", (ROOT / "spec/diff.md").read_text(), re.S)[1])
        jsonschema.Draft202012Validator.check_schema(rules)
        _validator = jsonschema.Draft202012Validator(rules)
    error = next(_validator.iter_errors(report), None)
    if error:
        raise Failed(f"breaks the schema at {list(error.absolute_path)}: {error.message[:500]}")


def trace(case, name, target, *words, witnesses=0):
    """A trace of the target, ended by SIGKILL when it is ready and the witness has seen so many."""
    process = case.ctp_start("-q", "--overflow=block", "-o", name, case.target(target), *words)
    process.wait_for("ready")
    if witnesses:
        until(lambda: len({x.get("coroutine") for x in witness(case.dir / name)}) >= witnesses, "the witness")
    os.kill(child_of(process.pid), signal.SIGKILL)
    process.done()
    return name


def compare(case, old, new, *words, status=0):
    """(text, JSON) of the comparison, which ends with this status."""
    text = case.run(case.analyze_tool, *words, "--diff", old, new)
    equal((text.status, text.err), (status, ""), f"--diff {old} {new}: {text}")
    done = case.run(case.analyze_tool, "--format=json", *words, f"--diff={old}", new)
    equal((done.status, done.err), (status, ""), f"--diff={old} {new} as JSON")
    report = json.loads(done.out)
    validate(report)
    changes = [f["change"] for f in report["findings"]]
    shifts = [s[k]["change"] for s in report["sites"] for k in ("slice", "wait", "latency") if s[k]]
    new, slower = changes.count("new"), shifts.count("slower")
    equal(text.out.splitlines()[-1], f"{new} new finding{'s' * (new != 1)}, {changes.count('vanished')} vanished, "
          f"{slower} place{'s' * (slower != 1)} slower, {shifts.count('faster')} faster", "the last line, and JSON")
    need(not re.search(r"->$|^ *->| n$", text.out, re.M), f"a line ends within a value: {text.out}")
    return text.out, report


def check_findings(case):
    """New in NEW: 1; only in OLD: 0; in both, though of another build: 0."""
    good = trace(case, "good", "named", "steps")
    bad = trace(case, "bad", "named", "lost", witnesses=3)
    again = trace(case, "again", "named-nopie", "lost", witnesses=3)
    text, report = compare(case, good, bad, status=1)
    [new] = report["findings"]
    equal((new["change"], new["rule"], new["old"], new["new"], new["old_verdict"]), ("new", "CTP001", 0, 3, None), "the finding")
    need(re.search(r"^finding  new CTP001 lost wakeup \[\w+\] 0 -> 3 coroutines: coroutine ", text, re.M), text)
    places = {s["where"].split(" <- ")[2].split()[0]: (s["old_suspended"], s["new_suspended"]) for s in report["sites"]
              if s["old_suspended"] or s["new_suspended"]}
    equal(places, {"steps_main": (1, 0), "stay": (4, 0), "co_wait": (0, 3), "reaper": (0, 1)}, "who waits where")
    need("0 -> 3 (new) at uc_swap co.c:" in text and "4 -> 0 (vanished) at " in text, text)
    _, report = compare(case, bad, good)
    equal([(f["change"], f["old"], f["new"]) for f in report["findings"]], [("vanished", 3, 0)], "the other way round")
    text, report = compare(case, bad, again)
    equal([(f["change"], f["old"], f["new"]) for f in report["findings"]], [("same", 3, 3)], "another build")
    need("waiting " not in text, f"the same places: {text}")
    one = report["findings"][0]["fingerprint"]
    equal([f["fingerprint"] for f in case.report(bad)[1]["findings"]], [one], "as in a report")
    done = case.run(case.analyze_tool, "--exit-zero", "--diff", good, bad)
    equal(done.status, 0, "--exit-zero")


def check_itself(case):
    """Nothing differs from itself, and times are there."""
    bad = trace(case, "bad", "named", "lost", witnesses=3)
    text, report = compare(case, bad, bad)
    equal({f["change"] for f in report["findings"]}, {"same"}, "findings")
    need(all(s["old_suspended"] == s["new_suspended"] for s in report["sites"]), "who waits")
    slices = [s["slice"] for s in report["sites"]]
    need(slices and all(s["change"] == "few" and s["old"] == s["new"] and s["old"]["n"] > 0 for s in slices), f"slices {slices}")
    equal(report["all"]["slice"]["new"]["n"], sum(s["new"]["n"] for s in slices), "all slices")
    need("finding" not in text.replace("findings", ""), text)


def check_lacks(case):
    """What a side cannot say is said to be so, and the rest is compared."""
    bad = trace(case, "bad", "named", "lost", witnesses=3)
    lines = case.run(case.analyze_tool, "--format=jsonl", "-o", "lines.jsonl", bad)
    equal(lines.status, 0, f"{lines}")
    text, report = compare(case, "lines.jsonl", bad, status=1)
    need(re.search(r"^old +lines\.jsonl: .*JSON lines:", text, re.M | re.S), text)
    equal((report["old"]["times"], report["new"]["times"], report["new"]["lacks"]), (False, True, None), "sides")
    need(report["old"]["switches"] == report["new"]["switches"] > 0, "switches")
    need(all(s["slice"] is None for s in report["sites"]), "no times to compare")


def check_core(case):
    """A core file has findings' places, but no history."""
    process = case.ctp_start("-q", "-o", "whole", case.target("named"), "steps")
    process.wait_for("ready")
    program = child_of(process.pid)
    made = case.run(tool("gcore"), "-o", case.dir / "core", program)
    core = case.dir / f"core.{program}"
    if not core.exists():
        raise Skip(f"gcore makes none: {made.err.strip().splitlines()[-1:]}")
    os.kill(program, signal.SIGKILL)
    process.done()
    text, report = compare(case, core, "whole")
    need("a core file: no history" in " ".join(text.split()), text)
    need(all(s["slice"] is None and s["old_suspended"] == s["new_suspended"] for s in report["sites"]), f"sites {report['sites']}")


def check_refusals(case):
    """One line: what, why, the way out."""
    bad = trace(case, "bad", "named", "lost")
    for words in (["--diff", "nowhere", bad], ["--diff", bad, "nowhere"], ["--diff"], ["--diff", bad, bad, bad],
                  ["--format=sarif", "--diff", bad, bad], ["--diff=", bad]):
        done = case.run(case.analyze_tool, *words)
        equal((done.status, done.out, done.err.count("\n")), (2, "", 1), f"{words}: {done}")
        need(done.err.startswith("ctp-analyze: "), done.err)


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
