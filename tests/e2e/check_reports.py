# SPDX-License-Identifier: MIT
"""What a report looks like: many findings, SARIF as a validator has it, Markdown,
suppressions, baselines."""
import json
import os
import pathlib
import re
import subprocess

import packages
from check_engines import TARGETS, built
from check_verdicts import ready
from harness import Skip, equal, need, tool, until, witness

VALIDATOR = "@microsoft/sarif-multitool"


def many_trace(case):
    """25 lost wakeups, no two with the same sites."""
    process = ready(case, case.target("many"))
    until(lambda: len({line["coroutine"] for line in witness(case.dir / "ctp.data")}) == 25, "25 looks")
    os.kill(process.pid, 15)
    process.done()


def check_many(case):
    many_trace(case)
    lines = case.analyze().out.splitlines()
    heads = [x for x in lines if x.startswith("CTP001 lost wakeup [")]
    equal(len(heads), 25, "findings")
    equal(len([x for x in lines if x.strip().startswith("refuted if")]), 20, "findings told in full")
    first = lines.index(heads[0])
    [at] = [i for i, x in enumerate(lines) if x.startswith("summary  25 findings: ")]
    equal([x.startswith("  CTP001 lost wakeup [") for x in lines[at + 1:first - 1]], [True] * 20, "the summary before them")
    bold = case.analyze("ctp.data", "--color=always").out
    need(re.search(r"closed by .*\n    #0 \x1b\[1m\w+\x1b\[0m ", bold), "the line that closes is bold")
    equal(re.sub(r"\x1b\[[\d;]*m", "", bold).splitlines(), lines, "without its colors")
    need(any("drop_" in x or "many.c:" in x for x in heads[20:]), "\n".join(heads[20:]))
    need("25 findings, " in lines[-1], lines[-1])
    full = case.analyze("ctp.data", "--full").out
    equal(full.count("  refuted if"), 25, "--full")
    table = case.analyze("ctp.data", "--format=markdown").out
    equal(table.count("| CTP001 lost wakeup |"), 25, "rows of the table")


def validator():
    """The validator, installed from npm once and kept in the user's cache."""
    npm = tool("npm")
    place = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "ctp-sarif-validator"
    pattern = "node_modules/@microsoft/sarif-multitool-linux/**/Sarif.Multitool"
    found = list(place.glob(pattern))
    if not found:
        done = subprocess.run([npm, "install", "--no-audit", "--no-fund", "--prefix", place, VALIDATOR],
                              capture_output=True, text=True, timeout=300, check=False)
        found = list(place.glob(pattern))
        if not found:
            raise Skip(f"npm install {VALIDATOR}: {(done.stderr or 'no program in it')[-200:]}")
    found[0].chmod(0o755)
    return found[0]


def check_sarif(case):
    many_trace(case)
    done = case.analyze("ctp.data", "--format=sarif", "-o", "x.sarif")
    equal((done.status, done.out), (1, ""), "-o x.sarif")
    log = json.loads((case.dir / "x.sarif").read_text())
    equal(log["version"], "2.1.0", "version")
    results = log["runs"][0]["results"]
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    equal(len(results), 25, "results")
    for result in results:
        equal(rules[result["ruleIndex"]]["id"], "CTP001", "ruleIndex")
        need(result["level"] in ("error", "warning", "note"), result["level"])
        equal(len(result["partialFingerprints"]["ctp/v1"]), 16, "fingerprint")
        flows = result["codeFlows"][0]["threadFlows"]
        equal(len(flows), 2, "threadFlows: the waiter's and the closer's")
        need(any("co.c" in json.dumps(f) for f in flows), flows)
        need(any("many.c" in json.dumps(f) for f in flows), flows)
    answer = case.run(validator(), "validate", case.dir / "x.sarif", "--output", case.dir / "answer.sarif", "--log",
                      "ForceOverwrite", env={"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"})
    equal(answer.status, 0, f"the validator: {answer}")
    said = json.loads((case.dir / "answer.sarif").read_text())["runs"][0]["results"]
    wrong = [r["message"] for r in said if r.get("level", "warning") == "error"]
    need(not wrong, wrong)


def check_baseline(case):
    many_trace(case)
    case.analyze("ctp.data", "--format=json", "-o", "old.json")
    old = json.loads((case.dir / "old.json").read_text())
    gone = old["findings"].pop()
    (case.dir / "old.json").write_text(json.dumps(old))
    done = case.analyze("ctp.data", "--baseline=old.json")
    equal(done.status, 1, "one is new")
    need("1 new, 24 known, 0 suppressed" in done.out, done.out[-400:])
    case.analyze("ctp.data", "--baseline=old.json", "--format=sarif", "-o", "x.sarif")
    results = json.loads((case.dir / "x.sarif").read_text())["runs"][0]["results"]
    new = [r["partialFingerprints"]["ctp/v1"] for r in results if r["baselineState"] == "new"]
    equal(new, [gone["fingerprint"]], "the new one")
    (case.dir / "quiet").write_text(f"# by its fingerprint\n{gone['fingerprint']}\nCTP002 nobody_has_this\n")
    done = case.analyze("ctp.data", "--baseline=old.json", "--suppress=quiet")
    equal(done.status, 0, "the new one is suppressed")
    need("0 new, 24 known, 1 suppressed" in done.out, done.out[-400:])
    need("'CTP002 nobody_has_this' matches nothing" in done.out, done.out[-400:])


def returned(case, level):
    """What Boost.Coroutine2 ran has returned: it has ended, and is no waiter. The two that have not are told as before."""
    packages.want("g++", "libboost-coroutine1.74-dev", "libboost-context1.74-dev")
    program = built(case, f"t-returned{level}", tool("g++"), level, "-g", "-std=c++17", "-w", TARGETS / "returned.cpp", "-lboost_context")
    process = ready(case, program)
    os.kill(process.pid, 15)
    process.done()
    said = " ".join(case.analyze().out.split())
    need(" 2 parked, 2 pooled," in said and "2 coroutines have ended, and are kept by their library" in said, said)


def check_returned_whole(case):
    returned(case, "-O0")


def check_returned_inlined(case):
    returned(case, "-O2")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
