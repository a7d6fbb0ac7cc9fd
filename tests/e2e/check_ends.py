# SPDX-License-Identifier: MIT
"""All ends of a process, and what is known after each; core files."""
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess

from harness import Failed, Skip, child_of, closing, equal, gone, need, timed, tool, tried, until

# way -> (status, why there is a last look; None: there is none of that process's)
WAYS = {
    "exit": (3, "exit"), "_exit": (3, "exit"), "quick_exit": (3, "exit"), "return": (3, "exit"), "thread": (0, "exit"),
    "call": (3, "ended"),
    "fault": (-signal.SIGSEGV, "crash"), "null": (-signal.SIGSEGV, "crash"), "overflow": (-signal.SIGSEGV, "crash"),
    "abort": (-signal.SIGABRT, "crash"), f"signal={int(signal.SIGBUS)}": (-signal.SIGBUS, "crash"),
    f"signal={int(signal.SIGTERM)}": (-signal.SIGTERM, "ended"), f"signal={int(signal.SIGQUIT)}": (-signal.SIGQUIT, "ended"),
    f"signal={int(signal.SIGKILL)}": (-signal.SIGKILL, "ended"),
}


def manifest(case):
    import json
    return json.loads((case.dir / "ctp.data/ctp/trace.json").read_text())


def sleeping(case, *words):
    """The program under ctp-run, with its loop asleep and the closed descriptor's witness heard."""
    process = case.ctp_start("--overflow=block", *words, stdin=subprocess.PIPE)
    process.wait_for("ready")
    until(lambda: any(p.read_text().strip() for p in case.dir.glob("ctp.data/ctp/image*/witness.jsonl")), "the witness")
    return process


def end(process):
    process.popen.stdin.write(b"end\n")
    process.popen.stdin.flush()
    return process.done()


def lost_wakeup(report, least="likely"):
    order = ["inconclusive", "suspect", "likely", "proven"]
    found = [f for f in report["findings"] if f["rule"] == "CTP001"]
    equal([f["count"] for f in found], [1], "findings of CTP001")
    need(order.index(found[0]["verdict"]) >= order.index(least), f"only {found[0]['verdict']}: {found[0]['evidence']}")
    return {e["id"]: e["holds"] for e in found[0]["evidence"]}


def one_end(way):
    def check(case):
        want, reason = WAYS[way]
        done = end(sleeping(case, case.target("dying"), way))
        equal(done.status, want, f"status ({done})")
        about = manifest(case)
        need(about["complete"], "the trace is not complete")
        equal(about["snapshot"]["reason"], reason, "why there is a last look")
        equal(about["ended"]["how"], "signal" if want < 0 else "exit", "how it ended")
        equal(about["ended"]["code"], abs(want), "with what")
        status, report = case.report()
        equal(status, 1, "ctp-analyze's status")
        counts = report["trace"]["coroutines"]
        equal(counts["suspended"], 1, "suspended")
        equal(counts["running"], 1 if way in ("null", "overflow") else 0, "running")
        holds = lost_wakeup(report, "proven" if reason != "ended" else "likely")
        equal((holds["P3"], holds["P7"]), (True, True), "P3, P7")
        noted = reason == "crash"
        equal(len(report["crashes"]), noted, f"crashes {report['crashes']}")
        need(len(closing(done.err)) <= 3, f"more than three lines: {done.err}")
        equal(" crashed" in done.err, noted, f"whether it is said: {done.err}")
        crash_told(case, way, report, done) if noted else None
    return check


WHERE = {"fault": "end_now", "null": "ends_in_coroutine", "overflow": "deeper", "abort": "end_now"}


def crash_told(case, way, report, done):
    crash = report["crashes"][0]
    equal(crash["signal"], signal.Signals(-done.status).name, "signal")
    names = [f["symbol"] for f in crash["stack"]]
    own = WHERE.get(way, "end_now")
    need(own in names, f"{own} is not on the stack: {names}")
    line = next(f for f in crash["stack"] if f["symbol"] == own)
    need(line["file"].endswith("dying.c") and line["line"] > 0, f"no file and line: {line}")
    in_coroutine = way in ("null", "overflow")
    equal("coroutine" in done.err.split("trace in")[1], in_coroutine, f"who: {done.err}")
    text = case.analyze().out
    need(re.search(rf"^crash +{crash['signal']} .*{'in coroutine' if in_coroutine else 'native'}", text, re.M), text)
    first = next(line for line in text.splitlines() if line.startswith("crash "))
    equal(first.count(str(crash["tid"])), 1, f"the thread, told once: {first}")
    ran = rf"coroutine \d+ ran on thread {crash['tid']}" if in_coroutine else f"thread {crash['tid']} ran on its native stack"
    if way != "overflow":
        need(re.search(ran, " ".join(text.split())), f"who ran, as a fact: {text}")
    equal([f["verdict"] for f in report["findings"] if f["rule"] == "CTP021"], ["proven"] if way == "overflow" else [],
          "CTP021")
    if way == "overflow":
        need(re.search(r"deeper \(\d+ times\)", text), f"the recursion is not folded: {text}")


def crash_at_once(way):
    """Who dies by a signal waits for a few milliseconds: ctp-run does not sleep to see whether all rests."""
    def check(case):
        done = case.start(case.target("kill-at"), "10@sleeps", case.run_tool, "-q", "--overflow=block", case.target("dying"), way,
                          stdin=filled(case)).done()
        if done.status == 2:
            raise Skip("nothing can be traced here")
        equal(done.out.splitlines()[-1], f"ended {128 - WAYS[way][0]}", "how it ended, and whether it has slept for ten milliseconds before")
        equal(manifest(case)["snapshot"]["reason"], "crash", "why there is a last look")
    return check


def filled(case):
    """A pipe with the line after which `dying` ends."""
    end, fill = os.pipe()
    os.write(fill, b"end\n")
    os.close(fill)
    return end


def check_timeout(case):
    words = ("--overflow=block", case.target("dying"), "exit")
    done = timed(lambda option: case.ctp_start(option, *words, stdin=subprocess.PIPE).done(), 1.5)
    equal(done.status, 124, "status")
    equal(manifest(case)["snapshot"]["reason"], "timeout", "why there is a last look")
    lost_wakeup(case.report()[1])


def check_term(case):
    """SIGTERM to ctp-run: the look comes first."""
    process = sleeping(case, case.target("dying"), "exit")
    process.signal(signal.SIGTERM)
    equal(process.done().status, -signal.SIGTERM, "status")
    equal(manifest(case)["snapshot"]["reason"], "term", "why there is a last look")
    lost_wakeup(case.report()[1])


def check_exec(case):
    """Another program in its place: what waited is gone with the first."""
    done = end(sleeping(case, case.target("dying"), "exec"))
    equal(done.status, 0, f"status ({done})")
    images = manifest(case)["images"]
    need(len(images) == 2 and all(i["guest"] for i in images), f"images {images}")
    _, report = case.report()
    equal(report["trace"]["coroutines"]["suspended"], 0, "suspended")
    equal(report["trace"]["coroutines"]["destroyed"], 1, "destroyed")


def check_engine_killed(case):
    """ctp-run itself: the program goes on to its own end; what was written is there, and no more is claimed."""
    process = sleeping(case, case.target("dying"), "null")
    program = child_of(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.popen.wait()
    process.popen.stdin.write(b"end\n")
    process.popen.stdin.flush()
    until(lambda: gone(program), "the program's end")
    status, report = case.report()
    equal(status, 3 if report["trace"]["switches"] else 0, "ctp-analyze's status")
    equal(report["findings"], [], "findings")
    need(any("not finished" in line for line in report["trace"]["coverage"]), f"{report['trace']['coverage']}")


def check_manners(case):
    """What a program learns about its signals, its alternate stacks and its children's deaths is as without us."""
    bare = case.run(case.target("dying"), "asks")
    equal(bare.status, 0, f"{bare}")
    for options in ([], ["-f"]):
        done = case.ctp("-q", *options, case.target("dying"), "asks")
        equal((done.status, done.err), (0, bare.err), f"{done}")
        for mine, theirs in zip(done.out.splitlines(), bare.out.splitlines()):
            equal(mine, theirs, "a line")
        equal(len(done.out.splitlines()), len(bare.out.splitlines()), "lines")


# -------------------------------------------------------------------- cores

def cores_allowed():
    """The limit for programs that shall leave one, or the reason to skip."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern:
        raise Skip(f"cores go elsewhere here: {pattern}")
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard != resource.RLIM_INFINITY:
        raise Skip("core files are limited here")
    return lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def make_core(case, way, traced=True):
    """A core of the program that ends this way; (its path, what ctp-run's trace says)."""
    allow = cores_allowed()
    place = case.dir / f"core-{way}-{traced}"
    place.mkdir()
    words = [case.run_tool, "--overflow=block", "-o", place / "trace"] if traced else []
    process = case.start(*words, case.target("dying"), way, stdin=subprocess.PIPE, cwd=place, preexec_fn=allow)
    process.wait_for("ready")
    if traced:
        until(lambda: any(p.read_text().strip() for p in place.glob("trace/ctp/image*/witness.jsonl")), "the witness")
    done = end(process)
    cores = list(place.glob("core*"))
    need(len(cores) == 1, f"cores {cores} ({done})")
    return cores[0]


def used(path):
    return path.stat().st_blocks * 512


def check_core(case):
    """The kernel's: the tables are in it, and little else of ours."""
    for way in ("null", "overflow", "abort"):
        core = make_core(case, way)
        status, report = case.report(core)
        equal(status, 1, f"ctp-analyze's status, {way}")
        lost_wakeup(report, "suspect")
        equal([f["verdict"] for f in report["findings"] if f["rule"] == "CTP001" and f["verdict"] == "proven"], [], "PROVEN")
        live = case.report(core.parent / "trace")[1]
        counts = report["trace"]["coroutines"]
        equal({k: v for k, v in counts.items()}, live["trace"]["coroutines"], f"coroutines, {way}")
        equal([c["stack"] for c in report["crashes"]], [c["stack"] for c in live["crashes"]], f"crash, {way}")
        groups = [(g["state"], g["count"]) for g in report["groups"]]
        equal(groups, ([("running", 1)] if way != "abort" else []) + [("suspended", 1)], f"groups, {way}")
        equal([f["verdict"] for f in report["findings"] if f["rule"] == "CTP021"],
              ["proven"] if way == "overflow" else [], f"CTP021, {way}")
        need("conn_reader" in case.analyze(core).out, "who waits")
    bare = make_core(case, "null", traced=False)
    more = used(core) - used(bare)
    need(more < 16 << 20, f"the core takes {more >> 20} MiB more than without us")


def debugger(case, core):
    """What the debugger makes of it: signal, address and the frames that are the program's."""
    shown = case.run(tool("gdb"), "-nx", "-q", "-batch", "-ex", "info inferiors", "-ex", "p $_siginfo.si_signo",
                     "-ex", "p $_siginfo.si_code", "-ex", "p $_siginfo._sifields._sigfault.si_addr", "-ex", "bt 3",
                     case.target("dying"), core).out
    keep = [x for x in shown.splitlines() if re.match(r"\$\d|#\d|Program terminated", x)]
    return [re.sub(r"0x[0-9a-f]+", "0x", x) for x in keep]


def check_core_as_bare(case):
    """The same signal, at the same place, in the same frames, as the core that it leaves without us."""
    for way in ("null", "fault", "abort"):
        equal(debugger(case, make_core(case, way)), debugger(case, make_core(case, way, traced=False)), f"core, {way}")


def check_core_gcore(case):
    """One that is taken of a process that lives on."""
    process = sleeping(case, case.target("dying"), "exit")
    program = child_of(process.pid)
    made = case.run(tool("gcore"), "-o", case.dir / "taken", program)
    core = case.dir / f"taken.{program}"
    if not core.exists():
        raise Skip(f"gcore makes none: {made.err.strip().splitlines()[-1:]}")
    equal(end(process).status, 3, "status")
    _, report = case.report(core)
    equal(report["trace"]["coroutines"]["suspended"], 1, "suspended")
    equal(report["crashes"], [], "crashes")
    lost_wakeup(report, "suspect")
    need(used(core) < 64 << 20, f"{used(core) >> 20} MiB")


def refused(case, path, *words):
    done = case.analyze(path)
    equal((done.status, done.out), (2, ""), f"{path.name}: {done}")
    equal(len(done.err.splitlines()), 1, f"lines: {done.err}")
    for word in words:
        need(word in done.err, f"does not say {word!r}: {done.err}")


def region_at(data):
    """Where in a core the region's header lies."""
    at = data.find(struct.pack("<Q", 0x434F524F54524352))
    while at >= 0 and data[at + 0x40:at + 0x48] != struct.pack("<Q", 0x0031545845505443):
        at = data.find(struct.pack("<Q", 0x434F524F54524352), at + 8)
    need(at >= 0, "no region in the core")
    return at


def check_core_refused(case):
    """What is no core of a traced program says so in a line, whatever is in it."""
    good = make_core(case, "null").read_bytes()
    other = case.dir / "other"
    refused(case, make_core(case, "null", traced=False), "not traced")
    refused(case, case.target("dying"), "no core")
    at = region_at(good)
    for data, words in ((good[:at + 100], ["cut off"]), (good[:4096], ["cut off"]), (good[:40], []),
                        (good[:4] + b"\x01" + good[5:], []), (good[:18] + b"\x08\x00" + good[20:], ["CPU"])):
        other.write_bytes(data)
        refused(case, other, *words)
    hurt = 0
    for offset in range(0x40, 0x340, 8):  # each word of the descriptor, as large as can be
        data = bytearray(good)
        data[at + offset:at + offset + 8] = b"\xff" * 8
        other.write_bytes(data)
        done = case.analyze(other)
        need(done.status in (0, 1, 2, 3), f"word {offset:#x}: {done}")
        hurt += done.status == 2
    need(hurt > 10, f"only {hurt} damaged headers were refused")


# way -> status, the snapshot's reason where other threads are left by then
EXITS = {
    "return": (3, "exit"), "exit": (3, "exit"), "_exit": (3, "exit"), "quick_exit": (3, "exit"), "err": (3, "ended"),
    "signal": (3, "ended"), "coroutine": (3, "exit"), "thread": (3, "exit"), "nested": (3, "exit"),
    "nested_exit_call": (3, "exit"), "last_thread": (0, "exit"),
}


def exit_silent(way):
    """Beside running exit handlers the library makes no system call."""
    def check(case):
        watch = case.target("exits-watch")
        if not watch.exists():
            raise Skip("the watcher knows x86_64 only")
        done = case.run(watch, case.lib, case.target("exits"), way)
        equal(done.status, EXITS[way][0], f"status ({done})")
        equal(done.out.splitlines()[-1], f"handlers {int(way != '_exit')}, calls 0", f"after the first handler: {done.out}")
    return check


def exit_tables(way, alone):
    """The inspection comes before the handlers; what they resume, close and make is in the tables."""
    def check(case):
        status, reason = EXITS[way]
        done = case.ctp("--overflow=block", case.target("exits"), way, *(["alone"] if alone else []))
        equal(done.status, status, f"status ({done})")
        about = manifest(case)
        need(about["complete"], "the trace is not complete")
        busy = way == "signal"  # above a hook or not, as it comes
        need(busy or about["snapshot"]["reason"] == ("exit" if alone else reason), f"the snapshot: {about['snapshot']}")
        _, report = case.report()
        handled = way != "_exit"
        counts = report["trace"]["coroutines"]
        need(busy or counts["finished"] == int(handled), f"what a handler resumed has ended: {counts}")
        need(busy or counts["total"] >= (3000 if handled else 4), f"what a handler made is there: {counts}")
        found = [(f["rule"], f["verdict"]) for f in report["findings"] if f["verdict"] != "inconclusive"]
        if handled and not busy:
            equal(found, [], "a handler resumed whom the closed descriptor had stranded; what exit closes is no finding")
    return check


CHECKS = [(f"end_{way}", tried(one_end(way))) for way in WAYS] + [
    (f"exit_silent_{way}", exit_silent(way)) for way in EXITS] + [
    (f"exit_tables_{way}{'_alone' if alone else ''}", exit_tables(way, alone)) for way in EXITS for alone in (False, True)] + [
    *((f"crash_at_once_{way}", crash_at_once(way)) for way in ("abort", "fault", "null", "overflow")),
    ("end_timeout", check_timeout),
    ("end_term", check_term),
    ("end_exec", check_exec),
    ("end_engine_killed", check_engine_killed),
    ("manners", check_manners),
    ("core", check_core),
    ("core_as_bare", check_core_as_bare),
    ("core_gcore", check_core_gcore),
    ("core_refused", check_core_refused),
]
