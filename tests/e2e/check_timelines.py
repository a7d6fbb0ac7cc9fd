# SPDX-License-Identifier: MIT
"""Timelines (--format=perfetto, chrome): read as viewers read them, and held against JSON lines,
the report and each other."""
import collections
import json
import os
import pathlib
import subprocess

from check_counts import said
from check_ends import make_core
from check_fork import words as fork_words
from harness import Failed, Skip, equal, need, tool
from timelines import chrome, perfetto

STATES = ("created", "running", "ready", "lost records")
READERS = ["@tracerbench/trace-model@8.0.0", "devtools-timeline-model@1.4.0"]


def made(case, trace="ctp.data", status=0):
    """The trace in both formats; what is said on stderr by the way."""
    err = ""
    for format, name in (("perfetto", "x.pftrace"), ("chrome", "x.json")):
        done = case.analyze(trace, f"--format={format}", "-o", name)
        equal((done.status, done.out), (status, ""), f"{format} ({done})")
        err += done.err
    line, whole = chrome(case.dir / "x.json")
    return perfetto(case.dir / "x.pftrace"), line, whole, err


def runs(line):
    """Who ran on threads: (coroutine's number or None, since, ns)."""
    return sorted((int(s.name.rsplit(" ", 1)[1]) if s.name[-1].isdigit() else 0, s.since, s.ns)
                  for s in line.on("thread") if s.name not in ("asleep", "lost records"))


def running(line):
    return sorted((line.tracks[s.track][2], s.since, s.ns) for s in line.on("coroutine") if s.name == "running")


def states(line):
    return sorted((line.tracks[s.track][2], s.name, s.since, s.ns, sorted((k, v) for k, v in s.args.items() if k in ("fd", "how")))
                  for s in line.on("coroutine"))


def consistent(line):
    """What a track says, the others say, too; no slice overlaps the next one of its track."""
    equal([r for r in runs(line) if r[0]], running(line), "running: on threads, and on the coroutines' own tracks")
    by_track = collections.defaultdict(list)
    for s in line.slices:
        if s.name != "asleep":
            by_track[s.track].append(s)
        if s.name not in STATES and line.tracks[s.track][0] == "coroutine" and not s.name.startswith("suspended"):
            raise Failed(f"a state: {s}")
    ends = {(m.track, m.ns) for m in line.marks if m.name == "done"}
    for track, slices in by_track.items():
        slices.sort(key=lambda s: (s.since, s.ns))
        for one, next_one in zip(slices, slices[1:]):
            if one.ns > next_one.since:
                raise Failed(f"overlap on {line.tracks[track]}: {one} {next_one}")
            if one.ns != next_one.since and line.tracks[track][0] != "thread" and (track, one.ns) not in ends:
                raise Failed(f"a gap on {line.tracks[track]}: {one} {next_one}")
    starts = {(s.track, s.since) for s in line.slices}
    for begins, ends, track in line.flows.values():
        need(ends is None or (begins <= ends and (track, ends) in starts), "a flow ends where nothing begins, or before it begins")


def same(one, other):
    equal(runs(one), runs(other), "who ran")
    equal(states(one), states(other), "states")
    ended = [sorted(f[:2] for f in x.flows.values() if f[1]) for x in (one, other)]
    equal(ended[0], ended[1], "flows")


def as_lines(case, line, trace="ctp.data"):
    """Each going on in the JSON lines is the beginning of a run, and the other way round."""
    lines = [json.loads(x) for x in case.analyze(trace, "--format=jsonl").out.splitlines()]
    want = collections.Counter((x["probe_id"], x["ts"]) for x in lines if x["is_active"] and not x.get("native"))
    equal(collections.Counter(r[:2] for r in runs(line) if r[0]), want, "runs that begin")
    left = collections.Counter((x["probe_id"], x["ts"]) for x in lines if not x["is_active"] and not x.get("native"))
    need(not left - collections.Counter((r[0], r[2]) for r in runs(line)), "runs that end")


def check_counted(case):
    """Every switch is there, on threads that share coroutines and with all ways to end."""
    for name in ("basic", "migrate", "link", "orphan", "scheduler", "threads", "reuse", "copy"):
        done = case.ctp("-o", name, "--record-args", "--overflow=block", case.target("counts"), name)
        coroutines, switches = said(done.out)
        line, other, whole, err = made(case, name)
        consistent(line)
        same(line, other)
        as_lines(case, line, name)
        threads = len({s.track for s in line.on("thread")})
        equal(len(runs(line)), switches + threads, f"{name}: slices of threads: a switch begins one, and the thread")
        equal(len(line.of("coroutine")), coroutines, f"{name}: tracks of coroutines")
        equal((err, whole["otherData"]["left_out"]), ("", ""), f"{name}: nothing is left out")
        need(not [s for s in line.slices if s.name == "lost records"], f"{name}: nothing was lost")
        equal({k for k, v in line.tracks.items() if v[0] == "process" and v[1].endswith(f"t-counts {name}")}, line.of("process"),
              "the process is called by its command")


def parts(line, kind):
    return [(m, line.tracks[m.track]) for m in line.marks if m.name.startswith("CTP001 lost wakeup: ") and line.tracks[m.track][0] == kind]


def check_findings(case):
    """A finding stands where the waiter left for the last time and where its descriptor was closed."""
    case.found(case.target("lost"), "n=3", count=3)
    _, report = case.report()
    want = [f for f in report["findings"] if f["rule"] == "CTP001"]
    line, other, whole, err = made(case, status=1)
    consistent(line)
    same(line, other)
    ids = {c["id"] for f in want for c in f["coroutines"]}
    for each in (line, other):
        waits = [x for x in parts(each, "coroutine") if x[0].name.endswith("waiting")]
        equal({t[2] for _, t in waits}, ids, "whose tracks say so")
        for m, track in waits:
            last = max(s.since for s in each.slices if s.track == m.track)
            equal(m.ns, last, "when it left for the last time")
            equal(m.args["verdict"], want[0]["verdict"], "verdict")
            need(m.args["fingerprint"] in {f["fingerprint"] for f in want}, m)
            need("read_all" in m.args["stack"] and "lost.c:" in m.args["stack"], m.args["stack"])
    told = {(m.name, m.ns) for m in line.marks if m.name.startswith("CTP001")}
    equal({(m.name, m.ns) for m in other.marks if m.name.startswith("CTP001")}, told, "in both formats")
    closed = {m.ns for m in line.marks if m.name.endswith("closed by")}
    for f in want:
        first = [m.ns for m, t in parts(line, "coroutine") if t[2] == f["coroutines"][0]["id"]][0]
        at = {t["t_ns"] for t in f["timeline"] if t["what"].startswith("close(")}
        suspended = min(t["t_ns"] for t in f["timeline"] if t["coroutine"] == f["coroutines"][0]["id"])
        equal({first + t - suspended for t in at} - closed, set(), "when it was closed")
    equal(len([1 for t in line.of("findings")]), 1, "a track of findings")
    last = [s for s in line.on("coroutine") if line.tracks[s.track][2] in ids and s.args.get("how") == "still, at the end of the trace"]
    equal({s.args["fd"] for s in last}, {f"{f['fd']['number']}#{f['fd']['generation']}" for f in want} | {s.args["fd"] for s in last},
          "what it waits for")
    equal(len(last), len(ids), "still suspended")


def check_gap(case):
    """A trace made by hand, in which two records are lost: what is known is told, and no slice lasts over the gap."""
    case.run(case.build / "tests/golden/make-trace", "gap", case.dir / "made")
    line, other, _, _ = made(case, "made")
    for each in (line, other):
        consistent(each)
        equal([(s.name, s.since // 1000 - 1000000, s.ns // 1000 - 1000000) for s in sorted(each.on("coroutine"), key=lambda s: (s.since, s.ns))],
              [("created", 1, 2), ("running", 2, 5), ("suspended in people_wait_readable", 5, 17), ("ready", 17, 18), ("running", 18, 20),
               ("suspended in people_wait_readable", 20, 20), ("lost records", 20, 40), ("running", 40, 45)], "states")
        thread = sorted(each.on("thread"), key=lambda s: (s.since, s.ns))
        equal([(s.name, s.since // 1000 - 1000000, s.ns // 1000 - 1000000) for s in thread if s.name != "asleep"],
              [("native stack", 0, 2), ("people_conn_reader 41", 2, 5), ("native stack", 5, 18), ("people_conn_reader 41", 18, 20),
               ("native stack", 20, 20), ("lost records", 20, 40), ("people_conn_reader 41", 40, 45), ("native stack", 45, 5000000)], "who ran")
        equal([(s.since, s.ns) for s in thread if s.name == "asleep"], [(1000006000, 1000016000)], "when the loop slept")
        equal(sorted((b, e) for b, e, _ in each.flows.values()), [(1000001000, 1000002000), (1000017000, 1000018000)], "made, woken")
        equal([(m.name, m.args.get("coroutine"), m.args.get("fd"), m.ns) for m in each.marks],
              [("creates", "people_conn_reader 41", None, 1000001000), ("wakes", "people_conn_reader 41", "30#3", 1000017000),
               ("done", None, None, 1000045000), ("SIGTERM taken", None, None, 1000046000)], "marks")


def check_cap(case):
    """A viewer of Chrome's JSON gets the newest switches, and is told; Perfetto gets all."""
    done = case.ctp("--overflow=block", case.target("counts"), "basic", "12000")
    _, switches = said(done.out)
    need(switches > 200000, "too few switches for this check")
    line, other, whole, err = made(case)
    consistent(line)
    equal(len(runs(line)), switches + 1, "slices of the thread")
    words = f"the oldest {switches - 200000} of {switches} switches are left out"
    need(words in err and words in whole["otherData"]["left_out"], err)
    equal(len(err.splitlines()), 1, "one line")
    newest = runs(other)
    need(200000 <= len(newest) <= 200001, len(newest))
    equal(sorted(runs(line), key=lambda r: r[1:])[-len(newest):], sorted(newest, key=lambda r: r[1:]), "the newest")


def check_wakes(case):
    """An event begins a flow at the loop's thread, which ends where the coroutine goes on; the state between is ready."""
    case.found(case.target("lost"), "n=2", count=2)
    line, other, _, _ = made(case, status=1)
    wakes = [m for m in line.marks if m.name == "wakes"]
    need(wakes, "nobody was woken")
    ready = collections.Counter((line.tracks[s.track][2], s.since) for s in line.on("coroutine") if s.name == "ready")
    equal(collections.Counter((int(m.args["coroutine"].rsplit(" ", 1)[1]), m.ns) for m in wakes), ready, "who is ready, since when")
    for m in wakes:
        begins, ends, track = line.flows[m.flow[0]]
        need(ends is None or line.tracks[track][0] == "thread", "where the flow ends")
        need("fd" in m.args, m)


def check_forks(case):
    done = case.ctp("-f", *fork_words(case, "plain"))
    line, other, _, _ = made(case)
    consistent(line)
    same(line, other)
    pids = {v[3] for v in line.tracks.values() if v[0] == "process"}
    need(len(pids) > 1, f"processes: {pids} ({done})")
    equal({v[3] for v in line.tracks.values() if v[0] == "coroutine"} - pids, set(), "whose coroutines")


def check_jsonl(case):
    """JSON lines tell who ran, by numbers alone."""
    case.ctp("-o", "x.jsonl", case.target("counts"), "migrate")
    lines = [json.loads(x) for x in (case.dir / "x.jsonl").read_text().splitlines()]
    equal(case.analyze("x.jsonl", "--format=perfetto", "-o", "x.pftrace").status, case.analyze("x.jsonl").status, "status")
    line = perfetto(case.dir / "x.pftrace")
    consistent(line)
    want = collections.Counter((x["probe_id"], x["ts"]) for x in lines if x["is_active"] and not x.get("native"))
    equal(collections.Counter(r[:2] for r in runs(line) if r[0]), want, "runs that begin")
    case.analyze("x.jsonl", "--format=chrome", "-o", "x.json")
    same(line, chrome(case.dir / "x.json")[0])


def check_none(case):
    """A trace without a switch is one without events."""
    case.ctp(case.target("counts"), "none")
    line, other, _, _ = made(case)
    equal((runs(line), states(line), runs(other), states(other)), ([], [], [], []), "slices")


def refused(case, argv, *words, **kw):
    done = case.run(case.analyze_tool, *argv, "-o", "not-made", **kw)
    equal((done.status, done.out, len(done.err.splitlines())), (2, "", 1), f"{argv}: {done}")
    for word in words:
        need(word in done.err, f"does not say {word!r}: {done.err}")
    need(not (case.dir / "not-made").exists(), "an empty file is left")


def check_refused(case):
    case.ctp("-o", "x.jsonl", case.target("counts"), "basic")
    for format in ("perfetto", "chrome"):
        with open(case.dir / "x.jsonl", "rb") as lines:
            cat = subprocess.Popen(["cat"], stdin=lines, stdout=subprocess.PIPE)
            refused(case, [f"--format={format}", "-"], "pipe", "save", stdin=cat.stdout)
            cat.stdout.close()
            cat.wait(60)


def check_core(case):
    core = make_core(case, "null")
    for format in ("perfetto", "chrome"):
        refused(case, [f"--format={format}", core], "core file", "trace directory")


# ------------------------------------------------------------------ others' readers

def readers():
    """Readers of Chrome's JSON, installed from npm once and kept in the user's cache."""
    npm = tool("npm")
    place = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "ctp-chrome-readers"
    if not all((place / "node_modules" / x.rsplit("@", 1)[0]).exists() for x in READERS):
        done = subprocess.run([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", place, *READERS],
                              capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise Skip(f"npm install {READERS}: {done.stderr[-200:]}")
    return place


MODEL = """
const { buildModel } = require('@tracerbench/trace-model');
const model = buildModel(JSON.parse(require('fs').readFileSync(process.argv[2])).traceEvents);
const events = model.events.filter(e => e.ph === 'X');
console.log(JSON.stringify({ n: events.length, us: [model.start, model.end] }));
"""

# its model of a page wants a browser: the least that there must be of one comes with the rest
DEVTOOLS = """
const Model = require('devtools-timeline-model');
const events = JSON.parse(require('fs').readFileSync(process.argv[2])).traceEvents;
const of = { pid: 1, tid: 1, ts: Math.min(...events.filter(e => e.ph !== 'M').map(e => e.ts)) };
events.push({ ...of, ph: 'M', cat: '__metadata', name: 'process_name', args: { name: 'Browser' } },
            { ...of, ph: 'M', cat: '__metadata', name: 'thread_name', args: { name: 'CrBrowserMain' } },
            { ...of, ph: 'I', s: 't', cat: 'disabled-by-default-devtools.timeline', name: 'TracingStartedInPage',
              args: { data: { sessionId: '1', frames: [] } } });
const found = { threads: [], slices: 0, states: 0 };
for (const process of new Model(JSON.stringify(events)).tracingModel().sortedProcesses())
    for (const thread of process.sortedThreads()) {
        found.threads.push(thread.name());
        found.slices += thread.events().filter(e => e.phase === 'X').length;
        found.states += thread.asyncEvents().filter(e => e.endTime !== undefined && e.endTime !== null && e.phase === 'b').length;
    }
console.log(JSON.stringify(found));
"""


def node(case, place, script):
    path = place / f"{case.dir.name}.js"
    path.write_text(script)
    try:
        done = case.run(tool("node"), path, case.dir / "x.json")
    finally:
        path.unlink()
    equal(done.status, 0, f"the reader: {done}")
    return done


def check_readers(case):
    """Chrome's JSON as two readers understand it that are not ours, one of them that of DevTools."""
    place = readers()
    case.found(case.target("lost"), "n=3", count=3)
    line, other, whole, _ = made(case, status=1)
    model = json.loads(node(case, place, MODEL).out)
    threads = [s for s in other.slices if other.tracks[s.track][0] == "thread"]
    equal(model["n"], len(threads), "slices of threads")
    equal(round(model["us"][1]), round(max(s.ns for s in other.slices) / 1000), "when the last one ends")
    found = json.loads(node(case, place, DEVTOOLS).out.splitlines()[-1])
    equal(found["slices"], len(threads), "slices of threads")
    equal(found["states"], len(other.on("coroutine")) + len(other.of("coroutine")), "states, and the slices around them")
    need({v[1] for v in other.tracks.values() if v[0] == "thread"} <= set(found["threads"]), found)


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
