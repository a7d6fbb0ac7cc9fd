#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden tests of ctp-analyze: run.py MAKE_TRACE CTP_ANALYZE [--update].

Builds each synthetic trace, compares text and JSON with expected/, and checks
exit statuses, the schema and the manual page. What differs between builds
(addresses, where the sources lie) is replaced before comparing.
"""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXPECTED = os.path.join(HERE, "expected")
SCENARIOS = {"lost": 1, "healthy": 0, "cut": 0, "unfinished": 3, "empty": 0, "several": 1, "ending": 3, "history": 0,
             "gap": 0}

make_trace, analyze = (os.path.abspath(p) for p in sys.argv[1:3])
update = "--update" in sys.argv
failures = []


def check(what, ok, detail=""):
    print(("ok   " if ok else "FAIL ") + what)
    if not ok:
        failures.append(what)
        print(detail)


def run(*args, data=None, cwd=ROOT):
    return subprocess.run([analyze, *args], input=data, capture_output=True, text=True, cwd=cwd, timeout=600)


def normalize(text, trace):
    text = text.replace(trace, "TRACE").replace(make_trace, "MAKE_TRACE").replace(ROOT + "/", "")
    text = re.sub(r'"(pc|offset)": "0x[0-9a-f]+"', r'"\1": "0x0"', text)
    text = re.sub(r'("(?:semanticV|v)ersion": ")[0-9.]+(")', r"\1VERSION\2", text) if '"$schema"' in text else text
    return re.sub(r"ctp-analyze [0-9.]+", "ctp-analyze VERSION", text)


def compare(name, got):
    path = os.path.join(EXPECTED, name)
    if update:
        with open(path, "w", encoding="utf-8") as f:
            f.write(got)
    want = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    check(name, got == want, "--- got:\n%s--- wanted:\n%s" % (got, want))


def short_lines(value, path=""):
    """A line for each part that is short."""
    text = json.dumps(value, sort_keys=True)
    if len(text) < 100 or not isinstance(value, (dict, list)) or (isinstance(value, list) and not any(isinstance(x, (dict, list)) for x in value)):
        return [f"{path}: {text}"]
    items = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
    return [line for key, part in items for line in short_lines(part, f"{path}.{key}")]


def goldens(tmp):
    try:
        import jsonschema
    except ImportError:
        jsonschema = None
        print("skip schema: python3-jsonschema is not here")
    with open(os.path.join(ROOT, "spec", "report.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    for name, status in SCENARIOS.items():
        trace = os.path.join(tmp, name)
        subprocess.run([make_trace, name, trace], check=True)
        text = run(trace)
        check(name + " status", text.returncode == status, "%d, wanted %d" % (text.returncode, status))
        compare(name + ".txt", normalize(text.stdout, trace))
        report = run("--format=json", trace)
        compare(name + ".json", normalize(report.stdout, trace))
        if name in ("lost", "healthy"):
            for extension, kind in (("sarif", "sarif"), ("md", "markdown")):
                compare(name + "." + extension, normalize(run("--format=" + kind, trace).stdout, trace))
            page = run("--format=html", trace).stdout
            block = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
            compare(name + ".html.txt", normalize("".join(line + "\n" for line in short_lines(block)), trace))
        if name in ("lost", "gap", "empty"):
            compare(name + ".chrome.json", normalize(run("--format=chrome", trace).stdout, trace))
            decoded = perfetto_text(trace) if name != "empty" else None
            if decoded is not None:
                compare(name + ".perfetto.txt", normalize(decoded, trace))
        if jsonschema:
            try:
                jsonschema.validate(json.loads(report.stdout), schema)
                check(name + " schema", True)
            except jsonschema.ValidationError as e:
                check(name + " schema", False, str(e))


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at


def fields(data):
    """A message in protocol buffers: (field, number or bytes), in order."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def perfetto_text(trace):
    """A trace of Perfetto's as protoc shows it; None where there is none."""
    if not shutil.which("protoc"):
        print("skip perfetto: protoc is not here")
        return None
    path = trace + ".perfetto"
    run("--format=perfetto", "-o", path, trace)
    folder = os.path.join(ROOT, "tests", "e2e")
    with open(path, "rb") as f:
        return subprocess.run(["protoc", "--decode=perfetto.protos.Trace", "-I" + folder, "perfetto.proto"], stdin=f,
                              capture_output=True, text=True, check=True, timeout=600).stdout


def pprof_text(data):
    """A profile of pprof as text: sample types, then values and stacks with file and line."""
    top = list(fields(gzip.decompress(data)))
    strings = [v.decode() for f, v in top if f == 6]
    functions = {dict(fields(v))[1]: dict(fields(v)) for f, v in top if f == 5}
    mappings = {dict(fields(v))[1]: dict(fields(v)) for f, v in top if f == 3}
    places = {}
    for f, v in top:
        if f != 4:
            continue
        place, lines = dict(fields(v)), [dict(fields(x)) for k, x in fields(v) if k == 4]
        module = os.path.basename(strings[mappings[place[2]][5]]) if place.get(2) else "-"
        if module != "-":
            m = mappings[place[2]]
            assert m[2] <= place[3] <= m[3], "an address outside its mapping"
        places[place[1]] = [(strings[functions[x[1]][2]], strings[functions[x[1]].get(4, 0)], x.get(2, 0), module) for x in lines]
    types = [dict(fields(v)) for f, v in top if f == 1]
    out = ["types " + " ".join("%s/%s" % (strings[x[1]], strings[x[2]]) for x in types)]
    one = dict(top)
    out.append("default " + strings[one[14]])
    out.append("duration %d" % one[10])
    for f, v in top:
        if f == 2:
            out.append("sample " + " ".join(str(x) for k, x in fields(v) if k == 2))
            out += ["    %s %s:%d %s" % line for k, i in fields(v) if k == 1 for line in places[i]]
    return "\n".join(out) + "\n"


WEIGHTS = ("suspended", "running", "latency", "count")


def profiles(tmp):
    trace = os.path.join(tmp, "history")
    for weight in WEIGHTS:
        compare("history.%s.folded" % weight, normalize(run("--format=folded", "--all-time", "--weight=" + weight, trace).stdout, trace))
    compare("history.folded", normalize(run("--format=folded", "--all-time", trace).stdout, trace))
    compare("history.speedscope.json", normalize(run("--format=speedscope", "--all-time", "--weight=latency", trace).stdout, trace))
    path = os.path.join(tmp, "x.pb.gz")
    done = run("--format=pprof", "--all-time", "--weight=running", "-o", path, trace)
    check("pprof", (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr)
    with open(path, "rb") as f:
        compare("history.pprof.txt", normalize(pprof_text(f.read()), trace))
    for kind in ("folded", "speedscope", "pprof"):
        piped = run("--format=" + kind, "-", data="")
        check(kind + " of a pipe", piped.returncode == 2 and "a pipe cannot give" in piped.stderr and not piped.stdout, piped.stderr)
    check("empty folded", run("--format=folded", os.path.join(tmp, "empty")).stdout == "")
    lines = os.path.join(tmp, "history.jsonl")
    run("--format=jsonl", "-o", lines, trace)
    told = run("--format=folded", "--weight=count", lines)
    check("folded of lines", told.returncode == 0 and sum(int(x.split()[-1]) for x in told.stdout.splitlines()) == 8 and
          all(x.startswith(("0x", "[unknown]")) for x in told.stdout.splitlines()), told.stdout)
    check("no such weight", run("--format=folded", "--weight=gold", trace).returncode == 2)


def options(tmp):
    lost = os.path.join(tmp, "lost")
    check("exit zero", run("--exit-zero", lost).returncode == 0)
    check("min verdict", run("--min-verdict=proven", lost).stdout.count("CTP001") == 1)
    check("other rule", run("--rule=CTP002", lost).returncode == 0)
    check("lost wakeup", run("--lost-wakeup", lost).returncode == 1)
    check("no such trace", run(os.path.join(tmp, "none")).returncode == 2)
    check("bad option", run("--nonsense").returncode == 2)
    check("bad rule", run("--rule=CTP999").returncode == 2)
    check("stdout is empty on errors", run("--nonsense").stdout == "")
    check("explain", "CTP001 lost wakeup" in run("--explain", "CTP001").stdout)
    check("list", "CTP001" in run("--list-rules").stdout)
    old = os.path.join(tmp, "old.json")
    check("to a file", run("--format=json", "-o", old, lost).stdout == "")
    known = run("--baseline=" + old, lost)
    check("baseline", known.returncode == 0 and "0 new, 2 known" in known.stdout, known.stdout)
    rules = os.path.join(tmp, "suppress")
    with open(rules, "w", encoding="utf-8") as f:
        f.write("# known\nCTP001 people_reaper\n")
    quiet = run("--suppress=" + rules, lost)
    check("suppressions all used", "unused" not in quiet.stdout, quiet.stdout)
    with open(rules, "a", encoding="utf-8") as f:
        f.write("CTP002 nobody_has_this\n")
    check("suppression unused", "'CTP002 nobody_has_this' matches nothing" in run("--suppress=" + rules, lost).stdout)
    check("suppress", quiet.returncode == 0 and "2 suppressed" in quiet.stdout, quiet.stdout)
    man = os.path.join(ROOT, "man", "ctp-analyze.1")
    check("manual page", run("--man").stdout == open(man, encoding="utf-8").read(), "run: ctp-analyze --man > " + man)


def cut(tmp):
    trace = os.path.join(tmp, "cut")
    check("cut is said", "cut off" in run(trace).stderr)
    check("repair", "shortened" in run("--repair", trace).stderr)
    check("repaired", run(trace).stderr == "")


def lines(tmp):
    def line(i, seq, active):
        return '{"probe_id":%d,"tid":5,"addr":"0x%016x","seq":%d,"is_active":%s,"ts":%d}\n' % (
            i, i, seq, str(active).lower(), seq)
    awake = line(1, 2, False) + line(2, 2, True) + line(2, 4, False) + line(1, 4, True)
    asleep = run("-", data=awake)
    check("lines: suspended", asleep.returncode == 3 and "2 coroutines, 0 lost" in asleep.stdout, asleep.stdout)
    check("lines: running", run("-", data=awake + line(2, 6, True)).returncode == 0)
    check("lines: none", run("-", data="").returncode == 0)
    torn = run("-", data=awake + line(2, 6, True) + '{"probe_id":3,"ti')
    check("lines: cut off", torn.returncode == 0 and "cut off" in torn.stderr, torn.stderr)
    bad = run("-", data=awake + "[1]\n" + awake)
    check("lines: bad", bad.returncode == 2 and "line 5" in bad.stderr and bad.stdout == "", bad.stderr)
    report = json.loads(run("--format=json", "-", data=awake).stdout)
    check("lines: json", report["trace"]["switches"] == 2 and report["findings"] == [] and
          any("CTP001" in s for s in report["trace"]["coverage"]))
    written = run("--format=jsonl", os.path.join(tmp, "healthy"))
    check("lines: written", written.returncode == 0 and len(written.stdout.splitlines()) == 12, written.stdout)
    path = os.path.join(tmp, "x.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.write(written.stdout)
    check("lines: read back", run(path).returncode in (0, 3))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        goldens(tmp)
        profiles(tmp)
        options(tmp)
        cut(tmp)
        lines(tmp)
    print("%d failed" % len(failures))
    return 1 if failures else 0


sys.exit(main())
