# SPDX-License-Identifier: MIT
"""Which run a report is of: who ran what, where, when and for how long, in every format; arguments only where
they were asked for; times from the trace's start, with the clock on the wall beside them."""
import datetime
import json
import os
import re
import socket

from check_verdicts import ready
from harness import equal, need, until, witness

ARGUMENT = "n=3"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d")


def lost_trace(case, *options):
    """(pid, between which times it began)"""
    before = datetime.datetime.now(datetime.timezone.utc)
    process = ready(case, *options, case.target("lost"), ARGUMENT)
    after = datetime.datetime.now(datetime.timezone.utc)
    until(lambda: len({line["coroutine"] for line in witness(case.dir / "ctp.data")}) == 3, "3 looks")
    os.kill(process.pid, 15)
    process.done()
    return process.program, before, after


def check_formats(case):
    pid, before, after = lost_trace(case)
    _, report = case.report()
    is_ = report["run"]
    equal(sorted(is_), ["argv", "ctp", "host", "pid", "started", "uuid"], "what is told of a run")
    equal((is_["argv"], is_["pid"], is_["host"]), ([str(case.target("lost"))], pid, socket.gethostname()), "who ran")
    need(UUID.fullmatch(is_["uuid"]), is_["uuid"])
    need(RFC3339.fullmatch(is_["started"]), is_["started"])
    started = datetime.datetime.fromisoformat(is_["started"])
    need(before <= started <= after, f"{before} <= {started} <= {after}")
    equal("ctp-run " + is_["ctp"], case.run(case.run_tool, "--version").out.strip(), "the version")
    for words in ([], ["--format=markdown"], ["--format=html"]):
        out = case.analyze("ctp.data", *words, *(["-o", "x.html"] if words[-1:] == ["--format=html"] else [])).out
        text = out or (case.dir / "x.html").read_text().partition('<pre class="run">')[2]
        first = "\n".join(text.splitlines()[:3]).replace("\\", "")  # Markdown's
        for part in (case.target("lost").name, f"pid {pid}", is_["host"], is_["started"], "duration ", is_["uuid"], "ctp " + is_["ctp"]):
            need(part in first, f"{words}: no {part} in {first}")


def check_secrets(case):
    """No file of a trace has the program's arguments, where nobody asked for them."""
    for options in ([], ["-f"], ["--flight"], ["--compress"]):
        case.ctp(*options, "sh", "-c", "true; exec env true --password=hunter2")
        files = [x for x in (case.dir / "ctp.data").rglob("*") if x.is_file()]
        need(files, "no trace")
        for path in files:
            need(b"hunter2" not in path.read_bytes(), f"{options}: an argument is in {path}")


def check_record_args(case):
    pid, _, _ = lost_trace(case, "--record-args")
    equal(case.report()[1]["run"]["argv"], [str(case.target("lost")), ARGUMENT], "argv")
    need(ARGUMENT in case.analyze().out.splitlines()[0], "in the text")


def check_times(case):
    lost_trace(case)
    _, report = case.report()
    started, length = datetime.datetime.fromisoformat(report["run"]["started"]), report["trace"]["duration_ns"]
    events = [e for f in report["findings"] for e in f["timeline"]]
    need(events, "no timeline")
    for e in events:
        wall = datetime.datetime.fromisoformat(e["wall"])
        after = (wall - started).total_seconds() - e["t_ns"] / 1e9
        need(0 <= after < 60 and e["t_ns"] <= length, f"{e} in a run that began at {started}")
    lines = case.analyze().out.splitlines()
    told = re.findall(r"([+-]\d+\.\d{6}) \((\d\d:\d\d:\d\d\.\d{3})\)", "\n".join(lines))
    want = [(f"+{e['t_ns'] / 1e9:.6f}", e["wall"][11:23]) for e in report["findings"][0]["timeline"]]
    equal(told[:len(want)], want, "the timeline, as text")
    case.analyze("ctp.data", "--format=jsonl", "-o", "x.jsonl")
    first = json.loads((case.dir / "x.jsonl").read_text().splitlines()[0])["ts"]
    clock = json.loads((case.dir / "ctp.data/ctp/trace.json").read_text())["clock"]
    need(clock["ns0"] - 60e9 <= first <= clock["ns1"], "JSON lines keep CLOCK_MONOTONIC")
    other = case.run(case.analyze_tool, "--format=json", "ctp.data", env={"TZ": "Pacific/Kiritimati"})
    equal(json.loads(other.out)["findings"][0]["timeline"], report["findings"][0]["timeline"], "in another time zone")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
