# SPDX-License-Identifier: MIT
"""Lost wakeups: what must be PROVEN, what must only be LIKELY, what must stay clean.

The program prints "ready" when its state is final. For a lost wakeup the
check then waits for the witness's evidence and kills the program with SIGKILL:
the verdict comes from what was seen while it lived.
"""
import json
import os
import signal
import socket

import packages
from check_engines import TARGETS, built, lost_fcontext
from harness import TOLD, Failed, child_of, equal, holds, need, proc_state, proven_by_witness, timed, tool, tried, until, witness

VERDICTS = {"proven", "likely", "suspect", "inconclusive"}


def ready(case, *words, **kw):
    process = case.ctp_start(*words, **kw)
    process.wait_for("ready")
    process.program = child_of(process.pid)
    return process


def killed(case, process, number=signal.SIGKILL):
    try:
        os.kill(process.program, number)
    except ProcessLookupError:
        raise Failed(f"the program has ended by itself: {process.done()}")
    done = process.done()
    equal(done.status, -number, "ctp-run's status")
    return done


def findings_of(case, rule="CTP001"):
    status, report = case.report()
    for f in report["findings"]:
        equal(len(f["coroutines"]), f["count"], "coroutines listed")
        need(f["verdict"] in VERDICTS, f["verdict"])
    return status, report


def describe(report):
    return "; ".join(f"{f['rule']} {f['verdict']} x{f['count']} closure {f['closure']} open {f['open']} "
                     + " ".join(f"{e['id']}={e['holds']}({e['text']})" for e in f["evidence"] if e["holds"] is not True)
                     for f in report["findings"]) or "no finding"


def neighbours(report):
    """Did something else happen to begin just where the stack ends? Its own address of that place counts as a
    pointer to the coroutine then, and where mappings lie is chance."""
    return any(f["verdict"] == "likely" and any(" leads to it" in way for way in f["open"]) for f in report["findings"])


def check_proven(case, words, closure=None, count=1, end=signal.SIGKILL, target=None):
    for _ in range(3):
        process = ready(case, *(target or [case.target("lost")]), *words)
        try:
            until(lambda: proven_by_witness(witness(case.dir / "ctp.data"), count), "P6 in the witness", 20)
        except Failed:
            pass  # the report below says what is missing
        killed(case, process, end)
        status, report = findings_of(case)
        if not neighbours(report):
            break
    what = describe(report)
    equal([(f["rule"], f["verdict"], f["count"]) for f in report["findings"]], [("CTP001", "proven", count)], what)
    equal(status, 1, "ctp-analyze's status")
    finding = report["findings"][0]
    need(finding["closure"] in ([closure] if closure else ["unreachable", "quiet"]), f"closure: {what}")
    check_anatomy(case, finding, words)


def check_control_line(case):
    """Whatever was proven by a search of memory is not, where the search is known to miss coroutines: the line may come later."""
    check_proven(case, [], "unreachable")
    with open(case.dir / "ctp.data/ctp/image0/witness.jsonl", "a") as file:
        file.write('{"v":1,"ns":1,"what":"control","coroutine":7,"text":"coroutine 7 is kept in another form"}\n')
    _, report = findings_of(case)
    equal([f["verdict"] for f in report["findings"]], ["likely"], describe(report))
    evidence = {e["id"]: (e["holds"], e["text"]) for e in report["findings"][0]["evidence"]}
    equal(evidence["P6a"], (None, "coroutine 7 is kept in another form"), "P6a")


def check_found(case, words, _closure=None, count=1, target=None):
    """PROVEN, or LIKELY: a signal's frame, where a coroutine was born on an alternate stack, keeps registers of
    its time, and may hold the address of one. How many is left open for the same reason."""
    process = ready(case, *target, *words)
    until(lambda: witness(case.dir / "ctp.data"), "a witness line")
    killed(case, process)
    status, report = findings_of(case)
    what = describe(report)
    need(all(f["rule"] == "CTP001" and f["verdict"] in ("proven", "likely") for f in report["findings"]), what)
    need(sum(f["count"] for f in report["findings"]) == count, what)
    equal(status, 1, "ctp-analyze's status")


def with_engine(case, engine):
    """lost.c, where the coroutines switch by other means."""
    return [lost_fcontext(case) if engine == "fcontext" else case.target("lost"), f"engine={engine}"]


def check_engine_healthy(case, engine):
    """Nobody closed anything: they wait on live descriptors."""
    process = ready(case, *with_engine(case, engine), "n=5", "how=none")
    settle(case, process)
    process.signal(signal.SIGTERM)
    process.done()
    expect_clean(case, 5)


def check_engine_resumed(case, engine):
    done = case.ctp(*with_engine(case, engine), "keep=heap", "way=timer", "after=300", "n=3")
    equal(done.status, 0, f"the program's end: {done}")
    expect_clean(case)


def option(words, key, default):
    return next((w.split("=", 1)[1] for w in words if w.startswith(key + "=")), default)


def functions(stack):
    return [f["symbol"] for f in stack or [] if f["symbol"]]


def check_anatomy(case, finding, words):
    """Who waits, who closed, where: as the target's source has it."""
    entry = functions(finding["waiter_stack"])
    need("waiter" in entry and "co_yield" in entry, f"waiter's stack: {entry}")
    closer = functions(finding["closer_stack"])
    need("end_one" in closer or "take_number" in closer or "end_all" in closer, f"closer's stack: {closer}")
    files = [f["file"] for f in finding["waiter_stack"] if f["file"]]
    need(any(f.endswith("co.c") for f in files), f"files: {files}")
    need(finding["fd"]["number"] >= 0 and finding["fd"]["generation"] >= 1, f"fd: {finding['fd']}")
    equal(finding["fd"]["kind"], option(words, "fd", "tcp"), "fd.kind")
    for c in finding["coroutines"]:
        need(c["suspended_ns"] > 0 and c["switches"] >= 1, f"coroutine {c}")
    ids = [e["id"] for e in finding["evidence"]]
    for must in ("P0", "P1", "P2", "P3", "P4", "P7"):
        need(any(i.startswith(must) for i in ids), f"evidence has no {must}: {ids}")
    need(finding["refuted_if"] and finding["fix"] and finding["timeline"], "refuted_if, fix, timeline")
    text = case.analyze("ctp.data", "--lost-wakeup").out
    first = next((x for x in text.splitlines() if x.startswith("CTP")), text[:400])
    need(first.startswith("CTP001 ") and "[PROVEN]" in first, first)
    for word in ("waiting", "closed by", "opened", "timeline", "evidence", "refuted if", "fix"):
        need(any(x.strip().startswith(word) for x in text.splitlines()), f"no line begins with {word!r}:\n{text}")
    need(text.rstrip().splitlines()[-1].startswith("1 findings, "), text.rstrip().splitlines()[-1])


def check_likely(case, words, opens=None, stdin=None, target=None):
    """P6 fails: the program's own code can still resume them."""
    process = ready(case, *(target or [case.target("lost")]), *words, stdin=stdin)
    until(lambda: witness(case.dir / "ctp.data"), "a witness line")
    process.signal(signal.SIGTERM)  # to ctp-run: last snapshot, then the program
    process.done()
    _, report = findings_of(case)
    what = describe(report)
    need(report["findings"], "no finding at all")
    verdicts = [f["verdict"] for f in report["findings"] if f["rule"] == "CTP001"]
    equal(verdicts, ["likely"], what)
    need(report["findings"][0]["open"], f"names no way that is left: {what}")
    if opens:
        need(any(opens in way for way in report["findings"][0]["open"]), f"{opens} is not named: {what}")


def check_never_proven(case, words, target="lost"):
    process = ready(case, case.target(target), *words)
    settle(case, process)
    process.signal(signal.SIGTERM)
    process.done()
    _, report = findings_of(case)
    need(all(f["verdict"] != "proven" for f in report["findings"]), describe(report))


def turns(case, pid):
    """Something that grows while ctp-run harvests: its voluntary switches."""
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("voluntary_ctxt_switches"):
            return int(line.split()[1])
    return 0


def settle(case, process):
    """Lets the engine go round a few dozen times, counted, not timed."""
    begun = turns(case, process.pid)
    until(lambda: turns(case, process.pid) > begun + 40 or process.popen.poll() is not None, "turns of ctp-run")


def check_clean(case, name, healthy=None):
    process = ready(case, case.target("clean"), name)
    settle(case, process)
    process.signal(signal.SIGTERM)
    process.done()
    expect_clean(case, healthy)


def check_two_sources(case):
    """It waits for either of two descriptors and one of them is closed: the other is the way left."""
    process = ready(case, case.target("clean"), "two_sources")
    settle(case, process)
    process.signal(signal.SIGTERM)
    process.done()
    _, report = findings_of(case)
    for f in report["findings"]:
        equal((f["rule"], f["verdict"]), ("CTP001", "suspect"), describe(report))


def check_pooled_fibers(case, *optimise):
    packages.want("g++", "libboost-context1.74-dev")
    program = built(case, "t-pooled", tool("g++"), *optimise, "-std=c++17", "-w", TARGETS / "pooled.cpp", "-lboost_context")
    process = ready(case, program)
    settle(case, process)
    process.signal(signal.SIGTERM)
    process.done()
    expect_clean(case)


def expect_clean(case, healthy=None):
    status, report = findings_of(case)
    equal(report["findings"], [], describe(report))
    equal(report["trace"]["lost"], 0, "lost")
    equal(status, 0, "ctp-analyze's status")
    if healthy is not None:
        equal(report["trace"]["healthy_waiters"], healthy, "healthy_waiters")
    return report


def check_ends(case, name):
    done = case.ctp(case.target("clean"), name)
    equal(done.status, 0, f"status ({done})")
    expect_clean(case)


def check_ends_not_proven(case, name):
    done = case.ctp(case.target("clean"), name)
    equal(done.status, 0, "status")
    _, report = findings_of(case)
    need(all(f["verdict"] not in ("proven", "likely") for f in report["findings"]), describe(report))


def check_drain(case):
    process = ready(case, case.target("clean"), "drain")
    settle(case, process)
    process.signal(signal.SIGTERM)
    equal(process.done().status, 0, "the program's own status")
    _, report = findings_of(case)
    need(all(f["verdict"] not in ("proven", "likely") for f in report["findings"]), describe(report))


def check_stopped(case):
    process = ready(case, case.target("clean"), "keepalive")
    os.kill(process.program, signal.SIGSTOP)
    until(lambda: proc_state(process.program) == "T", "state T")
    settle(case, process)
    os.kill(process.program, signal.SIGCONT)
    until(lambda: proc_state(process.program) == "S", "state S")
    process.signal(signal.SIGTERM)
    process.done()
    expect_clean(case, 27)


def check_queued_then_killed(case):
    process = ready(case, case.target("clean"), "queued")
    settle(case, process)
    killed(case, process)
    _, report = findings_of(case)
    equal(report["findings"], [], describe(report))


def check_deleted(case):
    """Unregistered under a waiter: CTP002's business, never CTP001's."""
    process = ready(case, case.target("clean"), "deleted")
    settle(case, process)
    process.signal(signal.SIGTERM)
    process.done()
    _, report = findings_of(case)
    need(all(f["rule"] == "CTP002" for f in report["findings"]), describe(report))


# ---- they were likely, then they were resumed: clean

def resumed(case, words, act):
    process = ready(case, case.target("lost"), *words)
    until(lambda: witness(case.dir / "ctp.data"), "a witness line")
    act(process)
    done = process.done()
    equal(done.status, 0, f"the program's end: {done}")
    need("done" in done.out, done.out)
    expect_clean(case)


def port(process):
    return int(process.wait_for("port ").split()[1])


def by_connecting(process):
    with socket.create_connection(("127.0.0.1", port(process))) as s:
        s.settimeout(20)
        try:
            s.sendall(b"x")
            s.recv(1)
        except OSError:
            pass


def by_signal(process):
    os.kill(process.program, signal.SIGUSR1)


def check_resumed_by_timer(case):
    done = case.ctp(case.target("lost"), "keep=heap", "way=timer", "after=300", "n=3")
    equal(done.status, 0, f"the program's end: {done}")
    expect_clean(case)


def check_resumed_by_tick(case):
    done = case.ctp(case.target("lost"), "keep=table", "way=tick", "after=300", "n=3")
    equal(done.status, 0, f"the program's end: {done}")
    expect_clean(case)


# ---- other ends: Ctrl-C, --timeout, SIGTERM, the whole group

@tried
def check_timeout(case):
    done = timed(lambda option: case.ctp(option, case.target("lost"), "n=5"), 3)
    equal(done.status, 124, f"status: {done}")
    _, report = findings_of(case)
    equal([(f["verdict"], f["count"]) for f in report["findings"]], [("proven", 5)], describe(report))


@tried
def check_sigterm(case):
    process = ready(case, case.target("lost"), "n=5")
    until(lambda: witness(case.dir / "ctp.data"), "a witness line")
    process.signal(signal.SIGTERM)
    equal(process.done().status, -signal.SIGTERM, "status")
    _, report = findings_of(case)
    equal([(f["verdict"], f["count"]) for f in report["findings"]], [("proven", 5)], describe(report))


@tried
def check_ctrl_c(case):
    """SIGINT to the whole group, as the terminal sends it."""
    process = ready(case, case.target("lost"), "n=5")
    until(lambda: proven_by_witness(witness(case.dir / "ctp.data"), 5), "P6 in the witness")
    os.killpg(process.pid, signal.SIGINT)
    equal(process.done().status, -signal.SIGINT, "status")
    _, report = findings_of(case)
    equal([(f["verdict"], f["count"]) for f in report["findings"]], [("proven", 5)], describe(report))


@tried
def check_lib_alone(case):
    process = case.start(case.target("lost"), "n=3", env={"LD_PRELOAD": str(case.lib)})
    process.program = process.pid
    process.wait_for("ready")
    until(lambda: proven_by_witness(witness(case.dir / "ctp.data"), 3), "P6 in the witness")
    killed(case, process)
    _, report = findings_of(case)
    equal([(f["verdict"], f["count"]) for f in report["findings"]], [("proven", 3)], describe(report))


@tried
def check_fingerprint(case):
    """The same bug, twice, from two runs: the same fingerprint."""
    prints = []
    for words in (["n=2"], ["n=7"]):
        process = ready(case, case.target("lost"), *words)
        until(lambda: proven_by_witness(witness(case.dir / "ctp.data"), int(words[0][2:])), "P6")
        killed(case, process)
        _, report = findings_of(case)
        equal(len(report["findings"]), 1, describe(report))
        prints.append(report["findings"][0]["fingerprint"])
    equal(prints[0], prints[1], "fingerprints")
    need(len(prints[0]) == 16 and int(prints[0], 16) >= 0, prints[0])


PROVEN = {
    "close": [[]],
    "dup2": [["how=dup2"]],
    "dup3": [["how=dup3"]],
    "fclose": [["how=fclose"]],
    "close_range": [["how=close_range"]],
    "closefrom": [["how=closefrom"]],
    "number_reused": [["how=reuse"]],
    "number_reused_eventfd": [["how=reuse", "fd=eventfd"]],
    "by_native": [["by=native"]],
    "by_thread": [["by=thread"]],
    "by_sleeping_thread": [["by=sleeper"]],
    "unix": [["fd=unix"]],
    "pipe": [["fd=pipe"]],
    "udp": [["fd=udp"]],
    "eventfd": [["fd=eventfd"]],
    "write": [["for=write"]],
    "scheduler_registers": [["reg=sched"]],
    "registered_early": [["reg=early", "n=3"], None, 3],
    "many": [["n=60"], None, 60],
    "heap_stack": [["stack=heap", "n=3"], None, 3],
    "one_mapping": [["stack=one", "n=3"], None, 3],
    "mn_close": [["loop=mn", "n=8"], None, 8],
    "mn_dup2": [["loop=mn", "n=8", "how=dup2"], None, 8],
    "mn_by_native": [["loop=mn", "n=8", "by=native"], None, 8],
    "mn_by_thread": [["loop=mn", "n=8", "by=thread"], None, 8],
    "mn_scheduler_registers": [["loop=mn", "n=8", "reg=sched"], None, 8],
    "mn_main_works": [["loop=mn", "n=8", "main=work"], None, 8],
    "quiet": [["fd=pipe", "outside=0"]],
    "quiet_kept": [["fd=pipe", "outside=0", "keep=table"], "quiet"],
    "quiet_kept_eventfd": [["fd=eventfd", "outside=0", "keep=table"], "quiet"],
    "quiet_mn": [["fd=pipe", "outside=0", "loop=mn", "main=cond", "n=4"], None, 4],
    "quiet_mn_main_works": [["fd=pipe", "outside=0", "loop=mn", "main=work", "n=4"], None, 4],
}

ENGINES = ["sjlj", "sigalt", "fcontext"]  # and ucontext, the usual one

LIKELY = {
    "table": [["keep=table"]],
    "tagged": [["keep=tagged"]],
    "thread_local": [["keep=tls"]],
    "heap": [["keep=heap"]],
    "heap_chain": [["keep=chain"]],
    "heap_one_based": [["keep=before"]],
    "static_pool": [["keep=pool"]],
    "deadline_tick": [["keep=table", "way=tick"]],
    "deadline_tick_quiet": [["keep=table", "way=tick", "fd=pipe", "outside=0"]],
    "deadline_timer": [["keep=heap", "way=timer", "fd=pipe", "outside=0"]],
    "control": [["keep=table", "way=control"]],
    "thread_sleeps": [["keep=table", "by=napper", "fd=pipe", "outside=0"], "sleeps in clock_nanosleep"],
    "signal": [["keep=table", "way=signal", "fd=pipe", "outside=0"]],
    "next_accept": [["keep=table", "way=accept"]],
}

CLEAN = ["keepalive", "accepting", "pool", "main_parked", "created", "poll", "select", "finished", "dup_open",
         "self_close", "reaper", "by_hand", "cancelled_map", "cancelled_heap", "numbers", "takeback", "failed_close",
         "vfork", "fork", "child_holds", "in_flight", "thread_reads", "moved", "queued"]
HEALTHY = {"keepalive": 27, "accepting": 1, "failed_close": 3, "vfork": 5, "fork": 5}


def check_saved_context(case):
    """The loop's own context, in static storage, still holds registers of the
    moment it resumed one: dead words, but words. Found, PROVEN or LIKELY."""
    process = ready(case, case.target("lost"), "keep=slot")
    until(lambda: witness(case.dir / "ctp.data"), "a witness line")
    killed(case, process)
    _, report = findings_of(case)
    equal([f["rule"] for f in report["findings"]], ["CTP001"], describe(report))
    need(report["findings"][0]["verdict"] in ("proven", "likely"), describe(report))


def check_register(case):
    """The last pointer is held by a thread that blocks in read."""
    r, w = os.pipe()
    try:
        check_likely(case, ["keep=register"], stdin=r)
    finally:
        os.close(w)
        os.close(r)


# ---- what ctp-run says while the program runs

def told(case, want, *words):
    """The program stays until ctp-run has said so many lines; those, and its last ones."""
    process = ready(case, *words)
    until(lambda: len(TOLD.findall(process.err())) >= want, "ctp-run's line")
    process.signal(signal.SIGTERM)
    done = process.done()
    return process, TOLD.findall(done.err), done.err.splitlines()[-2]


def check_told_once(case):
    """One line for 47 coroutines in one place, with file and line, and a finding in the closing line."""
    process, lines, last = told(case, 1, case.target("lost"), "n=47")
    _, report = findings_of(case)
    [finding] = report["findings"]
    place = next(f for f in finding["waiter_stack"] if f["file"])
    equal(lines, [("CTP001", lines[0][1], "47", lines[0][3], str(process.program))], "lines")
    need((lines[0][1], finding["verdict"]) != ("proven", "likely"), f"as it stood: {lines}, and at the end: {finding}")
    equal(os.path.basename(lines[0][3]), f"{os.path.basename(place['file'])}:{place['line']}", "the place")
    need(" coroutines, 0 lost; 1 finding so far; trace in ctp.data" in last, f"the closing line: {last}")


def check_told_likely(case):
    """What the program could still resume is likely."""
    _, lines, last = told(case, 1, case.target("lost"), "keep=table", "way=tick")
    _, report = findings_of(case)
    equal([(f["rule"], f["verdict"]) for f in report["findings"]], [line[:2] for line in lines], describe(report))
    equal([line[:3] for line in lines], [("CTP001", "likely", "1")], "lines")
    need("; 1 finding so far; trace in " in last, f"the closing line: {last}")


@tried
def check_told_quiet(case):
    """Not with -q; the witness has decided all the same."""
    process = ready(case, "-q", case.target("lost"), "n=5")
    until(lambda: proven_by_witness(witness(case.dir / "ctp.data"), 5), "the witness")
    settled(process)
    process.signal(signal.SIGTERM)
    equal(process.done().err, "", "stderr")


def check_told_by_ps(case):
    """ctp-ps says first what ctp-run has found out, in the same words; of a healthy program, that there is none."""
    process = ready(case, case.target("lost"), "n=47")
    until(lambda: TOLD.search(process.err()), "ctp-run's line")
    [(rule, verdict, count, place, pid)] = TOLD.findall(process.err())
    ps = case.run(case.build / "src/ps/ctp-ps", pid)
    said = f"{rule} {verdict} so far: {count} coroutines at {os.path.basename(place)}"
    need(ps.out.splitlines()[1].startswith(said), f"{said}: {ps.out}")
    listing = json.loads(case.run(case.build / "src/ps/ctp-ps", "--json", pid).out)
    marks = [c["finding"] for g in listing["groups"] for c in g["coroutines"] if "finding" in c]
    equal(marks, [{"rule": rule, "so_far": verdict}] * 47, "finding")
    process.signal(signal.SIGTERM)
    process.done()


def check_told_healthy(case):
    """None of a server whose clients wait, nor a count."""
    process = ready(case, case.target("lost"), "n=5", "how=none")
    settled(process)
    ps = case.run(case.build / "src/ps/ctp-ps", str(child_of(process.pid)))
    equal(ps.out.splitlines()[1], "no finding so far", ps.out)
    process.signal(signal.SIGTERM)
    done = process.done()
    equal((TOLD.findall(done.err), "finding" in done.err), ([], False), done.err)


def settled(process, turns=100):
    """ctp-run has gone round so often since: each turn is a sleep."""
    def gone_round():
        with open(f"/proc/{process.pid}/status") as f:
            return int(next(x for x in f if x.startswith("voluntary_ctxt")).split()[1])
    begun = gone_round()
    until(lambda: gone_round() >= begun + turns, "turns of ctp-run")


def checks():
    for name, args in PROVEN.items():
        yield f"proven/{name}", lambda case, args=args: check_proven(case, *args)
        for engine in ENGINES:
            if engine == "sigalt":
                if not any(w.startswith("n=") for w in args[0]):
                    yield f"found_{engine}/{name}", lambda case, e=engine, args=args: check_found(
                        case, *args, target=with_engine(case, e))
                continue
            yield f"proven_{engine}/{name}", lambda case, e=engine, args=args: check_proven(
                case, *args, target=with_engine(case, e))
        yield f"proven_wrapped/{name}", lambda case, args=args: check_proven(case, *args, target=[case.target("lost-wrap")])
    for name in ("close", "dup2", "by_thread", "write", "registered_early", "mn_close", "mn_by_native", "quiet_mn"):
        yield f"proven_behind/{name}", lambda case, args=PROVEN[name]: check_proven(
            case, *args, target=["-E", f"LD_PRELOAD={case.target('lost').parent / 'libwrap.so'}", case.target("lost")])
    for number in (signal.SIGINT, signal.SIGSEGV):
        yield f"proven/end_by_{number.name}", lambda case, n=number: check_proven(case, [], end=n)
    for name, args in LIKELY.items():
        yield f"likely/{name}", lambda case, args=args: check_likely(case, *args)
        for engine in ENGINES:
            yield f"likely_{engine}/{name}", lambda case, e=engine, args=args: check_likely(
                case, *args, target=with_engine(case, e))
    for engine in ["ucontext"] + ENGINES:
        yield f"clean_{engine}/waiting", lambda case, e=engine: check_engine_healthy(case, e)
        yield f"resumed_{engine}/timer", lambda case, e=engine: check_engine_resumed(case, e)
    yield "likely/register", check_register
    yield "likely/control_line", check_control_line
    yield "likely/saved_context", check_saved_context
    yield "never_proven/other_row", lambda case: check_never_proven(case, ["keep=row"])
    yield "never_proven/takeback_later", lambda case: check_never_proven(case, ["takeback_later"], "clean")
    for name in CLEAN:
        yield f"clean/{name}", lambda case, name=name: check_clean(case, name, HEALTHY.get(name))
    yield "suspect/two_sources", check_two_sources
    yield "clean/ending", lambda case: check_ends(case, "ending")
    yield "clean/closeall", lambda case: check_ends(case, "closeall")
    yield "clean/ending_closes", lambda case: check_ends_not_proven(case, "ending_closes")
    yield "clean/drain", check_drain
    for level in ("-O0", "-O2"):
        yield f"clean/pooled_fibers{level}", lambda case, level=level: check_pooled_fibers(case, level)
    yield "clean/stopped", check_stopped
    yield "clean/queued_killed", check_queued_then_killed
    yield "clean/deleted", check_deleted
    yield "resumed/accept", lambda case: resumed(case, ["keep=table", "way=accept", "how=dup2", "n=3"], by_connecting)
    yield "resumed/control", lambda case: resumed(case, ["keep=tls", "way=control", "how=dup2", "n=3"], by_connecting)
    yield "resumed/signal", lambda case: resumed(
        case, ["keep=heap", "way=signal", "fd=pipe", "outside=0", "n=3"], by_signal)
    yield "resumed/timer", check_resumed_by_timer
    yield "resumed/tick", check_resumed_by_tick
    yield "told/once", check_told_once
    yield "told/likely", check_told_likely
    yield "told/quiet", check_told_quiet
    yield "told/by_ps", check_told_by_ps
    yield "told/healthy", check_told_healthy
    yield "end/timeout", check_timeout
    yield "end/sigterm", check_sigterm
    yield "end/ctrl_c", check_ctrl_c
    yield "end/lib_alone", check_lib_alone
    yield "end/fingerprint", check_fingerprint


CHECKS = list(checks())
