# SPDX-License-Identifier: MIT
"""--flight: what is kept, when it is written, and that all else is as without it."""
import json
import re
import shutil
import signal
import subprocess

from check_records import numbered
from harness import child_of, equal, need, tool, tried, until

CHUNK = 1024  # slots


def program(case, *words, threads=2, switches=400000):
    return case.ctp_start(*words, case.target("records"), threads, switches, stdin=subprocess.PIPE)


def line(process):
    process.popen.stdin.write(b"\n")
    process.popen.stdin.flush()


def streams(case, trace):
    return sum(path.stat().st_size for path in (case.dir / trace).glob("t[0-9]*"))


def manifest(case, trace):
    return json.loads((case.dir / trace / "ctp/trace.json").read_text())


def is_whole(case, trace, size):
    """A complete trace of at most so many bytes, whose numbers agree with each other. Its report."""
    status, report = case.report(trace)
    equal(status, 0, f"status of {trace}")
    told = report["trace"]
    equal(told["lost"], 0, "lost")
    need(not any("contradict" in text or "missing" in text for text in told["coverage"]), f"{told['coverage']}")
    need(streams(case, trace) <= size * 1.02 + 4096, f"{streams(case, trace)} bytes are kept")
    kept = case.switches(trace)
    equal(kept, manifest(case, trace)["flight"]["kept"], "switches that were kept")
    lines, missing = numbered(case.analyze(trace, "--format=jsonl").out)
    equal(lines, 2 * kept, "lines")
    return told, kept, lines + missing


def check_end(case):
    """At the end the newest history is there, and the tables tell of all switches. (Where the machine ran the two
    threads one after the other, the newest is all of one.)"""
    process = program(case, "--flight=1M")
    for word in ("ready", "done"):
        process.wait_for(word)
        line(process)
    done = process.done()
    equal(done.status, 0, "exit status")
    switches = int(re.search(r"switches (\d+)$", done.out, re.M)[1])
    told, kept, changes = is_whole(case, "ctp.data", 1 << 20)
    equal(told["switches"], switches, "by the tables")
    need(changes in (2 * switches, switches), f"lines, and what is missing before them: {changes} of {switches} switches")
    need(kept > 60 * CHUNK - 100, f"only {kept} switches were kept")
    need(any("--flight kept the newest" in text for text in told["coverage"]), f"{told['coverage']}")
    need(f"0 lost, {switches - kept} not kept" in done.err, done.err)


def check_small(case):
    """What fits is kept whole, and nothing is said of it."""
    process = program(case, "--flight", switches=1000)
    for word in ("ready", "done"):
        process.wait_for(word)
        line(process)
    equal(process.done().status, 0, "exit status")
    told, kept, _ = is_whole(case, "ctp.data", 1 << 20)
    equal(kept, told["switches"], "switches")
    need(not any("flight" in text for text in told["coverage"]), f"{told['coverage']}")


def check_request(case):
    """SIGUSR2 writes a trace beside, again and again, while the threads go on; the program does not get it."""
    process = program(case, "--flight=1M", switches=1 << 40)
    process.wait_for("ready")
    line(process)
    for n in (1, 2, 3):
        process.signal(signal.SIGUSR2)
        process.wait_for(f"ctp-run: SIGUSR2: the newest", "err") if n == 1 else None
        until(lambda: process.err().count("ctp-run: SIGUSR2: the newest") == n, "the snapshot")
    need(streams(case, "ctp.data") == 0, "something was written to the trace itself")
    process.signal(signal.SIGTERM)
    equal(process.done().status, -signal.SIGTERM, "exit status")
    before = 0
    for n in (1, 2, 3):
        told, _, _ = is_whole(case, f"ctp.data.{n}", 1 << 20)
        shot, run = manifest(case, f"ctp.data.{n}"), manifest(case, "ctp.data")
        equal((shot["snapshot"]["reason"], shot["part"], shot["uuid"]), ("request", n, run["uuid"]), "reason, part, uuid")
        need("part" not in run, "the trace itself is a part")
        need(told["switches"] > before, "the tables are older than those of the one before")
        before = told["switches"]
    told, _, _ = is_whole(case, "ctp.data", 1 << 20)
    need(told["switches"] >= before, "the last tables are older than a snapshot's")


def check_request_place(case):
    """An older trace of that name goes; what is none stays, and is told."""
    case.ctp("-q", "-o", "ctp.data.1", case.target("counts"), "migrate", "20")
    (case.dir / "ctp.data.2").write_text("mine")
    process = program(case, "--flight=1M", switches=1000)
    process.wait_for("ready")
    process.signal(signal.SIGUSR2)
    process.wait_for("ctp-run: SIGUSR2", "err")
    process.signal(signal.SIGUSR2)
    process.wait_for("ctp-run: ctp.data.2: exists and is no ctp trace", "err")
    line(process)
    process.wait_for("done")
    line(process)
    equal(process.done().status, 0, "exit status")
    is_whole(case, "ctp.data.1", 1 << 20)
    equal((case.dir / "ctp.data.2").read_text(), "mine", "another's file")


@tried
def check_finding(case):
    """A finding of which the witness is certain writes a trace at once, and that one holds it."""
    process = case.ctp_start("--flight=1M", case.target("lost"))
    process.wait_for("ctp-run: a finding: the newest", "err")
    status, report = case.report("ctp.data.1")
    equal(status, 1, "status")
    equal([f["rule"] for f in report["findings"]], ["CTP001"], "findings")
    equal(manifest(case, "ctp.data.1")["snapshot"]["reason"], "finding", "reason")
    process.signal(signal.SIGTERM)
    process.done()


def check_crash(case):
    """Killed by a signal, of its own or SIGKILL: the newest history is there."""
    for number in (signal.SIGSEGV, signal.SIGKILL):
        process = program(case, "--flight=1M", switches=1 << 40)
        process.wait_for("ready")
        line(process)
        pid = child_of(process.pid)
        until(lambda: int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11]) > 10, "a tenth of a second of work")
        subprocess.run(["kill", f"-{int(number)}", str(pid)], check=True)
        equal(process.done().status, -number, "exit status")
        told = case.report("ctp.data")[1]["trace"]
        need(not any("contradict" in text for text in told["coverage"]), f"{told['coverage']}")
        need(case.switches() > 60 * CHUNK - 100, "little was kept")
        shutil.rmtree(case.dir / "ctp.data")


def check_seconds(case):
    """Only what is younger than that is written."""
    process = program(case, "--flight=2s", "-o", "s", threads=1, switches=100000)
    process.wait_for("ready")
    line(process)
    process.wait_for("done")
    case.run("sleep", "2.5")
    line(process)
    equal(process.done().status, 0, "exit status")
    kept = is_whole(case, "s", 64 << 20)[1]
    equal(kept, 6, "switches of the last two seconds")


def check_quiet(case):
    """Nothing is written while it runs, though there is more than fits."""
    strace = tool("strace")
    process = case.start(strace, "-f", "-e", "trace=write,pwrite64,writev,pwritev,pwritev2,openat", "-o", "calls",
                         case.run_tool, "--flight=256K", case.target("records"), "2", "300000", stdin=subprocess.PIPE)
    process.wait_for("ready")
    until(lambda: re.search(r'"stackless\.jsonl".*\n', (case.dir / "calls").read_text()), "the last of its files")
    before = (case.dir / "calls").read_text().count("\n")
    line(process)
    process.wait_for("done")
    calls = [x for x in (case.dir / "calls").read_text().splitlines()[before:] if "exit" not in x]
    line(process)
    equal(process.done().status, 0, "exit status")
    wrote = [x for x in calls if re.search(r"O_CREAT|write", x) and '"done' not in x]
    equal(wrote, [], "what the engine wrote")


def check_threads(case):
    """Threads that come and go, and an image after exec: what each leaves is kept until it is old."""
    case.ctp("--flight=256K", "-o", "m", case.target("counts"), "migrate", "20000")
    is_whole(case, "m", 256 << 10)
    done = case.ctp("--flight=256K", "-f", "-o", "e", case.target("misc"), "execs", "2")
    equal(done.status, 7, "exit status")
    need(case.report("e")[0] in (0, 3), "the trace cannot be read")


def check_refused(case):
    for word in ("--flight=1", "--flight=1M,", "--flight=x"):
        equal(case.ctp(word, "/bin/true").status, 125, word)
    done = case.ctp("--flight", "-o", "x.jsonl", "/bin/true")
    equal(done.status, 125, "JSON lines")
    need("use -o DIR" in done.err, done.err)


CHECKS = [("end", check_end), ("small", check_small), ("request", check_request), ("request_place", check_request_place),
          ("finding", check_finding), ("crash", check_crash), ("seconds", check_seconds), ("quiet", check_quiet),
          ("threads", check_threads), ("refused", check_refused)]
