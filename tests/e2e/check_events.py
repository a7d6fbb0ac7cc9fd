# SPDX-License-Identifier: MIT
"""Events of the program's own (ctp/event.h; tests/targets/events.c): found in all modules, recorded, counted where they
are lost, chosen by --events, read by babeltrace2 with typed fields; and what they cost where nobody listens."""
import collections
import json
import os
import re
import shutil
import socket

from check_html import TEXT, page, report as report_page
from harness import ROOT, Skip, equal, need, tool
from timelines import chrome, perfetto

ALPHABET = "".join(chr(ord("a") + i % 26) for i in range(256))
NUMBERS = {"a": "-3", "b": "65535", "c": "1", "d": "-1", "e": "1.5", "f": "-2.25", "g": "-5000000000", "h": str(2**64 - 1),
           "i": "99", "j": "-30000", "k": "-1", "event": "4000000000"}


def shown(case, trace="ctp.data"):
    return [(name, fields) for name, fields in shown_all(case, trace) if not name.startswith("ctp:")]


def shown_all(case, trace):
    """(name, fields) of each event, as babeltrace2 prints them; fields are texts."""
    done = case.run(tool("babeltrace2"), trace)
    wrong = [x for x in done.err.splitlines() if "Tracer discarded" not in x and "Tracer may have discarded" not in x]
    equal((done.status, wrong), (0, []), "babeltrace2")
    events = []
    for line in done.out.splitlines():
        found = re.match(r"\[[^]]*\] \([^)]*\) (\w+):(\w+): \{[^}]*\}, \{ (.*) \}$", line)
        if found:
            fields = re.findall(r'(\w+) = ("(?:[^"\\]|\\.)*"|\[ .*? \]|[^,]+)', found[3])
            events.append((f"{found[1]}:{found[2]}", dict(fields)))
    return events


def counts(case, trace="ctp.data"):
    return collections.Counter(name for name, _ in shown(case, trace))


def check_kinds(case):
    done = case.ctp(case.target("events"), "kinds")
    need("4 events, 0 lost" in done.err, f"closing line: {done}")
    events = dict(shown(case))
    equal(list(events), ["kinds:numbers", "kinds:places", "http:request", "http:idle"], "events")
    numbers = events["kinds:numbers"]
    equal(numbers.pop("coroutine"), "0", "a thread that never switched")
    equal(numbers, NUMBERS, "numbers")
    places = events["kinds:places"]
    equal((places["at"], places["text"], places["data_bytes"], places["none"]), ("0x1234", f'"{ALPHABET}..."', "3", '""'), "places")
    equal(re.findall(r"= (\d+)", places["data"]), ["1", "2", "255"], "bytes")
    equal(events["http:request"], {"coroutine": "0", "path": '"/x"', "status": "200"}, "a request")
    told = {f"{e['provider']}:{e['name']}": e for e in case.report()[1]["program_events"]}
    equal({name: e["count"] for name, e in told.items()}, dict.fromkeys(events, 1), "the report")
    equal([f["type"] for f in told["http:request"]["fields"]], ["const char *", "int"], "types")
    equal(told["http:request"]["file"].rsplit("/", 1)[-1], "events.h", "where it is defined")
    need("1 http:request (events.h:" in case.analyze().out, "the text names them")


def check_coroutines(case):
    done = case.ctp("-o", "x", case.target("events"), "coroutines", 20)
    equal(done.status, 0, "status")
    events = shown(case, "x")
    begins = {e["n"]: e["coroutine"] for name, e in events if name == "job:begins"}
    ends = {e["n"]: e["coroutine"] for name, e in events if name == "job:ends"}
    equal(len(begins), 20, "begun")
    equal(begins, ends, "each ends in the coroutine in which it began")
    equal(len(set(begins.values())), 20, "coroutines")
    listed = case.run(tool("babeltrace2"), "x").out
    equal(len(re.findall("ctp:switch", listed)), case.switches("x"), "switches, beside events")
    case.analyze("x", "--format=perfetto", "-o", "x.pftrace")
    case.analyze("x", "--format=chrome", "-o", "x.json")
    want = sorted((n, "odd" if int(n) % 2 else "even", c) for n, c in ends.items())
    line = chrome(case.dir / "x.json")[0]
    equal(sorted((m.args["n"], m.args["how"], m.track[2]) for m in line.marks if m.name == "job:ends"), want, "chrome")
    line = perfetto(case.dir / "x.pftrace")
    marks = [m for m in line.marks if m.name == "job:ends"]
    need(all(line.tracks[m.track][0] == "coroutine" for m in marks), "on the coroutines' tracks")
    equal(sorted((str(m.args["n"]), m.args["how"], str(m.track >> 2)) for m in marks), want, "perfetto")


def check_profile(case):
    case.ctp("-o", "x", case.target("events"), "coroutines", 20)
    folded = case.analyze("x", "--format=folded", "--weight=event:job:ends").out.splitlines()
    equal([line.rsplit(" ", 1)[1] for line in folded], ["20"], f"by stack: {folded}")
    need("job;co_yield" in folded[0], f"where they were resumed: {folded}")
    shown_by = case.analyze("x", "--format=speedscope", "--weight=event:job:begins").out
    need('"job:begins"' in shown_by, "its name")
    refused = case.analyze("x", "--format=folded", "--weight=event:job:end")
    equal(refused.status, 2, "an event that is not there")
    need("it has job:begins, job:ends" in refused.err, f"what is there is named: {refused.err}")
    equal(case.analyze("x", "--format=folded", "--weight=event:job").status, 2, "no event")


PARTS = ("running_ns", "ready_ns", "waiting_ns", "blocked_ns", "unknown_ns")


def tasks(case, trace):
    """{type: object} of --tasks --format=json; all that can be added up is."""
    done = case.analyze(trace, "--format=json", "--tasks")
    equal(done.status, 0, f"--tasks: {done}")
    report = json.loads(done.out)
    equal((report["version"], report["unmatched"]), (1, 0), "version, unmatched")
    for y in report["tasks"]:
        for o in [y, *y["slowest"]]:
            equal(sum(o[part] for part in PARTS), o["ns"], f"parts of {o}")
            equal(sum(w["ns"] for w in o["waits"]), o["waiting_ns"], f"waits of {o}")
            equal(sum(w["ns"] for w in o["blocks"]), o["blocked_ns"], f"blocks of {o}")
    return {y["type"]: y for y in report["tasks"]}


def check_tasks(case):
    """32 connections whose requests wait for a backend; every fourth is handed on. What a task did sums up to how long it
    took, which is what the program measured itself."""
    done = case.ctp("-q", "--overflow=block", "-o", "x", case.target("events-tasks"))
    equal(done.status, 0, f"status: {done}")
    measured = {name: (int(n), int(ns)) for name, n, ns in (line.split() for line in done.out.splitlines())}
    told = tasks(case, "x")
    equal(set(told), set(measured), "types")
    for name, (n, ns) in measured.items():
        equal((told[name]["begun"], told[name]["ended"]), (n, n), f"{name}: tasks")
        # what lies between the program's clock and the event of each task is its own
        need(told[name]["ns"] <= ns * 1.01 + n * 1000, f"{name}: {told[name]['ns']} ns told, {ns} measured")
        slowest = [task["ns"] for task in told[name]["slowest"]]
        for percent, ns in told[name]["within_ns"].items():
            longer = sum(took > ns for took in slowest)
            if longer < len(slowest):  # else how many took longer is not known
                need((n - longer) * 100 >= int(percent) * n, f"{name}: {percent} % within {ns}: {longer} of {n} took longer")
        equal(told[name]["within_ns"]["100"], slowest[0], f"{name}: the slowest")
    need(told["request"]["waiting_ns"] > 0, f"nobody waited: {told}")
    report = case.analyze("x", "--tasks")
    equal(report.status, 0, f"--tasks: {report}")
    for name, (n, _) in measured.items():
        [part] = re.findall(rf"^task {name}: (\d+) begun, (\d+) ended; .*\n((?:    .*\n)+)", report.out, re.M)
        equal(part[:2], (str(n), str(n)), f"{name}: tasks")
        shares = re.findall(r"^    (\w+) .* ([\d.]+) %$", part[2], re.M)
        need([what for what, _ in shares][:4] == ["running", "ready", "waiting", "blocked"], f"{name}: {part}")
        need(abs(sum(float(share) for _, share in shares) - 100) < 0.5, f"{name}: shares of {shares}")
    need("ask_backend" in report.out or "co_read" in report.out or "events_tasks.c" in report.out, f"by place: {report.out}")
    need("took one of coroutine" in report.out, "the slowest")
    need("whose begin is not" not in report.out, f"unmatched: {report.out}")
    shown_by = collections.Counter(name for name, _ in shown_all(case, "x"))
    equal(shown_by["ctp:task_enter"], 32, "handed on")
    equal(shown_by["ctp:region_begin"], shown_by["ctp:region_end"], "regions")
    case.ctp("-q", "-o", "y", case.target("events"), "kinds")
    need("no tasks" in case.analyze("y", "--tasks").out, "a program without any")
    need("ctp:blocked" not in dict(shown_all(case, "y")), "and no time in calls is taken")
    refused = case.analyze("x", "--tasks", "--format=html")
    equal((refused.status, refused.out), (2, ""), "--tasks in another format")
    need("--tasks writes text or json" in refused.err, refused.err)


CONNECTIONS, KINDS_OF_REQUEST = 32, ("wait", "compute", "block")


def serve_http(case, *words):
    """t-events-http with 32 connections at once, each with a request of each kind, in turns: what it measured,
    {path: (outer, inner, blocked)}."""
    server = case.ctp_start("-q", "--overflow=block", *words, case.target("events-http"), CONNECTIONS)
    port = int(server.wait_for("port ").split()[1])
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    for turn in range(len(KINDS_OF_REQUEST)):
        for i, client in enumerate(clients):
            client.sendall(f"GET /{KINDS_OF_REQUEST[(turn + i) % 3]}/{i} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        for client in clients:
            answer = client.recv(1000)
            while not answer.endswith(b"ok\n"):
                more = client.recv(1000)
                need(more, f"the connection ended: {answer}")
                answer += more
    for client in clients:
        client.close()
    done = server.done()
    equal(done.status, 0, f"status: {done}")
    rows = (line.split() for line in done.out.splitlines()[1:])
    return {path: tuple(map(int, times)) for path, *times in rows}


def check_http(case):
    """An HTTP server with 32 connections: the time of each request is told in parts, which sum up to what the server
    measured; a call that blocks the thread is told from a wait, each with its place."""
    measured = serve_http(case, "-o", "x")
    equal(len(measured), CONNECTIONS * 3, "requests")
    told = tasks(case, "x")
    equal(set(told), set(measured), "a type each")
    blocked_right = 0
    for path, (outer, inner, blocked) in measured.items():
        y = told[path]
        whole = sum(y[part] for part in PARTS)
        need(inner * 0.99 - 1000 <= whole <= outer * 1.01 + 1000, f"{path}: {whole} ns told, {inner} to {outer} measured")
        equal(y["unknown_ns"], 0, f"{path}: not known")
        if path.startswith("/block"):
            there = sum(b["ns"] for b in y["blocks"] if b["function"] == "ask_and_block")
            need(there <= blocked * 1.01 + 1000, f"{path}: {there} ns blocked, {blocked} measured")
            # where its thread lost the CPU before the call, and the answer was there, it did not block
            blocked_right += there >= blocked * 0.99 - 50_000
    need(blocked_right >= CONNECTIONS / 2, f"{blocked_right} of {CONNECTIONS} have the time for which they were blocked")
    waits = [w for path, y in told.items() if path.startswith("/wait") for w in y["waits"]]
    need(any(w["function"] == "ask_and_wait" and w["ns"] >= 1_000_000 for w in waits), f"waits: {waits}")
    text = case.analyze("x", "--tasks").out
    need(re.search(r"^ +[\d.]+ \w+ +[\d.]+ %  ask_and_block \S*events_http\.c:\d+$", text, re.M), text[:3000])
    calls = collections.Counter(e["in"] for name, e in shown_all(case, "x") if name == "ctp:blocked")
    need(calls['"io"'] >= CONNECTIONS / 2, f"calls: {calls}")
    serve_http(case, "-o", "y", "--events=*,!ctp:blocked")
    equal(sum(y["blocked_ns"] for path, y in tasks(case, "y").items() if path.startswith("/block")), 0, "where it was left out")


def check_html(case):
    case.ctp("-q", "-o", "ctp.data", case.target("events"), "parked", 20)
    html, _ = report_page(case)
    there = "document.querySelectorAll('%s').length > 0"
    told, detail = page(case, html, ["key", "3"], ["wait", there % "#part-timeline canvas"], ["eval", TEXT % "#part-timeline > div > p"],
                        ["key", "2"], ["wait", there % ".space .row"], ["click", ".space .row"], ["wait", there % ".events li"],
                        ["eval", TEXT % ".events"])
    need("is an event of the program's own: 20 of them" in told, told)
    need("job:begins n = " in detail, detail)


# Debian's packages with USDT probes, by a file of each.
PACKAGES = {
    "libstdc++6": "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "python3.11-minimal": "/usr/bin/python3.11",
    "libruby3.1": "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1", "postgresql-15": "/usr/lib/postgresql/15/bin/postgres",
    "php8.2-cli": "/usr/bin/php8.2", "gcc-12": "/usr/bin/x86_64-linux-gnu-gcc-12", "g++-12": "/usr/bin/x86_64-linux-gnu-g++-12",
    "cpp-12": "/usr/bin/x86_64-linux-gnu-cpp-12", "binutils": "/usr/bin/x86_64-linux-gnu-ld.gold",
    "gfortran-12": "/usr/bin/x86_64-linux-gnu-gfortran-12", "gnat-12": "/usr/bin/x86_64-linux-gnu-gnatls-12",
    "gdc-12": "/usr/bin/x86_64-linux-gnu-gdc-12", "openjdk-17-jre-headless": "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
    "gcc-11": "/usr/bin/x86_64-linux-gnu-gcc-11", "g++-11": "/usr/bin/x86_64-linux-gnu-g++-11",
    "libpython3.11": "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
}


def listed(case, what):
    """{module: {PROVIDER:NAME: (fields, where)}} as --list-events prints it."""
    done = case.run(case.build / "src/engine/ctp-run", "--list-events", what)
    equal((done.status, done.err), (0, ""), f"--list-events {what}")
    modules, module = {}, None
    for line in done.out.splitlines():
        found = re.match(r"  (\w+:\w+)\((.*?)\) {2,}(.*)$", line)
        if found:
            module.setdefault(found[1], []).append((found[2], found[3]))
        elif not line.startswith("no events"):
            module = modules.setdefault(line, {})
    return modules


def check_list(case):
    [(path, own)] = listed(case, case.target("events")).items()
    equal(path, str(case.target("events")), "the module")
    equal(own["http:request"][0][0], "const char *path, int status", "fields")
    need(re.search(r"targets/events\.h:\d+$", own["http:request"][0][1]), f"where: {own['http:request']}")
    equal(sorted(f for f, _ in own["two:same"]), ["const char *a, int b", "int a"], "two of a name")
    equal(own["kinds:places"][0][0], "void *at, char *text, ctp_bytes data, const char *none", "kinds")
    need("module:called" in list(listed(case, case.build / "tests/targets/t-events-module.so").values())[0], "a library")
    sleeper = case.start("sleep", "1000")
    try:
        equal(listed(case, sleeper.pid), {}, "a process without any")
    finally:
        sleeper.end()
    for bad, why in (("/nonexistent", "No such file"), ("99999999", "no such process"), (__file__, "no program or library"),
                     (case.dir, "regular file"), ("", "needs a program")):
        done = case.run(case.build / "src/engine/ctp-run", f"--list-events={bad}")
        equal((done.status, done.out, done.err.count("\n")), (125, "", 1), f"{bad}: {done}")
        need(why in done.err, f"{bad}: {done.err}")


def check_packages(case):
    """The USDT probes of Debian's packages: those that readelf shows, by provider and name, and how many of each."""
    seen = []
    for package, path in PACKAGES.items():
        if not os.path.exists(path):
            continue
        notes = case.run(tool("readelf"), "-nW", path).out
        want = collections.Counter(f"{p}:{n}" for p, n in re.findall(r"Provider: (\S+)\n\s*Name: (\S+)", notes))
        got = listed(case, path)
        mine = {name: int(re.match(r"USDT, (\d+) place", rows[0][1])[1]) for name, rows in got[path].items()}
        equal(mine, dict(want), f"{package}: {path}")
        seen.append(package)
    if len(seen) < 10:
        raise Skip(f"only {len(seen)} of these packages are installed: {', '.join(seen)}")


def check_usdt(case):
    """Other tools see the same events: readelf the notes with their arguments; gdb stops at one."""
    notes = case.run(tool("readelf"), "-nW", case.target("events")).out
    found = re.search(r"Provider: http\n\s*Name: request\n\s*Location: \S+, Base: \S+, Semaphore: (\S+)\n\s*Arguments: (.*)", notes)
    need(found and int(found[1], 16), f"the note: {notes[-2000:]}")
    sizes = re.findall(r"(?:^|\s)(-?\d+f?)@", found[2])
    equal(sizes, ["8", "-4"], f"arguments: {found[2]}")
    done = case.run(tool("gdb"), "-batch", "-iex", "set debuginfod enabled off", "-ex", "break -probe-stap http:request", "-ex", "run",
                    "-ex", "printf \"got %s %d\\n\", $_probe_arg0, $_probe_arg1", "--args", case.target("events"), "kinds")
    if "ptrace: Operation not permitted" in done.err or "Cannot" in done.err and "got" not in done.out:
        raise Skip(f"gdb cannot run a program here: {done.err[-200:]}")
    need("got /x 200" in done.out, f"gdb: {done}")


def check_perf(case):
    """perf records our event as a USDT probe of a program that ctp does not watch: it raises the semaphore."""
    def perf(*words):
        return case.run(tool("perf"), *words, env={**os.environ, "HOME": str(case.dir)})

    target = case.target("events")
    need(perf("buildid-cache", "--add", target).status == 0, "perf does not read the file")
    need("sdt_http:request" in perf("list", "sdt").out, "perf does not list it")
    if "sdt_http:request" in perf("probe", "-l").out:
        raise Skip("another's probe of that name is there")
    made = perf("probe", "-q", "-x", target, "sdt_http:request")
    if made.status:
        raise Skip(f"the kernel forbids perf to set probes: {made.err.strip()[-150:]}")
    try:
        record = perf("record", "-q", "-o", "perf.out", "-e", "sdt_http:request", target, "kinds")
        if record.status:
            raise Skip(f"the kernel forbids perf to record: {record.err.strip()[-150:]}")
        said = perf("script", "-i", "perf.out").out
    finally:
        perf("probe", "-q", "-d", "sdt_http:request")
    equal(re.findall(r"sdt_http:request: .* arg2=(\d+)", said), ["200"], f"what perf recorded: {said}")


BPFTRACE = """#include <ctp/event.h>
CTP_EVENT(demo, step, (int, n), (const char *, what));
int main(void)
{
	const char *volatile texts[2] = {"even", "odd"};
	for (int i = 0; i < 3; i++)
		ctp_event(demo, step, texts[i % 2][0] ? i : -1, texts[i % 2]);
	return 0;
}
"""


def check_bpftrace(case):
    """docs/events.md: bpftrace sees our event as a USDT probe, and raises its semaphore."""
    (case.dir / "hello.c").write_text(BPFTRACE)
    built = case.run("cc", f"-I{ROOT}/include", "hello.c", "-o", "hello")
    equal((built.status, built.err), (0, ""), "compiled")
    told = case.run(tool("bpftrace"), "-e", 'usdt:./hello:demo:step { printf("n=%d what=%s\\n", arg0, str(arg1)); }', "-c", "./hello")
    if "n=" not in told.out:
        raise Skip(f"bpftrace sets no probes here: {told.err.strip()[-150:]}")
    equal(re.findall("n=.*", told.out), ["n=0 what=even", "n=1 what=odd", "n=2 what=even"], f"what bpftrace saw: {told}")


def check_perf_beside(case):
    """perf records the USDT probes of Debian's python while ctp-run watches it."""
    def perf(*words):
        return case.run(tool("perf"), *words, env={**os.environ, "HOME": str(case.dir)})

    python, probe = PACKAGES["python3.11-minimal"], "sdt_python:gc__start"
    if not os.path.exists(python):
        raise Skip(f"there is no {python}")
    need(perf("buildid-cache", "--add", python).status == 0, "perf does not read the file")
    if probe in perf("probe", "-l").out:
        raise Skip("another's probe of that name is there")
    made = perf("probe", "-q", "-x", python, probe)
    if made.status:
        raise Skip(f"the kernel forbids perf to set probes: {made.err.strip()[-150:]}")
    program = "import gc\ngc.disable()\nfor i in (2, 0, 1, 1, 2, 0, 0): gc.collect(i)\n"
    try:
        record = perf("record", "-q", "-k", "CLOCK_MONOTONIC", "-o", "perf.out", "-e", probe, case.run_tool, "-q", "-o", "x", python, "-c", program)
        if record.status:
            raise Skip(f"the kernel forbids perf to record: {record.err.strip()[-150:]}")
        said = perf("script", "--ns", "-F", "+tod", "-i", "perf.out").out
    finally:
        perf("probe", "-q", "-d", probe)
    need("2011200" in "".join(re.findall(r"sdt_python:gc__start: .* arg1=(\d)", said)), f"what perf recorded: {said}")
    equal(case.analyze("x").status, 0, "what ctp recorded")


def check_many(case):
    """Nothing is lost where threads wait for room; else every event stands in the trace or is counted as lost."""
    n, threads = 200_000, 3
    for words in (("--overflow=block",), ("--ring-size=64K",)):
        done = case.ctp("-o", "x", *words, case.target("events"), "many", n, threads)
        there = counts(case, "x")["many:pair"]
        lost = int(re.search(r"(\d+) lost", done.err)[1])
        equal(there + lost, n * threads, f"{words}: events, and lost")
        need(there > 1000, f"{there} events")
        if words[0] == "--overflow=block":
            equal(lost, 0, "lost")
            seen = collections.defaultdict(list)
            for _, e in shown(case, "x"):
                seen[e["thread"]].append(int(e["n"]))
            for thread, row in seen.items():
                equal(row, list(range(n)), f"thread {thread}, in its order")


def check_off(case):
    done = case.ctp("--events=!many:*", case.target("events"), "off", 1000)
    need("evaluated 0" in done.out, f"arguments are evaluated: {done}")
    equal(shown(case), [], "events")
    need("evaluated 0" in case.run(case.target("events"), "off", 1000).out, "untraced")
    need("evaluated 1000" in case.ctp(case.target("events"), "off", 1000).out, "recorded")


VARIANTS = [(compiler, std, words)
            for compiler, std in (("gcc", "c11"), ("gcc", "gnu17"), ("clang", "c11"), ("g++", "c++11"), ("g++", "c++20"),
                                  ("clang++", "c++11"), ("clang++", "c++20"))
            for words in (("-O0",), ("-O1", "-fPIE"), ("-O2", "-flto"), ("-O3",))]


def check_variants(case):
    """Every compiler, language and level: no warning, the same events."""
    tried = 0
    for compiler, std, words in VARIANTS:
        if not shutil.which(compiler) or ("-flto" in words and "clang" in compiler and not shutil.which("ld.lld")):
            continue
        source = case.dir / ("variant.cc" if "++" in compiler else "variant.c")
        shutil.copy(ROOT / "tests/e2e/data/events_variants.c", source)
        built = case.run(compiler, f"-std={std}", *words, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
                         f"-I{ROOT}/include", f"-I{ROOT}/tests/targets", source, "-o", "variant")
        equal((built.status, built.err), (0, ""), f"{compiler} {std} {words}")
        done = case.ctp("-o", "x", "./variant")
        equal(done.status, 0, f"{compiler} {std} {words}: status")
        events = shown(case, "x")
        want = {"kinds:numbers": 1, "kinds:places": 1, "http:request": 3, "http:idle": 1}
        if "++" in compiler:
            want["cxx:level"] = 2
        equal(collections.Counter(name for name, _ in events), want, f"{compiler} {std} {words}: events")
        numbers = dict(events)["kinds:numbers"]
        equal({k: v for k, v in numbers.items() if k != "coroutine"}, NUMBERS, f"{compiler} {std} {words}: numbers")
        tried += 1
    need(tried >= 4, f"{tried} variants")


def check_module(case):
    """Each time it is loaded, and before its own constructors run."""
    module = case.build / "tests/targets/t-events-module.so"
    done = case.ctp(case.target("events"), "module", module)
    equal(done.status, 0, f"status: {done}")
    equal(counts(case), {"module:early": 3, "module:called": 3, "two:same": 3, "http:idle": 3}, "events")
    equal([e["times"] for name, e in shown(case) if name == "module:called"], ["0", "1", "2"], "calls")


def check_two_of_a_name(case):
    case.ctp(case.target("events"), "two")
    equal([e for name, e in shown(case) if name == "two:same"],
          [{"coroutine": "0", "a": "1"}, {"coroutine": "0", "a": '"other"', "b": "2"}], "two events of a name")


def check_handler(case):
    done = case.ctp(case.target("events"), "handler", 2000)
    lost = int(re.search(r"(\d+) lost", done.err)[1])
    equal(counts(case)["many:pair"] + lost, 4000, "events, and lost")


def check_fork(case):
    case.ctp("-o", "one", case.target("events"), "fork")
    equal([e["path"] for _, e in shown(case, "one")], ['"parent"'], "the child is not traced")
    case.ctp("-f", "-o", "all", case.target("events"), "fork")
    equal(sorted(e["path"] for _, e in shown(case, "all")), ['"child"', '"parent"'], "both")


def check_flight(case):
    case.ctp("--flight", "-o", "x", case.target("events"), "coroutines", 10)
    equal(counts(case, "x"), {"job:begins": 10, "job:ends": 10}, "with --flight")
    case.ctp("--compress", "-o", "y", case.target("events"), "coroutines", 10)
    case.analyze("y", "--expand=z")
    equal(counts(case, "z"), {"job:begins": 10, "job:ends": 10}, "with --compress, expanded")
    equal({e["name"]: e["count"] for e in case.report("y")[1]["program_events"]}, {"begins": 10, "ends": 10}, "read packed")


def check_chosen(case):
    def run(chosen):
        done = case.ctp("-o", "x", f"--events={chosen}", case.target("events"), "kinds")
        return sorted(counts(case, "x")), done.err

    equal(run("http:*")[0], ["http:idle", "http:request"], "http:*")
    equal(run("http")[0], ["http:idle", "http:request"], "a provider")
    equal(run("*:*,!http:id?e")[0], ["http:request", "kinds:numbers", "kinds:places"], "all but one")
    (case.dir / "list").write_text("# those of the server\nhttp:*\n!http:idle  # too many\n")
    equal(run("@list")[0], ["http:request"], "a file")
    got, err = run("kinds:pl*,nothing:*,job:begins")
    equal(got, ["kinds:places"], "of three items")
    need("no event of the program matches nothing:*" in err, f"an item that matches nothing is named: {err}")
    for bad in ("", "!", "a b-c", "x:y:z", "@missing"):
        done = case.ctp(f"--events={bad}", case.target("events"), "kinds")
        equal((done.status, done.err.count("\n")), (125, 1), f"--events={bad!r}: {done}")


PROBES = """first -3 go 0.25 3
second -3 go 0.25 3
typed -3 go 0.25 3
second 4 on 0.50 4
typed 4 on 0.50 4
group 0
request /x 200
itself 0
forked 7
missing 1
mismatch 1
module 2, 0
steps 3, typed 2, requests 1, dones 1
"""


def check_probes(case):
    """Probes (ctp/probe.h) of every compiler and language; the events are recorded as well, or not; without ctp, ENOSYS."""
    module = case.build / "tests/targets/t-events-module.so"
    done = case.ctp(case.target("events-probes"), module)
    equal((done.status, sorted(done.out.splitlines())), (0, sorted(PROBES.splitlines())), f"{done}")
    equal(counts(case)["job:step"], 3, "recorded as well")
    done = case.ctp("-o", "y", "--events=!job:*", case.target("events-probes"), module)
    equal(sorted(done.out.splitlines()), sorted(PROBES.splitlines()), "of events that are not recorded")
    equal(counts(case, "y")["job:step"], 0, "not recorded")
    equal(sorted(case.ctp("-f", "-o", "z", case.target("events-probes"), module).out.splitlines()), sorted(PROBES.splitlines()), "-f")
    equal(case.run(case.target("events-probes"), module).out, "no probe: ENOSYS, -3, 0\n", "without ctp")
    for compiler, std, words in VARIANTS[::4] + VARIANTS[2::4]:
        if not shutil.which(compiler) or ("-flto" in words and "clang" in compiler and not shutil.which("ld.lld")):
            continue
        source = case.dir / ("probes.cc" if "++" in compiler else "probes.c")
        shutil.copy(ROOT / "tests/targets/events_probes.c", source)
        built = case.run(compiler, f"-std={std}", "-D_GNU_SOURCE", *words, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
                         f"-I{ROOT}/include", f"-I{ROOT}/tests/targets", source, "-o", "probes", "-ldl")
        equal((built.status, built.err), (0, ""), f"{compiler} {std} {words}")
        done = case.ctp("-o", "x", "./probes", module)
        equal(sorted(done.out.splitlines()), sorted(PROBES.splitlines()), f"{compiler} {std} {words}")


CHECKS = [("probes", check_probes), ("kinds", check_kinds), ("coroutines", check_coroutines), ("many", check_many), ("off", check_off),
          ("variants", check_variants), ("module", check_module),
          ("two_of_a_name", check_two_of_a_name), ("handler", check_handler), ("fork", check_fork),
          ("flight", check_flight), ("chosen", check_chosen), ("profile", check_profile), ("html", check_html), ("tasks", check_tasks),
          ("http", check_http),
          ("list", check_list), ("packages", check_packages), ("usdt", check_usdt), ("perf", check_perf), ("bpftrace", check_bpftrace), ("perf_beside", check_perf_beside)]
