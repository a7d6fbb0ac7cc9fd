# SPDX-License-Identifier: MIT
"""All that shows coroutines, on programs from Debian: while they are at work each view must agree
with itself, and once the program is stopped all of them, live and from the trace, with each other."""
import json
import os
import re
import shutil
import signal

import catalogue
import packages
import stage
from check_html import page
from check_html import report as html_report
from check_profiles import WEIGHTS, folded
from check_timelines import as_lines, consistent, made, runs, same
from check_watch import watch
from harness import ROOT, equal, need, proc_state, until

LIVE = ("created", "suspended", "running")
ENDED = ("finished", "destroyed")


class Rested(Exception):
    """The program has come to rest, all has been seen of it, and it has been killed."""


def shown(case, pid, *words):
    """What ctp-ps shows: as JSON, if so it is told."""
    done = case.run(case.build / "src/ps/ctp-ps", *words, pid)
    equal((done.status, done.err), (0, ""), f"ctp-ps {words}: {done}")
    return json.loads(done.out) if "--json" in words else done.out


def agrees(view):
    """A view with itself. Returns the ids of the coroutines in it."""
    live = sum(view["counts"][state] for state in LIVE)
    if "tree" in view:
        equal(sum(root["all"] for root in view["tree"]), live, "coroutines in the tree")
        return None
    ids = [c["id"] for g in view["groups"] for c in g["coroutines"]]
    equal((len(ids), len(set(ids))), (live, live), "coroutines in groups, and ids")
    for g in view["groups"]:
        equal(g["count"], len(g["coroutines"]), "a group's count")
        need({c["state"] for c in g["coroutines"]} == {g["state"]}, g)
    return sorted(ids)


VIEWS = ((), ("--why",), ("--tree",))


class Viewed(stage.Run):
    """A run of which the views are looked at while helpers put load on it, and when it has come to rest."""

    def start(self, *argv, **kw):
        self.server = super().start(*argv, **kw)
        return self.server

    def tool(self, *argv, **kw):
        if argv[0] not in ("nbdcopy", "dnsperf"):
            return super().tool(*argv, **kw)
        argv += ("-Q", 500) if argv[0] == "dnsperf" else ()  # a second
        pid, loads = self.pid(self.server), [self.helper(*argv, **kw)]
        for words in [("--json", *v) for v in VIEWS] + [("--all",), ("--stack",), ("--tree",), ("--why",)]:
            if loads[-1].popen.poll() is not None:  # there shall be load as long as somebody looks
                loads.append(self.helper(*argv, **kw))
            view = shown(self.case, pid, *words)
            if "--json" in words:
                agrees(view)
            else:
                need("??" not in view, view)
        for load in loads:
            done = load.done()
            equal(done.status, 0, f"status of {argv[0]} ({done})")
        return done.out

    def look(self, process, *names):
        super().look(process, *names)
        pid = self.pid(process)
        os.kill(pid, signal.SIGSTOP)  # from here on all must see the same
        until(lambda: proc_state(pid) == "T", "its stop")
        views = [shown(self.case, pid, "--json", *words) for words in VIEWS]
        self.counts, self.ids = views[0]["counts"], agrees(views[0])
        for view in views[1:]:
            equal(view["counts"], self.counts, "counts")
            need(agrees(view) in (None, self.ids), "the same coroutines")
        self.switches = sum(t["switches"] for t in views[0]["threads"])
        self.pooled = {";".join(f["symbol"] or f"{os.path.basename(f['module'])}+{f['offset']}" for f in [g["entry"], *g["stack"][::-1]])
                       for g in views[0]["groups"] if g["pooled"]}
        self.why = [c for g in views[1]["groups"] for c in g["coroutines"]]
        live = len(self.ids)
        self.text = shown(self.case, pid, "--all")
        equal(sorted(int(i) for i in re.findall(r"^ coroutine (\d+) ", self.text, re.M)), self.ids, "--all")
        if shutil.which("tmux"):
            watch(self.case, pid).wait(rf"^{live} coroutines: {self.counts['suspended']} suspended")
        if shutil.which("gdb"):
            words = ["-nx", "-batch", "-ex", "set debuginfod enabled off", "-p", pid, "-x", ROOT / "scripts/ctp-gdb.py"]
            listed = self.case.run("gdb", *words, "-ex", "info coroutines", "-ex", f"coroutine {self.ids[0]}", "-ex", "bt", "-ex", "kill").out
            if "info coroutines" in listed or " coroutines: " in listed:  # not where ptrace is forbidden
                need(f"{live} coroutines: {self.counts['created']} created, {self.counts['suspended']} suspended" in listed, listed[-3000:])
                self.frames = re.findall(r"^#\d+ .*", listed, re.M)
        if process.popen.poll() is None and proc_state(pid) != "Z":
            os.kill(pid, signal.SIGKILL)
        process.done()
        raise Rested


def check_trace(case, run, functions):
    """What the trace says, in all its forms, against the last look."""
    trace = run.trace
    status, report = case.report(trace)
    said = report["trace"]
    equal((status, report["findings"], said["lost"]), (0, [], 0), "status, findings, lost")
    equal({k: said["coroutines"][k] for k in LIVE + ENDED}, {k: run.counts[k] for k in LIVE + ENDED}, "the tables, and ctp-ps")
    equal(said["switches"], run.switches, "switches, in the trace and of ctp-ps")
    total, most = said["coroutines"]["total"], said["duration_ns"]
    by = {weight: folded(case, weight, trace) for weight in WEIGHTS}
    equal(sum(by["count"].values()), said["switches"], "the profile of counts")
    need(sum(by["suspended"].values()) <= total * most, "more waiting than coroutines had time for")
    need(0 < sum(by["running"].values()) <= said["threads"] * most, "more running than threads had time for")
    for stack, ns in by["latency"].items():
        need(ns <= by["suspended"].get(stack, 0), f"more latency than waiting: {stack}")
    for name in functions:
        need(any(name in stack for stack in by["suspended"]), f"{name} waits nowhere: {list(by['suspended'])}")
    speed = json.loads(case.analyze(trace, "--format=speedscope", "--all-time").out)
    equal([p["endValue"] for p in speed["profiles"]], [sum(by[w].values()) for w in WEIGHTS], "speedscope's sums")
    for group in ("site", "creator", "name", "entry"):
        last = case.analyze(trace, f"--group-by={group}").out.splitlines()[-1]
        need(last.startswith(f"0 findings, {total} coroutines, 0 lost, "), last)
    need(case.analyze(trace, "--diff", trace).out.splitlines()[-1] == "0 new findings, 0 vanished, 0 places slower, 0 faster", "--diff")
    line, other, _, err = made(case, trace)
    equal(err, "", "stderr")
    consistent(line)
    same(line, other)
    as_lines(case, line, trace)
    equal(len(line.of("coroutine")), total, "tracks of coroutines")
    equal(len([r for r in runs(line) if r[0]]), by_coroutines(case, trace), "runs of coroutines")
    html, _ = html_report(case, trace)
    need(str(total) in page(case, html, ("eval", "document.body.textContent"))[0].replace(",", ""), "the page names the coroutines")


def by_coroutines(case, trace):
    lines = (json.loads(x) for x in case.analyze(trace, "--format=jsonl").out.splitlines())
    return sum(x["is_active"] and not x.get("native") for x in lines)


def check(name, functions, waits, made="", size=1, pool=""):
    def run(case):
        row = next(r for r in catalogue.ROWS if r.name == name)
        packages.want(*row.packages)
        seen = Viewed(case, row, "traced", traced=True, words=["--overflow=block"], size=size)
        try:
            row.work(seen)
            need(False, "it did not come to rest")
        except Rested:
            pass
        need(len(seen.ids) >= 5, f"{len(seen.ids)} coroutines")
        equal(sum(any(w["waits"] for w in c["why"] or ()) for c in seen.why), waits, f"who waits for a descriptor: {seen.why}")
        if made:
            equal(seen.text.count(made), len(seen.ids), made)
        check_trace(case, seen, functions)
        if pool:  # where coroutines stand that have ended: they wait for nothing
            need(seen.pooled and all(re.fullmatch(pool, stack) for stack in seen.pooled), f"pooled: {seen.pooled}")
            late = folded(case, "latency", seen.trace)
            need(not any(re.fullmatch(pool, stack) for stack in late), f"ready in the pool: {late}")
    return run


CHECKS = [
    ("qemu_nbd", check("qemu_nbd", ("qio_channel_yield", "qemu_coroutine_switch"), 5, "  created at qemu_coroutine_new (qemu-nbd)",
                       pool=r"qemu-nbd\+0x\w+;qemu-nbd\+0x\w+;qemu_coroutine_switch")),
    ("pdns_recursor", check("pdns_recursor", (), 5, size=0.25)),
]
