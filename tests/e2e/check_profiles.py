# SPDX-License-Identifier: MIT
"""Profiles: what programs that know themselves did is what readers of other people's find in the
three formats, and they find the same in each."""
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

from check_engines import built, packages
from check_verdicts import ready
from harness import ROOT, Skip, equal, need, tool

WEIGHTS = ("suspended", "running", "latency", "count")
READERS = ("speedscope@1", "ajv@8", "pprof-format@2", "stackvis@0.5")
_lock = threading.Lock()
HERE = pathlib.Path(__file__).resolve().parent


def readers():
    """Installed from npm once, and kept in the user's cache."""
    npm = tool("npm")
    place = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "ctp-profile-readers"
    modules = place / "node_modules"
    with _lock:
        if not (place / "whole").exists():
            done = subprocess.run([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", place, *READERS],
                                  capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                raise Skip(f"npm install {' '.join(READERS)}: {done.stderr[-200:]}")
            (place / "whole").touch()
    return modules


def folded(case, weight, trace="ctp.data", words=()):
    """{frames joined by semicolons: weight}"""
    done = case.analyze(trace, "--format=folded", "--all-time", f"--weight={weight}", *words)
    equal((done.status, done.err), (0, ""), f"--weight={weight}")
    lines = [line.rsplit(" ", 1) for line in done.out.splitlines()]
    stacks = {stack: int(n) for stack, n in lines}
    equal(len(stacks), len(lines), "each stack once")
    need(all(stacks.values()), "a stack without weight")
    return stacks


def read_all(case, shown="suspended", words=()):
    """The three formats, as their readers have them; and that they say the same."""
    modules = readers()
    for kind, name in (("pprof", "x.pb.gz"), ("speedscope", "x.json"), ("folded", "x.folded")):
        done = case.analyze("ctp.data", f"--format={kind}", "--all-time", f"--weight={shown}", *words, "-o", name)
        equal((done.status, done.out, done.err), (0, "", ""), kind)
    done = case.run(tool("node"), HERE / "profile_readers.js", modules, "x.pb.gz", "x.json", "x.folded")
    equal(done.status, 0, f"the readers: {done.err}")
    read = json.loads(done.out)
    equal(read["speedscope"]["errors"], [], "speedscope's schema")
    ours = {w: folded(case, w, words=words) for w in WEIGHTS}
    file = read["speedscope"]["file"]
    names = [f["name"] for f in file["shared"]["frames"]]
    equal(file["activeProfileIndex"], WEIGHTS.index(shown), "speedscope shows")
    equal((read["pprof"]["types"], read["pprof"]["shown"]),
          ([f"{w}/{'count' if w == 'count' else 'nanoseconds'}" for w in WEIGHTS], shown), "pprof's types")
    for i, weight in enumerate(WEIGHTS):
        got, profile = {}, file["profiles"][i]
        for stack, n in zip(profile["samples"], profile["weights"]):
            key = ";".join(names[f] for f in stack)
            got[key] = got.get(key, 0) + n
        equal(got, ours[weight], f"speedscope, {weight}")
        equal(sum(got.values()), profile["endValue"], "endValue")
        got = {}
        for sample in read["pprof"]["samples"]:
            key = ";".join(f["name"] for f in reversed(sample["frames"]))
            got[key] = got.get(key, 0) + sample["values"][i]
        equal({k: n for k, n in got.items() if n}, ours[weight], f"pprof, {weight}")
    equal({k: int(n) for k, n in (line.rsplit(" ", 1) for line in read["folded"])}, ours[shown], "folded")
    return ours, read


def check_demo(case):
    """50 connections, each a coroutine; 47 hang up and are never resumed. Their last waits, and the sleep of loops, are left out by default."""
    server = case.ctp_start("-o", "ctp.data", case.build / "tests/demo/demo-server")
    port = re.search(r":(\d+)", server.wait_for("listening"))[1]
    client = case.run(case.build / "tests/demo/demo-client", port, "20")
    equal(client.status, 0, f"the client: {client}")
    server.signal(15)
    server.done()
    ours, read = read_all(case, "latency")
    _, report = case.report()
    equal(sum(ours["count"].values()), report["trace"]["switches"], "switches")
    equal(report["trace"]["lost"], 0, "lost")
    waits = "conn_main;serve;wait_readable"
    equal(list(ours["suspended"]), [waits], "where they waited")
    equal(list(ours["latency"]), [waits], "what events were for")
    ended = case.analyze("ctp.data", "--format=folded")
    need(int(ended.out.rsplit(" ", 1)[1]) < ours["suspended"][waits], f"waits that ended: {ended}")
    need(re.fullmatch(r"ctp-analyze: left out: 47 waits that had not ended \(.+\); --all-time includes them\n", ended.err), ended.err)
    need("[idle loop]" not in case.analyze("ctp.data", "--format=folded", "--weight=running").out, "no sleep of loops")
    need(ours["latency"][waits] <= ours["suspended"][waits], "more latency than waiting")
    place = [f for s in read["pprof"]["samples"] for f in s["frames"] if f["name"] == "wait_readable"][0]
    source = (ROOT / "tests/demo/server.c").read_text().splitlines()
    need("swapcontext" in source[place["line"] - 1], f"pprof's line of wait_readable: {place}")
    need(place["file"].endswith("tests/demo/server.c") and len(place["build_id"]) == 40, place)
    need(any(k.startswith("[thread];[idle loop]") for k in ours["running"]), "its loops slept")


def check_boost(case):
    """Boost.Fiber's own way to switch; templates have short names."""
    packages.want("g++", "libboost-context1.74-dev")
    program = built(case, "t-ended", tool("g++"), "-O1", "-g", "-w", ROOT / "tests/targets/ended.cpp", "-lboost_context")
    case.ctp(program)
    ours, _ = read_all(case)
    _, report = case.report()
    equal(sum(ours["count"].values()), report["trace"]["switches"], "switches")
    roots = {stack.split(";")[0] for stack in ours["count"]}
    need({"handler", "producer", "session::operator()"} <= roots, roots)
    need(all(len(name) < 120 for stack in ours["count"] for name in stack.split(";")), "long names")


def check_tail(case):
    """A coroutine whose last jump is a tail call: it has one frame still, which is no unknown one."""
    packages.want("gcc", "libboost-context1.74-dev")
    program = built(case, "t-tail", tool("gcc"), "-O2", ROOT / "tests/targets/tail_fcontext.c", "-lboost_context")
    case.ctp(program)
    stacks = {stack: n for stack, n in folded(case, "count").items() if not stack.startswith(("_start", "main"))}
    equal(sorted(stacks.values()), [50, 50], f"stacks of coroutines: {stacks}")
    need(any(stack.endswith(";make_fcontext") for stack in stacks) and not any("[unknown]" in stack for stack in stacks), stacks)


def check_counts(case):
    """A program that knows how often it switched, on several threads, with coroutines that move between them."""
    done = case.ctp(case.target("counts"), "migrate", "200")
    said = int(re.search(r"switches (\d+)", done.out)[1])
    equal(sum(folded(case, "count").values()), said, "switches")


def check_lost(case):
    """What was lost is told as such, and the sum stays the number of switches."""
    case.ctp("--max-size=64K", case.target("counts"), "basic", "100000")
    stacks = folded(case, "count")
    _, report = case.report()
    need(stacks.get("[lost]", 0) > 0, stacks)
    equal(sum(stacks.values()), report["trace"]["switches"], "switches, with those that are lost")


def waits_in_core(case):
    """A core file has who waits now. False: none can be made here."""
    process = ready(case, case.target("lost"), "how=none", "n=3")
    case.run(tool("gcore"), "-o", case.dir / "core", process.program)
    core = case.dir / f"core.{process.program}"
    os.kill(process.program, 9)
    process.done()
    if not core.exists():
        return False
    core.rename(case.dir / "core.taken")
    need(folded(case, "suspended", "core.taken"), "nobody waits in the core file")
    return True


def check_forms(case):
    """JSON lines have addresses; a pipe is read once; a core file and an empty trace say what they can."""
    case.ctp("-o", "x.jsonl", case.target("counts"), "basic", "50")
    lines = folded(case, "count", "x.jsonl")
    equal(sum(lines.values()), case.report("x.jsonl")[1]["trace"]["switches"], "switches of the lines")
    need(all(re.fullmatch(r"0x[0-9a-f]+|\[unknown\]", stack) for stack in lines), lines)
    equal(folded(case, "latency", "x.jsonl"), {}, "lines know no events")
    for kind in ("folded", "speedscope", "pprof"):
        done = case.run(case.analyze_tool, f"--format={kind}", "-", stdin=subprocess.DEVNULL)
        equal((done.status, done.out), (2, ""), f"{kind} of a pipe")
        need("write them to a file first" in done.err and done.err.count("\n") == 1, done.err)
    if waits_in_core(case):
        for words in (("folded", "--weight=latency"), ("folded", "--weight=running"), ("pprof", "--weight=count"), ("jsonl",)):
            done = case.analyze("core.taken", f"--format={words[0]}", "-o", "x", *words[1:])
            equal((done.status, (case.dir / "x").exists()), (2, False), f"{words} of a core file")
            need("history" in done.err or "what happened before" in done.err, done.err)
        case.analyze("core.taken", "--format=speedscope", "-o", "x")
        sums = [sum(profile["weights"]) for profile in json.loads((case.dir / "x").read_text())["profiles"]]
        need(len(sums) == 4 and sums[0] > 0 and not any(sums[1:]), f"who waits, and nothing else: {sums}")
    case.ctp("-o", "none", sys.executable, "-c", "pass")
    equal(folded(case, "suspended", "none"), {}, "no coroutine")
    wrong = case.analyze("none", "--format=folded", "--weight=gold")
    equal(wrong.status, 2, "--weight=gold")
    need("suspended|running|latency|count" in wrong.err, wrong.err)


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
