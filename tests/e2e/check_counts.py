# SPDX-License-Identifier: MIT
"""Switches counted exactly, in both forms of the trace."""
import collections
import json
import re

from harness import equal, need

CASES = ["basic", "many", "threads", "short", "migrate", "orphan", "scheduler", "nested", "link", "set", "reuse",
         "copy", "args", "twice", "self", "small", "signal", "unaligned", "closeall"]
KEYS = ["probe_id", "tid", "addr", "seq", "is_active", "ts"]


def said(out):
    found = re.search(r"^coroutines (\d+) switches (\d+)$", out, re.M)
    need(found, f"no count in {out!r}")
    return int(found[1]), int(found[2])


def check_trace(case, words):
    bare = case.run(*words)
    done = case.ctp(*words)
    equal(done.status, bare.status, "exit status")
    equal(done.out, bare.out, "stdout")
    coroutines, switches = said(done.out)
    equal(case.switches(), switches, "ctp:switch in babeltrace2")
    status, report = case.report()
    trace = report["trace"]
    equal(report["findings"], [], "findings")
    equal(status, 0, "ctp-analyze's status")
    equal(trace["lost"], 0, "lost")
    equal(trace["switches"], switches, "trace.switches")
    c = trace["coroutines"]
    equal(c["total"], coroutines, "coroutines.total")
    equal(c["total"], c["created"] + c["suspended"] + c["running"] + c["finished"] + c["destroyed"], "sum of states")


def check_lines(case, words):
    done = case.ctp("-o", "x.jsonl", *words)
    coroutines, switches = said(done.out)
    lines = check_jsonl(case.dir / "x.jsonl")
    equal(len(lines), 2 * switches, "lines")
    status, report = case.report("x.jsonl")
    equal(report["findings"], [], "findings")
    need(any("descriptor" in text for text in report["trace"]["coverage"]), "coverage does not say what is missing")


def check_jsonl(path):
    """Every line against the contract; returns them."""
    lines = []
    seq, ts = collections.Counter(), collections.Counter()
    for number, text in enumerate(path.read_text().splitlines(), 1):
        line = json.loads(text)
        lines.append(line)
        at = f"line {number}: {text}"
        equal(list(line)[:6], KEYS, f"keys of {at}")
        need(re.fullmatch(r"0x[0-9a-f]{16}", line["addr"]), f"addr in {at}")
        need(isinstance(line["is_active"], bool), f"is_active in {at}")
        for key in ("probe_id", "tid", "seq", "ts"):
            need(type(line[key]) is int, f"{key} in {at}")
        who = line["probe_id"]
        need(0 < who < 2**53, f"probe_id in {at}")
        equal(line["seq"], seq[who] + 2, f"seq in {at}")
        need(line["ts"] >= ts[who], f"ts falls in {at}")
        seq[who], ts[who] = line["seq"], line["ts"]
    return lines


def check_no_switch(case):
    done = case.ctp(case.target("counts"), "none")
    equal(done.status, 0, "status")
    need("swapcontext" in done.err, f"does not say what it looked for: {done.err}")
    status, report = case.report()
    equal((status, report["findings"], report["trace"]["switches"]), (0, [], 0), "analysis")


def check_blocks(case):
    """A tiny harvest is outrun; with --overflow=block nothing is lost all the same."""
    done = case.ctp("--overflow=block", "--ring-size=64K", case.target("counts"), "basic", "20000")
    _, switches = said(done.out)
    equal(case.switches(), switches, "ctp:switch")
    _, report = case.report()
    equal(report["trace"]["lost"], 0, "lost")


def check_drops_are_counted(case):
    done = case.ctp("--max-size=1M", case.target("counts"), "basic", "100000")
    _, switches = said(done.out)
    shown = case.switches()
    need(shown <= switches, f"{shown} shown of {switches}")
    _, report = case.report()
    equal(report["trace"]["switches"], switches, "trace.switches (from the tables)")
    equal(report["findings"], [], "findings")
    need(any("records were dropped (--max-size, or a full disk)" in c for c in report["trace"]["coverage"]), f"{report['trace']['coverage']}")
    for kb in (16, 64, 512):
        case.ctp(f"--max-size={kb}K", "-o", "x.jsonl", case.target("counts"), "basic", "20000")
        lines = (case.dir / "x.jsonl").read_bytes()
        need(kb << 8 < len(lines) <= kb << 10, f"{len(lines)} bytes of JSON lines, at most {kb}K")
        need(all(json.loads(line)["seq"] for line in lines.splitlines()), "whole lines")


def check_stations_run_out(case):
    done = case.ctp("-n", "50", case.target("counts"), "many", "5000")
    bare = case.run(case.target("counts"), "many", "5000")
    equal(done.out, bare.out, "stdout")
    _, report = case.report()
    need(any("no station was left" in f["message"] for f in report["facts"]), f"it does not say so: {report['facts']}")
    equal([f for f in report["findings"] if f["verdict"] in ("proven", "likely")], [], "findings")


def both(name):
    yield name, lambda case: check_trace(case, [case.target("counts"), name])
    yield name + ".jsonl", lambda case: check_lines(case, [case.target("counts"), name])


CHECKS = [pair for name in CASES for pair in both(name)] + [
    ("exit_in_a_coroutine", lambda case: check_trace(case, [case.target("counts"), "exit", "37"])),
    ("no_switch", check_no_switch),
    ("blocks", check_blocks),
    ("max_size", check_drops_are_counted),
    ("stations_run_out", check_stations_run_out),
]
