# SPDX-License-Identifier: MIT
"""ctp-ps: what it lists of programs whose coroutines are known one by one
(tests/targets/ps.c), beside programs that switch, are stopped, end, or mean harm."""
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys

from check_ends import make_core, region_at
from harness import ROOT, Failed, Skip, child_of, equal, need, proc_state, tool, until

NOBODY = 65534
EPOLLIN = 1
_validator = None


def validate(listing):
    """Against the schema in spec/ps.md; without python3-jsonschema not at all."""
    global _validator
    if _validator is None:
        try:
            import jsonschema
        except ImportError:
            return
        text = (ROOT / "spec/ps.md").read_text()
        rules = json.loads(re.search(r"```json\n(.*?)```", text, re.S)[1])
        jsonschema.Draft202012Validator.check_schema(rules)
        _validator = jsonschema.Draft202012Validator(rules)
    error = next(_validator.iter_errors(listing), None)
    if error:
        raise Failed(f"breaks the schema at {list(error.absolute_path)}: {error.message[:500]}")


def ps(case, *words, **kw):
    return case.run(case.build / "src/ps/ctp-ps", *words, **kw)


def listed(case, *words, **kw):
    """The JSON of a run that must succeed."""
    done = ps(case, "--json", *words, **kw)
    equal((done.status, done.err), (0, ""), f"ctp-ps {words}")
    listing = json.loads(done.out)
    validate(listing)
    return listing


def refused(case, status, *words, **kw):
    """The one line with which it refuses."""
    done = ps(case, *words, **kw)
    equal((done.status, done.out), (status, ""), f"ctp-ps {words}: {done.err}")
    equal(done.err.count("\n"), 1, f"lines: {done.err}")
    need(done.err.startswith("ctp-ps: ") and ";" in done.err, f"what, why and the way out: {done.err}")
    return done.err


def start(case, *words, options=()):
    """(the ctp-run process, the program's pid), once the program says ready."""
    process = case.ctp_start("-q", *options, case.target("ps"), *words)
    process.wait_for("ready")
    return process, child_of(process.pid)


def names(stack):
    return [f["symbol"] for f in stack]


def group(listing, entry, state="suspended"):
    found = [g for g in listing["groups"] if g["entry"]["symbol"] == entry and g["state"] == state]
    equal(len(found), 1, f"groups of {entry}")
    return found[0]


READER = ["park", "wait_for", "read_request", "reader_main"]
PIPE = ["park", "wait_for", "pipe_main"]
SLEEPER = ["park", "descend", "descend", "descend", "descend", "descend", "sleeper_main"]


def need_mix(listing):
    """What `ps mix` is, however it was looked at."""
    equal(listing["counts"], {"created": 4, "suspended": 5, "running": 1, "finished": 2, "destroyed": 0, "ready": 0,
                              "pooled": 0}, "counts")
    equal([(g["count"], g["state"]) for g in listing["groups"]][-2:], [(4, "created"), (1, "running")], "the last groups")
    waits = [g["suspended_ns"] for g in listing["groups"][:3]]
    equal(waits, sorted(waits, reverse=True), "longest first")
    for entry, count, stack in (("reader_main", 3, READER), ("pipe_main", 1, PIPE), ("sleeper_main", 1, SLEEPER)):
        g = group(listing, entry)
        equal((g["count"], len(g["coroutines"])), (count, count), entry)
        equal(names(g["stack"]), stack, entry)
        equal(g["stack_guessed"], False, entry)
        need(all(c["switches"] == 2 and c["suspended_ns"] > 0 for c in g["coroutines"]), f"{g}")
    equal(group(listing, "fresh_main", "created")["count"], 4, "created")
    busy = group(listing, "busy_main", "running")
    equal((busy["stack"], busy["suspended_ns"]), (None, None), "what runs has no stack")
    running = {t["tid"]: t["running"] for t in listing["threads"]}
    equal(running, {listing["pid"]: None, busy["coroutines"][0]["thread"]: busy["coroutines"][0]["id"]}, "threads")
    need(all(g["created_at"]["symbol"] == "made" for g in listing["groups"]), "created_at")


def check_groups(case):
    process, program = start(case, "mix")
    listing = listed(case, program)
    equal((listing["pid"], listing["ctp_run"]), (program, process.pid), "pid, ctp_run")
    need_mix(listing)
    done = ps(case, program)
    need(f"pid {program}" in done.out and f"ctp-run {process.pid}" in done.out, done.out)
    need(re.search(r"^ 3 coroutines reader_main \[fds .* EPOLLIN \(1 closed\), [\d.]+ m?s.*\]  created at ps.c:\d+  tcp$",
                   done.out, re.M), done.out)
    need(re.search(r"^ coroutine \d+ pipe_main \[fd \d+#2 EPOLLIN, [\d.]+ m?s\]  created at ps.c:\d+", done.out, re.M), done.out)
    need(re.search(r"^ coroutine \d+ sleeper_main \[suspended, ", done.out, re.M), done.out)
    need(re.search(r"^ 4 coroutines fresh_main \[created, ", done.out, re.M), done.out)
    need(re.search(r"^ coroutine \d+ busy_main \[running on thread \d+ ", done.out, re.M), done.out)
    need("ended: 2 finished, 0 destroyed" in done.out.splitlines()[-1], done.out)
    lines = done.out.splitlines()
    at = next(i for i, line in enumerate(lines) if "coroutines reader_main" in line)
    equal([line.split()[0] for line in lines[at + 1:at + 5]], READER, "the frames below it")
    need(re.fullmatch(r" +wait_for +ps\.c:\d+", lines[at + 2]), lines[at + 2])


def check_all(case):
    _, program = start(case, "mix")
    for words in (["--all"], ["--all", "--stack"]):
        listing = listed(case, *words, program)
        equal(len(listing["coroutines"]), 10, "coroutines")
        readers = [c for c in listing["coroutines"] if c["entry"]["symbol"] == "reader_main"]
        equal([names(c["stack"]) for c in readers], [READER] * 3, "stacks")
    text = ps(case, "--all", program).out
    need(re.search(r"coroutine \d+ reader_main .*in park < wait_for < read_request", text), text)
    text = ps(case, "--all", "--stack", program).out
    equal(len(re.findall(r"^ coroutine \d+ reader_main \[fd ", text, re.M)), 3, "headers")
    equal(len(re.findall(r"^ +#3 +reader_main ", text, re.M)), 3, "outermost frames")


def check_waits(case):
    _, program = start(case, "mix")
    listing = listed(case, program)
    waits = [c["waits"] for c in group(listing, "reader_main")["coroutines"]]
    need(all(len(w) == 1 and w[0]["events"] == EPOLLIN for w in waits), f"{waits}")
    closed = [w[0] for w in waits if not w[0]["open"]]
    equal(len(closed), 1, "closed ones")
    equal((closed[0]["kind"], closed[0]["name"]), (None, None), "a closed one is nothing now")
    for wait in (w[0] for w in waits if w[0]["open"]):
        equal((wait["kind"], wait["generation"]), ("tcp", 1), "kind")
        need(re.fullmatch(r"127\.0\.0\.1:\d+ (<-|->) 127\.0\.0\.1:\d+", wait["name"]), wait["name"])
    pipe = group(listing, "pipe_main")["coroutines"][0]["waits"][0]
    equal((pipe["kind"], pipe["open"], pipe["fd"], pipe["generation"]), ("pipe", True, closed[0]["fd"], 2),
          "the pipe took the number that was closed")
    equal(pipe["name"], os.readlink(f"/proc/{program}/fd/{pipe['fd']}"), "its name")
    need(re.search(r"reader_main \[fds \d+#1, \d+#1, \d+#1 EPOLLIN \(1 closed\)", ps(case, program).out), "text")
    need(re.search(r"pipe_main .*  pipe:\[\d+\]$", ps(case, program).out, re.M), "its name in the text")


def check_ready(case):
    """Taken from the set, and not resumed yet."""
    process, program = start(case, "ready")
    listing = listed(case, program)
    equal([(g["count"], g["state"], g["ready"]) for g in listing["groups"]], [(2, "suspended", True), (1, "running", False)],
          "groups")
    equal((listing["counts"]["suspended"], listing["counts"]["ready"]), (2, 2), "counts")
    need(all(c["ready"] and not c["pooled"] for c in listing["groups"][0]["coroutines"]), f"{listing}")
    until(lambda: proc_state(program) == "S", "the pause")
    text = ps(case, program).out
    need(re.search(r"^ 2 coroutines served_main \[ready, fds \d+#1, \d+#1 EPOLLIN, ", text, re.M), text)
    need(re.search(r"^ coroutine 1 served_main \[running on thread \d+ in pause, ", text, re.M), text)
    need("2 suspended (2 ready, 0 pooled)" in text, text)


def check_pool(case):
    """Workers between two jobs, and in one."""
    _, program = start(case, "pool")
    listing = listed(case, program)
    equal([(g["count"], g["state"], g["pooled"]) for g in listing["groups"]],
          [(1, "suspended", False), (1, "suspended", False), (3, "suspended", True), (1, "created", False)], "groups")
    equal(listing["counts"]["pooled"], 3, "counts")
    equal({names(g["stack"])[-2] for g in listing["groups"][:2]}, {"job_parks", "job_reads"}, "those that have a job")
    text = ps(case, program).out
    need(re.search(r"^ 3 coroutines worker_main \[pooled, ", text, re.M), text)


def check_pool_stripped(case):
    """The same of a program without names: its unwind tables say which code is one function."""
    program = case.dir / "t-stripped"
    equal(case.run(tool("strip"), "-o", program, case.target("ps")).status, 0, "strip")
    process = case.ctp_start("-q", program, "pool")
    process.wait_for("ready")
    listing = listed(case, child_of(process.pid))
    equal([(g["count"], g["state"], g["pooled"]) for g in listing["groups"]],
          [(1, "suspended", False), (1, "suspended", False), (3, "suspended", True), (1, "created", False)], "groups")
    need(all(f["symbol"] is None for g in listing["groups"] for f in g["stack"] or () if f["module"].endswith("t-stripped")), f"{listing}")


def check_running(case):
    """Where a thread is that runs a coroutine, and one that runs none."""
    _, program = start(case, "mix")
    def asleep():
        threads = {t["running"]: t for t in listed(case, program)["threads"]}
        return threads if threads[13]["call"] == "a sleep" and threads[13]["stack"] and threads[None]["call"] else None
    threads = until(asleep, "the look while both sleep")
    equal((names(threads[13]["stack"])[0], threads[13]["os_tid"]), ("busy_main", threads[13]["tid"]), "the coroutine's")
    native = threads[None]
    equal((native["state"], native["call"], "main" in names(native["stack"])), ("S", "pause", True), f"{native}")
    need(re.search(rf"^ thread {program} on its own stack \[in pause\]$", ps(case, program).out, re.M), "text")


def check_ended(case):
    """With --all those that have ended, while their stack is nobody else's."""
    _, program = start(case, "mix")
    listing = listed(case, "--all", program)
    equal([(c["state"], c["entry"]["symbol"]) for c in listing["ended"]], [("finished", "short_main")] * 2, "ended")
    need("ended" not in listed(case, program), "only with --all")
    equal(len(re.findall(r"^ coroutine \d+ short_main \[finished, ", ps(case, "--all", program).out, re.M)), 2, "text")


def check_one(case):
    """Coroutines by their ids."""
    _, program = start(case, "mix")
    listing = listed(case, program, 5, 1)
    equal(sorted(c["id"] for c in listing["coroutines"]), [1, 5], "those two")
    equal([names(c["stack"]) for c in sorted(listing["coroutines"], key=lambda c: c["id"])], [READER, PIPE], "with their stacks")
    need("was never made" in refused(case, 1, program, 77), "one that is not there")
    need("has ended" in refused(case, 1, program, 11), "one that has ended")
    done = ps(case, program, 1, 77)
    equal((done.status, len(re.findall("^ coroutine ", done.out, re.M)), done.err.count("\n")), (1, 1, 1), f"{done}")


def check_why(case):
    """Which descriptors keep them: who opened them, where, and when they were of use."""
    _, program = start(case, "mix")
    text = ps(case, "--why", program, 5).out
    need(re.search(r"^     waits for fd \d+#2 EPOLLIN  pipe:\[\d+\]$", text, re.M), text)
    need(re.search(rf"^       opened      by thread {program}, pipe at must.c:\d+, .* ago    must\(pipe2\(", text, re.M), text)
    need(re.search(r"^       registered  by itself in epoll fd \d+#1 for EPOLLIN, .* ago$", text, re.M), text)
    need("       last event  none yet\n" in text, text)
    why = listed(case, "--why", program, 5)["coroutines"][0]["why"]
    equal([(w["waits"], w["open"], w["kind"], w["opened"]["call"], w["registered"]["by"], w["last_event_ns"]) for w in why],
          [(True, True, "pipe", "pipe", 5, None)], "as JSON")
    need(why[0]["opened"]["at"]["symbol"] == "pair" and why[0]["closed"] is None, f"{why}")
    text = ps(case, "--why", program, 4).out
    need(re.search(rf"^       closed      by thread {program}, close at ps.c:\d+, .* ago    must\(close\(last\)\);$", text, re.M), text)
    closed = listed(case, "--why", program, 4)["coroutines"][0]["why"][0]
    equal((closed["open"], closed["closed"]["call"], closed["opened"]), (False, "close", None), "as JSON")
    need("no descriptor is known" in ps(case, "--why", program, 6).out, "one that is parked")
    need(re.search("^     made by thread .*never entered", ps(case, "--why", program).out, re.M), "one that never ran")
    _, program = start(case, "ready", options=("-o", "r.data"))
    need(re.search("^       last event  .* ago, since it was suspended$", ps(case, "--why", program, 3).out, re.M), "an event came")


def check_tree(case):
    """Who made whom, put together where they are alike; who waits for whom, round in a circle; who has the lock."""
    _, program = start(case, "tree", "1000")
    def blocked():
        listing = listed(case, "--tree", program)
        return listing if any(e["why"] == "held" for e in listing["waits_for"]) else None
    listing = until(blocked, "the one that wants the lock")
    roots = {r["tid"]: r for r in listing["tree"]}
    equal(sorted(r["all"] for r in roots.values()), [1, 2004], "below the two threads")
    kinds = {c["label"]: c for c in roots[program]["children"]}
    equal({k: (c["count"], c["all"]) for k, c in kinds.items()},
          {"trunk_main": (1, 2001), "asks_main": (2, 2), "holds_main": (1, 1)}, "made by the first thread")
    branch = kinds["trunk_main"]["children"][0]
    equal((branch["label"], branch["count"], len(set(branch["ids"]))), ("branch_main", 1000, 1000), "branches")
    equal((branch["children"][0]["label"], branch["children"][0]["count"]), ("leaf_main", 1000), "leaves")
    asks = sorted(kinds["asks_main"]["ids"])
    equal([sorted(c) for c in listing["cycles"]], [asks], "the cycle")
    edges = {(e["from"], e["to"]): e for e in listing["waits_for"]}
    equal({edges[tuple(asks)]["why"], edges[tuple(asks[::-1])]["why"]}, {"other_end"}, "both edges")
    wants = roots[next(t for t in roots if t != program)]["children"][0]
    held = edges[wants["ids"][0], kinds["holds_main"]["ids"][0]]
    need(held["why"] == "held" and held["lock"].startswith("0x"), f"{held}")
    text = ps(case, "--tree", program).out
    need(re.search(r"^\|   `-- branch_main x 1000 \[suspended, .*\n\|       `-- leaf_main x 1000 \[", text, re.M), text)
    need(re.search(rf"^cycle: coroutine {asks[0]} asks_main -> coroutine {asks[1]} asks_main -> coroutine {asks[0]} asks_main$",
                   text, re.M), text)
    need(re.search(r"^  coroutine \d+ wants_main -> coroutine \d+ holds_main  \(was suspended with lock 0x", text, re.M), text)
    each = listed(case, "--tree", "--all", program)
    equal(len({i for i in ids_of(each["tree"])}), 2005, "with --all")
    equal(len(re.findall(r"(?:-- )coroutine ", ps(case, "--tree", "--all", program).out)), 2005, "with --all, in the text")
    below = listed(case, "--tree", program, branch["ids"][0])["tree"]
    equal(sorted(ids_of(below)), sorted([branch["ids"][0], branch["ids"][0] + 1]), "below one of them")
    need("--tree needs a PID" in refused(case, 2, "--tree"), "of which process?")


def ids_of(nodes):
    for node in nodes:
        yield from node.get("ids", [])
        yield from ids_of(node["children"])


def check_core(case):
    """A core file in place of the process: taken of one that lives, and left by one that was killed."""
    _, program = start(case, "mix")
    made = case.run(tool("gcore"), "-o", case.dir / "taken", program)
    core = case.dir / f"taken.{program}"
    if not core.exists():
        raise Skip(f"gcore makes none: {made.err.strip().splitlines()[-1:]}")
    live, listing = listed(case, program), listed(case, core)
    equal((listing["core"], live["core"], listing["pid"], listing["ctp_run"]), (str(core), None, program, None), "whose")
    need_mix(listing)
    what = [(g["count"], g["state"], g["label"], names(g["stack"] or [])) for g in listing["groups"]]
    equal(sorted(what), sorted((g["count"], g["state"], g["label"], names(g["stack"] or [])) for g in live["groups"]), "as it lived")
    equal([r["all"] for r in listed(case, "--tree", core)["tree"]], [r["all"] for r in listed(case, "--tree", program)["tree"]], "--tree")
    equal(listed(case, "--why", core, 4)["coroutines"][0]["why"][0]["closed"]["call"], "close", "--why")
    text = ps(case, core).out
    need(re.search(rf"^pid {program}  .*\(core file {re.escape(str(core))}\)$", text, re.M), text)
    data = core.read_bytes()
    (case.dir / "cut").write_bytes(data[:len(data) // 3])
    need("cut off" in refused(case, 2, case.dir / "cut"), "a part of it")
    need("no core" in refused(case, 2, case.target("ps")), "the program")
    need("not a core file" in refused(case, 2, __file__), "a text")
    need("running program" in refused(case, 2, "--watch", core), "--watch")
    at = region_at(data)
    chance = random.Random(5)
    with open(core, "r+b", buffering=0) as odd:
        for _ in range(20):  # any word of its header turned round
            where = at + 8 * chance.randrange(128)
            os.pwrite(odd.fileno(), struct.pack("<Q", chance.choice([0, 1, 2**64 - 1, 2**31, 2**40, chance.getrandbits(64)])), where)
            done = ps(case, *chance.choice([(), ("--tree",), ("--why", "--all")]), core)
            need(done.status in (0, 1, 2) and done.err.count("\n") == (done.status != 0), f"at {where - at:#x}: {done}")
            os.pwrite(odd.fileno(), data[where:where + 8], where)


def check_core_killed(case):
    """Who died, and where."""
    core = make_core(case, "null")
    listing = listed(case, core)
    running = [g for g in listing["groups"] if g["state"] == "running"]
    equal(len(running), 1, "who ran")
    tid = running[0]["coroutines"][0]["thread"]
    need([t["stack"] for t in listing["threads"] if t["tid"] == tid][0], "where it was")
    need(re.search(r"\(core file .*: SIGSEGV on thread \d+, which ran coroutine \d+ ", ps(case, core).out), ps(case, core).out)


def check_list(case):
    one, first = start(case, "mix")
    two, second = start(case, "one")
    found = {p["pid"]: p for p in listed(case)["processes"]}
    equal({p: found[p]["ctp_run"] for p in (first, second)}, {first: one.pid, second: two.pid}, "processes")
    equal([found[first][k] for k in ("created", "suspended", "running", "threads")], [4, 5, 1, 2], "counts")
    need(one.pid not in found, "ctp-run is not traced itself")
    text = ps(case).out
    need(re.search(rf"^ *{first} +10 +5 +1 +2 +{one.pid}  \S+t-ps mix$", text, re.M), text)


def check_own_pid(case):
    """ctp-run's pid, and a thread's, name the program."""
    process, program = start(case, "mix")
    listing = listed(case, process.pid)
    equal(listing["pid"], program, "by ctp-run's pid")
    need_mix(listing)
    tid = next(t["tid"] for t in listing["threads"] if t["running"])
    equal(listed(case, tid)["pid"], program, "by a thread's")


def check_alone(case):
    """Preloaded without ctp-run; and a region in a real file."""
    process = case.start(case.target("ps"), "mix", env={"LD_PRELOAD": str(case.lib)})
    process.wait_for("ready")
    need_mix(listed(case, process.pid))
    _, program = start(case, "mix", options=("--shm-file=region", "-o", "other.data"))
    need_mix(listed(case, program))
    need(program in [p["pid"] for p in listed(case)["processes"]], "listed")


def check_follow(case):
    """Several processes under one ctp-run."""
    both = f"'{case.target('ps')}' one & '{case.target('ps')}' mix & wait"
    process = case.ctp_start("-q", "-f", "/bin/sh", "-c", both)

    def ready():
        return process.out().count("ready") == 2 and [
            p for p in listed(case)["processes"] if p["ctp_run"] == process.pid and p["suspended"]]
    found = {p["command"].split()[-1]: p["pid"] for p in until(ready, "both programs")}
    equal(sorted(found), ["mix", "one"], "listed")
    need_mix(listed(case, found["mix"]))
    equal(listed(case, found["one"])["counts"]["suspended"], 1, "the other")
    need("several" in refused(case, 2, process.pid), "which one?")


def check_namespaces(case):
    """A program in a container: its pids are others there, and so are its files."""
    unshare = tool("unshare")
    inside = f"mount -t tmpfs none /mnt && cp '{case.target('ps')}' /mnt/inside && exec '{case.run_tool}' -q /mnt/inside mix"
    process = case.start(unshare, "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", inside)
    if until(lambda: process.popen.poll() is not None or "ready" in process.out(), "the program") and "ready" not in process.out():
        raise Skip(f"no namespaces here: {process.err()[:200]}")
    engine = child_of(process.pid)
    program = child_of(engine)
    listing = listed(case, program)
    equal((listing["pid"], listing["ctp_run"]), (program, engine), "pids as seen from here")
    counts, group_of = listing["counts"], group(listing, "reader_main")
    equal((counts["suspended"], names(group_of["stack"])), (5, READER), "names from files that are not here")
    equal([w["kind"] for c in group_of["coroutines"] for w in c["waits"] if w["open"]], ["tcp"] * 2, "descriptors")
    equal(listed(case, engine)["pid"], program, "by ctp-run's pid")


def check_exec(case):
    """The present image is shown, and nothing of the one before."""
    process, program = start(case, "exec")
    need_mix(listed(case, program))
    need_mix(listed(case, process.pid))


def check_stopped(case):
    _, program = start(case, "mix")
    os.kill(program, signal.SIGSTOP)
    until(lambda: proc_state(program) == "T", "the stop")
    need_mix(listed(case, program))
    equal(proc_state(program), "T", "state afterwards")
    os.kill(program, signal.SIGCONT)


def check_no_engine(case):
    """ctp-run was killed: the region lives in the program."""
    process, program = start(case, "mix")
    os.kill(process.pid, signal.SIGKILL)
    process.done()
    listing = listed(case, program)
    equal(listing["ctp_run"], None, "ctp_run")
    need_mix(listing)
    need("its ctp-run is gone" in ps(case, program).out, "text")
    refused(case, 1, process.pid)


def check_other_user(case):
    if os.getuid() != 0:
        raise Skip("needs root to become another user")
    setpriv = [tool("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    case.dir.chmod(0o777)
    if case.run(*setpriv, "test", "-x", case.run_tool).status:
        raise Skip("the build directory is closed to other users")
    process = case.start(*setpriv, case.run_tool, "-q", case.target("ps"), "mix")
    process.wait_for("ready")
    program = child_of(process.pid)
    _, roots = start(case, "one", options=("-o", "root.data"))
    for who in ([], setpriv):
        done = case.run(*who, case.build / "src/ps/ctp-ps", "--json", program)
        equal((done.status, done.err), (0, ""), f"{who}")
        need_mix(json.loads(done.out))
        done = case.run(*who, case.build / "src/ps/ctp-ps", "--json")
        found = [p["pid"] for p in json.loads(done.out)["processes"]]
        equal((program in found, roots in found), (True, not who), f"the list for {who or 'root'}")
    done = case.run(*setpriv, case.build / "src/ps/ctp-ps", roots)
    equal((done.status, done.out, done.err.count("\n")), (2, "", 1), f"{done}")
    need("another user (0)" in done.err and f"sudo ctp-ps {roots}" in done.err, done.err)
    nothing = [setpriv[0], f"--reuid={NOBODY - 7}", f"--regid={NOBODY - 7}", "--clear-groups"]
    done = case.run(*nothing, case.build / "src/ps/ctp-ps")
    equal((done.status, done.out, done.err.count("\n")), (1, "", 1), f"a user without processes: {done}")


def check_only_through_ctp_run(case):
    """Where the kernel lets nobody read another process's memory: the tables come through
    ctp-run's descriptor, the stacks are those that were recorded."""
    source = case.dir / "refuse.c"
    source.write_text("#include <errno.h>\n#include <sys/types.h>\n"
                      "ssize_t process_vm_readv(void) { errno = EPERM; return -1; }\n")
    equal(case.run(tool("cc"), "-shared", "-fPIC", "-o", case.dir / "refuse.so", source).status, 0, "cc")
    env = {"LD_PRELOAD": str(case.dir / "refuse.so")}
    process, program = start(case, "mix")
    need_mix(listed(case, program, env=env))
    need_mix(listed(case, process.pid, env=env))
    os.kill(process.pid, signal.SIGKILL)
    process.done()
    why = refused(case, 2, program, env=env)
    equal("or as root" in why, os.geteuid() != 0, f"root is not told to be root: {why}")


def check_refusals(case):
    process, program = start(case, "one", options=("-o", "x.data"))
    for words in (["--no-such"], ["0"], ["-5"], ["12x"], [str(program), "x"], ["--color=red"], [""]):
        refused(case, 2, *words)
    for words, why in ((["/no/such/core"], "no such file"), (["abc"], "no such file"), (["0"], "begin at 1"), (["99999999999"], "so large"),
                       ([str(program), "x"], "id of a coroutine")):
        told = refused(case, 2, *words)
        need(f"'{words[-1]}'" in told and why in told and "lists" in told, told)
    for words in (["--tree"], ["--watch"], ["--why"]):
        need(words[0] in refused(case, 2, *words), "names the option")
    equal(listed(case, os.getpid())["groups"], [], "a process without ctp and without coroutines")
    need("no such process" in refused(case, 1, 2**22 + 1), "no process")
    need("--color" in ps(case, "--help").out, "--help")
    need(ps(case, "--version").out.startswith("ctp-ps "), "--version")
    need("\x1b" not in ps(case, program).out, "colour in a file")
    need("\x1b[" in ps(case, "--color=always", program).out, "--color=always")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([case.build / "src/ps/ctp-ps", str(program)], stdout=full, stderr=subprocess.PIPE, check=False)
    equal(done.returncode, 2, "a list that cannot be written")
    equal(ps(case, "--man").out, (ROOT / "man/ctp-ps.1").read_text(), "man/ctp-ps.1 is what --man prints")


def check_command(case):
    """A command that is too long for a line ends in a mark; bytes that are no text do not reach the terminal."""
    _, program = start(case, "one", "x" * 300, os.fsdecode(b"\xff\x1b\xc3\xa4"))
    listing = listed(case, program)
    need(listing["command"].endswith(" one " + "x" * 300 + " ??\u00e4"), listing["command"])
    listed_as = next(line for line in ps(case).out.splitlines() if line.split()[0] == str(program))
    for text in (ps(case, program).out.splitlines()[0].split("  (ctp-run")[0], listed_as):
        need(re.search(" one x+\u2026$", text), f"cut without a mark: {text}")
    equal([p["command"] for p in listed(case)["processes"] if p["pid"] == program], [listing["command"]], "in the list")


def check_shared_stack(case):
    """Coroutines that share one stack by copying: what lies there belongs to one of them only."""
    _, program = start(case, "copy")
    for words in ([], ["--all", "--stack"]):
        listing = listed(case, *words, program)
        found = sorted(names(x["stack"]) for x in listing.get("groups") or listing["coroutines"])
        equal(found, [["copied_park", f"copied_{x}", "copied_main"] for x in "abc"], f"{words}")


def check_full_speed(case):
    """Two threads switch all the time: each stack shown is one that there is, and nobody is stopped."""
    process, program = start(case, "spin")
    process.wait_for("spins")
    allowed = {("hop", "left_inner", "left", "spin_main"), ("hop", "right", "spin_main")}
    switches, shapes = [], set()
    for i in range(60):
        listing = listed(case, program) if i % 2 else listed(case, "--all", "--stack", program)
        all_of = [(c, g["stack"]) for g in listing.get("groups", []) for c in g["coroutines"]]
        all_of += [(c, c["stack"]) for c in listing.get("coroutines", [])]
        equal(len(all_of), 13, "coroutines")
        for c, stack in all_of:
            if c["entry"]["symbol"] == "sleeper_main":
                equal(names(stack), ["park", "descend", "descend", "descend", "sleeper_main"], "one that sleeps")
            elif c["state"] == "suspended":
                need(tuple(names(stack)) in allowed, f"{names(stack)}")
                shapes.add(tuple((f["symbol"], f["line"]) for f in stack))
        status = pathlib.Path(f"/proc/{program}/status").read_text()
        need("TracerPid:\t0" in status, "traced")
        states = {pathlib.Path(f"/proc/{program}/task/{t}/stat").read_text().rsplit(")", 1)[1].split()[0]
                  for t in os.listdir(f"/proc/{program}/task")}
        need(not states & {"T", "t"}, f"{states}")
        switches.append(sum(t["switches"] for t in listing["threads"]))
    need(switches == sorted(switches) and switches[-1] > switches[0], f"it does not go on: {switches}")
    equal({tuple(s for s, _ in shape) for shape in shapes}, allowed, "stacks seen")
    equal(len(shapes), 2, f"each from one line only: {shapes}")


def check_ends_midway(case):
    """A program that ends while it is read: a list, or one line."""
    for _ in range(15):
        process, program = start(case, "many", "3000")
        looks = [case.start(case.build / "src/ps/ctp-ps", "--all", "--stack", program) for _ in range(3)]
        os.kill(program, signal.SIGKILL)
        for look in looks:
            done = look.done()
            need(done.status in (0, 1), f"{done}")
            need((done.status == 0) == (done.err == ""), f"{done}")
            need(done.status == 0 or done.err.count("\n") == 1, f"{done}")
        process.done()
    need("no such process" in refused(case, 1, program), "afterwards")


def check_many(case):
    """A hundred thousand, in eight groups."""
    _, program = start(case, "many", "100000")
    listing = json.loads(ps(case, "--json", program).out)  # so many are not held against the schema
    equal([g["count"] for g in listing["groups"]], [12500] * 8, "groups")
    equal(sorted(len(g["stack"]) for g in listing["groups"]), list(range(3, 11)), "depths")
    need(all(names(g["stack"]) == ["park"] + ["descend"] * (len(g["stack"]) - 2) + ["sleeper_main"]
             for g in listing["groups"]), "stacks")
    text = ps(case, "--all", "--stack", program).out
    equal(len(re.findall("^ coroutine ", text, re.M)), 100000, "--all")
    tree = json.loads(ps(case, "--json", "--tree", program).out)["tree"]  # the schema is held against check_tree's
    equal([[c["count"] for c in root["children"]] for root in tree], [[12500] * 8], "--tree")
    need("x 12500 [suspended, " in ps(case, "--tree", program).out, "as text")


def check_lost(case):
    """The coroutines that ctp-analyze will report, while they wait."""
    process = case.ctp_start("-q", case.target("lost"), "n=3")
    process.wait_for("ready")
    listing = listed(case, process.pid)
    waits = [c["waits"] for g in listing["groups"] for c in g["coroutines"]]
    equal([len(w) == 1 and w[0]["open"] for w in waits], [False] * 3, "all closed")
    done = ps(case, "--lost", "--stop", child_of(process.pid))
    equal(done.status, 1, f"--lost of a traced process: {done}")
    need("3 of 3 coroutines: nothing in" in done.out and "(traced: found by search)" in done.out, done.out)


# A process that maps a region that it made up: what is read from standard input.
HOSTILE = r"""
import ctypes, mmap, os, struct, sys
fd = os.memfd_create("ctp")
size = int(sys.argv[2])
os.ftruncate(fd, size)
with open(sys.argv[1], "rb") as f:
    at = 0
    while True:
        try:
            at = os.lseek(f.fileno(), at, os.SEEK_DATA)
        except OSError:
            break
        end = os.lseek(f.fileno(), at, os.SEEK_HOLE)
        while at < end:
            block = os.pread(f.fileno(), min(1 << 20, end - at), at)
            os.pwrite(fd, block, at)
            at += len(block)
os.pwrite(fd, struct.pack("<I", os.getpid()), int(sys.argv[3]))
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mmap(None, size, 1, 1, fd, 0)
print("ready", fd, flush=True)
sys.stdin.read()
"""
EXT, GUEST_PID = 0x40, 0x140  # spec/cTP.md


def hostile(case):
    """(its pid, its region's descriptor): a made-up region like that of `ps mix`."""
    process, _ = start(case, "mix", options=("--shm-file=region", "-o", "x.data"))
    region = case.dir / "region"
    read, write = os.pipe()
    liar = case.start(sys.executable, "-c", HOSTILE, region, region.stat().st_size, GUEST_PID, stdin=read)
    os.close(read)
    fd = int(liar.wait_for("ready").split()[1])
    process.end()
    return liar.pid, os.open(f"/proc/{liar.pid}/fd/{fd}", os.O_RDWR), write


def check_hostile(case):
    """Any word of a region turned round: a list or an error, never a crash or a hang."""
    liar, fd, keep = hostile(case)
    counts = listed(case, liar)["counts"]
    equal((counts["suspended"], counts["created"]), (5, 4), "what it copied")
    header = os.pread(fd, 1024, 0)
    u64 = lambda at: struct.unpack_from("<Q", header, EXT + at)[0]
    threads, fds, modules, index, words = u64(0x18), u64(0x20), u64(0x30), u64(0x40), u64(0x48)
    states = [u64(0xa8) + i * 448 for i in range(10)]
    chance = random.Random(3)
    odd = [0, 1, 2**64 - 1, 2**63, 2**31, 2**32 - 1, 2**20, 2**40]
    places = [(0, 1024, 30), (threads, 1024, 6), (fds + 6 * 256, 2048, 4), (modules, 1024, 6),
              (index, 64, 6), (words, 512, 10)] + [(s, 448, 3) for s in states]  # many more: fuzz-core_ps
    for place, room, times in places:
        for _ in range(times):
            at = place + 8 * chance.randrange(room // 8)
            was = os.pread(fd, 8, at)
            os.pwrite(fd, struct.pack("<Q", chance.choice(odd + [chance.getrandbits(64)])), at)
            done = ps(case, chance.choice(["--json", "--stack", "--all", "--tree", "--why"]), liar)
            need(done.status in (0, 1, 2), f"at {at:#x}: {done}")
            need(done.err.count("\n") == (done.status != 0), f"at {at:#x}: {done}")
            os.pwrite(fd, was, at)
    equal(listed(case, liar)["counts"], counts, "all of it back in place")
    os.ftruncate(fd, 4096)  # its mapping now ends in nothing
    refused(case, 2, liar)
    os.close(fd)
    os.close(keep)


def check_terminal(case):
    """What a program calls itself cannot steer the terminal."""
    name = case.dir / "t-\x1b[31mps"
    name.symlink_to(case.target("ps"))
    process = case.ctp_start("-q", name, "mix")
    process.wait_for("ready")
    program = child_of(process.pid)
    need("\x1b" not in ps(case, "--stack", program).out + ps(case).out, "an escape sequence")
    need_mix(listed(case, program))


def led_to(case, way):
    """A loop in poll (tests/targets/wakes.c): (waits, why) of its coroutine, the text, the report of ctp-analyze."""
    process = case.ctp_start("-q", case.target("wakes"), way)
    process.wait_for("ready")
    program = child_of(process.pid)
    call = pathlib.Path(f"/proc/{program}/wchan")
    until(lambda: call.read_text().startswith(("poll_schedule", "do_poll", "do_sys_poll")), "the loop to sleep")
    one, = listed(case, "--why", "--all", program)["coroutines"]
    text = ps(case, "--why", program).out
    os.kill(program, signal.SIGTERM)
    process.done()
    _, report = case.report()
    equal(report["findings"], [], "findings")
    return one["waits"], one["why"], text, report["trace"]["healthy_waiters"], program


def check_polled_self(case):
    """Who wakes its own loop still waits for what it has read in vain."""
    waits, why, text, healthy, program = led_to(case, "self")
    equal([(w["events"], w["kind"]) for w in waits], [(EPOLLIN, "pipe")], "waits")
    equal([(w["waits"], w["polled"], w["polled_by"]) for w in why], [(True, True, program)], "why")
    need(f"polled      by thread {program}, which waits for it now" in text, text)
    equal(healthy, 1, "healthy waiters")


def check_polled_learned(case):
    """It has never read in vain; an event of what the loop polls resumed it where it stands."""
    waits, why, text, healthy, program = led_to(case, "learned")
    equal(waits, [], "waits")
    equal([(w["waits"], w["events"], w["polled"], w["polled_by"]) for w in why], [(False, EPOLLIN, True, program)], "why")
    need("led to by fd" in text and "no descriptor is known" not in text, text)
    equal(healthy, 1, "healthy waiters")


def check_polled_other(case):
    """Who wakes another thread may wait for that one's answer."""
    waits, why, text, healthy, _ = led_to(case, "other")
    equal((waits, why, healthy), ([], [], 0), f"waits, why, healthy waiters; {text}")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
