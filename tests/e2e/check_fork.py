# SPDX-License-Identifier: MIT
"""Children: by default untraced and unharmed, with -f traced, each switch of each process counted once."""
import json
import mmap
import os
import re
import resource
import signal
import struct
import subprocess
import sys

from check_counts import check_jsonl
from harness import OURS, Skip, child_of, equal, need, proc_state, timed, tool, until, witness

# case: its argument; how many children's lines are of processes that cannot be traced even with -f, and the
# word by which the coverage says so ("" if nobody can know)
CASES = {
    "plain": (), "_exit": (), "many": ("20",), "parallel": ("20",), "idle": ("50",), "nested": (), "double": (),
    "daemon": (), "inside": (), "goes_on": (), "unbegun": (), "pool": ("200",), "exec": (), "worked": (), "vfork": (), "spawn": (),
    "system": (), "popen": (), "closeall": (), "chdir": (), "outlive": (),
    "clone": (), "unset": (), "clearenv": (), "static": (), "chroot": (), "setuid": (), "setuid_exec": (),
    "setuid_first": (), "chroot_first": (),
}
UNTRACED = {"clone": (1, ""), "unset": (1, "became programs"), "clearenv": (1, "became programs"),
            "static": (0, "became programs"), "chroot": (1, "not traced"), "setuid": (1, "not traced"),
            "setuid_exec": (1, "became programs"), "setuid_first": (1, "not traced"),
            "chroot_first": (1, "not traced")}
ROOT_ONLY = {"chroot", "setuid", "setuid_exec", "setuid_first", "chroot_first"}
SPARES = 4  # children that find a region ready (CTP_SPARES)
WORK = (3, 66)  # what each such child says
STATUS = {"outlive": 7}
FORKS = {"plain": 1, "many": 20, "daemon": 1}  # children of the first process, which are not traced without -f


def words(case, name):
    if name in ROOT_ONLY and os.geteuid():
        raise Skip("needs root")
    return [case.target("fork"), name, *CASES.get(name, ())]


def said(out, children):
    """Coroutines and switches as the processes themselves counted them, together."""
    lines = re.findall(r"^(child )?coroutines (\d+) switches (\d+)$", out, re.M)
    need(lines, f"no count in {out!r}")
    lines = [x for x in lines if children or not x[0]]
    return sum(int(x[1]) for x in lines), sum(int(x[2]) for x in lines)


def same_count(case, want, trace="ctp.data"):
    equal(case.switches(trace), want[1], "ctp:switch in babeltrace2")
    status, report = case.report(trace)
    got = report["trace"]
    equal((got["coroutines"]["total"], got["switches"], got["lost"]), (*want, 0), "coroutines, switches, lost")
    equal((status, report["findings"]), (0, []), "analysis")
    return got


def unharmed(bare, done, name):
    equal((bare.status, done.status), (STATUS.get(name, 0),) * 2, f"status ({bare}) ({done})")
    equal(sorted(done.out.splitlines()), sorted(bare.out.splitlines()), "stdout")
    ours = [x for x in done.err.splitlines() if x.startswith(OURS)]
    need(len(ours) <= 3, f"too many lines: {ours}")
    equal([x for x in done.err.splitlines() if x not in ours], bare.err.splitlines(), "stderr")
    return ours


def clean(case):
    jail = case.dir / "jail"
    if jail.exists():
        jail.rmdir()


def check_default(case, name):
    bare = case.run(*words(case, name))
    clean(case)
    if name == "daemon":
        until(lambda: "child" in bare_out(case), "the daemon's line")
    done = case.ctp(*words(case, name))
    if name in ("daemon", "outlive", "double"):  # the child outlives ctp-run
        until(lambda: "child coroutines" in case.started[-1].out(), "the child's line")
        until(lambda: "child coroutines" in case.started[0].out(), "the child's line")
        bare, done = again(case.started[0], bare), again(case.started[-1], done)
    ours = unharmed(bare, done, name)
    trace = same_count(case, said(done.out, False) if name != "daemon" else (0, 0))
    n = FORKS.get(name)
    need(not n or f"({n} more not traced)" in ours[0], f"the closing line: {ours}")
    need(not n or any(x.startswith(f"{n} forked child") and "not traced" in x for x in trace["coverage"]), f"nor the report: {trace['coverage']}")
    need(name != "daemon" or "1 forked child was not traced: -f traces children, too" in ours[1], f"where it may have been: {ours}")


def bare_out(case):
    return case.started[0].out()


def again(process, done):
    done.out, done.err = process.out(), process.err()
    return done


def check_followed(case, name):
    bare = case.run(*words(case, name))
    clean(case)
    if name in ("daemon", "outlive", "double"):
        until(lambda: "child coroutines" in bare_out(case), "the child's line")
        bare = again(case.started[0], bare)
    done = case.ctp("-f", *words(case, name))
    ours = unharmed(bare, done, name)
    lines, word = UNTRACED.get(name, (0, ""))
    c, s = said(done.out, True)
    trace = same_count(case, (c - lines * WORK[0], s - lines * WORK[1]))
    need(not word or any(word in x for x in trace["coverage"]), f"coverage does not say {word!r}: {trace['coverage']}")
    equal(case.report()[1]["facts"] if name in ("goes_on", "unbegun", "pool", "inside") else [], facts(name), "facts")
    need(word != "not traced" or "more not traced" in ours[0], f"nor does the closing line: {ours}")


def facts(name):
    """A coroutine from before the fork is known in the child: nothing is said to have gone past the hooks."""
    parked = {"goes_on": 3, "unbegun": 2}.get(name)
    return [{"rule": "CTP003", "count": parked, "message":
             f"{parked} coroutines are suspended without a known wait: parked"}] if parked else []


def manifest(case):
    return json.loads((case.dir / "ctp.data/ctp/trace.json").read_text())


def check_threads(case):
    """Forks while three threads switch at full speed."""
    done = case.ctp("--overflow=block", case.target("fork"), "threads", "20")
    same_count(case, said(done.out, False))
    done = case.ctp("-f", "--overflow=block", case.target("fork"), "threads", "20")
    same_count(case, said(done.out, True))


def check_lines(case):
    for name in ("plain", "parallel", "worked", "inside"):
        done = case.ctp("-f", "-o", "x.jsonl", *words(case, name))
        lines = check_jsonl(case.dir / "x.jsonl")
        equal(len(lines), 2 * said(done.out, True)[1], f"lines of {name}")


def check_ids(case):
    """No id is two processes'; each image says whose it is."""
    case.ctp("-f", "-o", "x.jsonl", *words(case, "parallel"))
    whose = {}
    for line in check_jsonl(case.dir / "x.jsonl"):
        equal(whose.setdefault(line["probe_id"], line["tid"]), line["tid"], "the thread of a coroutine")
    equal(len(set(whose.values())), 21, "processes")
    case.ctp("-f", *words(case, "parallel"))
    equal(case.report()[1]["trace"]["threads"], 21, "threads")
    case.ctp("-f", *words(case, "nested"))
    images = manifest(case)["images"]
    pids = [x["pid"] for x in images]
    equal(sorted(x["process"] for x in images), [0, 1, 2], "processes")
    equal(len(set(pids)), 3, "pids")
    for image in images:
        if image["process"]:
            need(image["parent"] in pids, f"its parent is unknown: {image}")


def check_regions(case):
    """A child has no region by default, and one of its own with -f."""
    for options in ([], ["-f"]):
        run = case.ctp_start(*options, case.target("fork"), "sleeper", "1")
        run.wait_for("ready")
        run.wait_for("child ready")
        first = child_of(run.pid)
        regions = [region_of(first), region_of(child_of(first))]
        need(regions[0], "the first process has no region")
        need(regions[1] != regions[0], "the child has its parent's region")
        equal(bool(regions[1]), bool(options), "the child has a region")
        run.end()


def region_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        found = {x.split()[4] for x in f if "memfd:ctp" in x}
    need(len(found) < 2, f"several regions: {found}")
    return found


def check_stays(case):
    """SIGTERM goes to the first process; once it is gone, to all that are left."""
    run = case.ctp_start("-f", case.target("fork"), "sleeper", "3")
    run.wait_for("ready")
    until(lambda: run.out().count("child ready") == 3, "three children")
    run.signal(signal.SIGTERM)
    run.wait_for("coroutines")
    until(lambda: not kids(run.pid), "the first one's end")
    equal(run.popen.poll(), None, "ctp-run has ended before the last process")
    need("child coroutines" not in run.out(), "the signal went to a child")
    run.signal(signal.SIGTERM)
    done = run.done()
    equal(done.status, 0, f"status {done}")
    same_count(case, said(done.out, True))
    equal(len(manifest(case)["images"]), 4, "images")


def kids(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        return f.read().split()


def check_timeout(case):
    def sleeper(number):
        """Both children have said what they did; the first process of the second run has ended."""
        return timed(lambda option: case.ctp("-f", option, case.target("fork"), "sleeper", number), 3,
                     lambda done: done.out.count("child coroutines") == 2)
    done = sleeper("2")
    equal(done.status, 124, f"status {done}")
    equal(done.out.count("child coroutines"), 2, "children told")
    same_count(case, said(done.out, True))
    done = sleeper("-2")
    equal((done.status, done.out.count("child coroutines")), (124, 2), "after the first one's end")


def check_engine_killed(case):
    run = case.ctp_start("-f", case.target("fork"), "sleeper", "2")
    run.wait_for("ready")
    until(lambda: run.out().count("child ready") == 2, "two children")
    first = child_of(run.pid)
    pids = [first, *map(int, kids(first))]
    os.kill(run.pid, signal.SIGKILL)
    run.done()
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    until(lambda: run.out().count("coroutines") == 3, "all three to end as they meant to")


def check_engine_held(case):
    """A forked child waits for nobody: while ctp-run stands still children run, are traced, and end."""
    run = case.ctp_start("-f", "-v", case.target("fork"), "told", stdin=subprocess.PIPE)
    run.wait_for("ready")
    run.signal(signal.SIGSTOP)
    until(lambda: proc_state(run.pid) == "T", "ctp-run to stand still")
    for n in range(1, SPARES + 1):
        run.popen.stdin.write(b".")
        run.popen.stdin.flush()
        until(lambda: run.out().count("child coroutines") == n and not kids(child_of(run.pid)), "a child's end")
    run.signal(signal.SIGCONT)
    run.popen.stdin.close()
    done = run.done()
    equal(done.status, 0, f"status {done}")
    same_count(case, said(done.out, True))
    images = manifest(case)["images"]
    equal(len(images), 1 + SPARES, "images")
    equal({(x["parent"], x["exe"]) for x in images[1:]}, {(images[0]["pid"], images[0]["exe"])}, "whose children they are")


def check_late(case):
    """A child that becomes another program when ctp-run is gone says not a word."""
    for options in ([],):
        end, hold = os.pipe()
        run = case.ctp_start(*options, case.target("fork"), "late", stdin=end)
        os.close(end)
        run.wait_for("child ready")
        done = run.done()
        equal(done.status, 0, f"status {done}")
        os.close(hold)
        until(lambda: "child coroutines 3" in run.out(), "the child's work")
        equal([x for x in run.err().splitlines() if not x.startswith(OURS)], [], "stderr")
        need("region" not in run.err() and "untraced" not in run.err(), f"a child spoke: {run.err()}")


def check_asking(case):
    """Who asks for a region and dies, or never takes it, blocks nobody."""
    run = case.ctp_start("-f", case.target("fork"), "sleeper", "1")
    run.wait_for("child ready")
    fd = next(x for x in os.listdir(f"/proc/{run.pid}/fd") if "memfd:ctp" in link(run.pid, x))
    with open(f"/proc/{run.pid}/fd/{fd}", "r+b") as f, mmap.mmap(f.fileno(), 4096) as region:
        def ask(pid):
            region[ASK:ASK + 8] = struct.pack("<Q", pid)
            until(lambda: region[ASK:ASK + 8] == bytes(8), f"the word of {pid} to be free again")
        ask(dead_pid(case))
        ask(os.getpid())  # is answered, and never takes it
    first = child_of(run.pid)
    os.kill(int(kids(first)[0]), signal.SIGTERM)
    os.kill(first, signal.SIGTERM)
    done = run.done()  # does not wait for us
    equal(done.status, 0, f"status {done}")
    same_count(case, said(done.out, True))


ASK = 0x40 + 0x198  # ctp_ext.ask


def link(pid, fd):
    try:
        return os.readlink(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return ""


def dead_pid(case):
    process = case.start(tool("true"))
    process.done()
    return process.pid


def check_few_descriptors(case):
    """A child's descriptors are closed when it has ended."""
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
    done = case.start(case.run_tool, "-f", case.target("fork"), "many", "60", preexec_fn=few).done()
    equal(done.status, 0, f"status {done}")
    same_count(case, said(done.out, True))
    done = case.ctp("-f", case.target("fork"), "idle", "200")
    need("in 201 processes" in done.err, f"not all were met: {done.err}")
    equal(len(manifest(case)["images"]), 1, "what had no coroutine leaves nothing")


def check_shm_file(case):
    done = case.ctp("-f", "--shm-file=region", *words(case, "plain"))
    same_count(case, said(done.out, True))


def check_shell(case):
    """A shell and what it starts; one of them leaves a coroutine behind in each of two images."""
    target = case.target("fork")
    done = case.ctp("-f", tool("sh"), "-c", f"'{target}' worked; '{target}' goes_on; '{target}' system; exit 3")
    equal(done.status, 3, f"status {done}")
    same_count(case, said(done.out, True))


def ends_looked_at(case, *words):
    """How many processes waited at their end, of how many that were traced."""
    done = case.ctp("-f", *words, env={"CTP_DEBUG": "1"})
    equal(done.status, 3, f"status {done}")
    return done.err.count("ctp: final inspection"), done.err.count("ctp: attached to ")


def check_short(case):
    """Who starts and ends without a coroutine waits for ctp-run once: it has read the mappings by then."""
    equal(ends_looked_at(case, tool("sh"), "-c", f"{tool('true')}; {tool('true')}; exit 3"), (1, 3), "ends that were looked at, processes")
    loads = f"'{sys.executable}' -c 'import ctypes'; exit 3"
    equal(ends_looked_at(case, tool("sh"), "-c", loads), (2, 2), "the same, where something was loaded since")


def check_few_reads(case):
    """What a program is made of is read in blocks before exec."""
    done = case.run(case.target("kill-at"), "30@pread64", "env", "CTP_DISABLE=1", f"LD_PRELOAD={case.lib}", "env", tool("true"))
    if done.status == 2:
        raise Skip("ptrace is not permitted here")
    equal(done.out, "ended 0\n", f"it came to the 30th ({done})")


def check_stripped(case):
    """A child that kept LD_PRELOAD but lost the rest starts no engine of its own over our trace."""
    line = f"env -u CTP_SHM_PATH '{case.target('fork')}' plain; '{case.target('fork')}' plain; :"
    bare = case.run("sh", "-c", line)
    done = case.ctp("sh", "-c", line)
    unharmed(bare, done, "sh")
    need(not (case.dir / "ctp.data.old").exists(), "its own trace took the place of ctp-run's")
    equal(manifest(case)["command"][0], "sh", "whose trace it is")


def check_lost(case):
    """A lost wakeup in a child: the finding says whose."""
    run = case.ctp_start("-f", case.target("fork"), "lost")
    run.wait_for("child ready")
    program = child_of(run.pid)
    pid = child_of(program)
    until(lambda: witness(case.dir / "ctp.data"), "a witness line")
    for each in (pid, program):
        os.kill(each, signal.SIGKILL)
    equal(run.done().status, -signal.SIGKILL, "status")
    status, report = case.report()
    equal((status, [(f["rule"], f["pid"]) for f in report["findings"]]), (1, [("CTP001", pid)]), "findings")
    found = report["findings"][0]
    need(found["verdict"] in ("proven", "likely"), f"verdict {found['verdict']}: {found['evidence']}")
    need(f"in process {pid}" in found["message"], f"message: {found['message']}")
    equal([f["symbol"] for f in found["waiter_stack"] if f["symbol"] == "waits"], ["waits"], "its stack")
    text = case.analyze().out
    need(f"in process {pid}" in text, f"text: {text[:500]}")


def default(name):
    return f"{name}.default", lambda case: check_default(case, name)


def followed(name):
    return f"{name}.f", lambda case: check_followed(case, name)


CHECKS = [default(name) for name in CASES] + [followed(name) for name in CASES] + [
    ("threads", check_threads), ("lines", check_lines), ("ids", check_ids), ("regions", check_regions),
    ("stays", check_stays), ("timeout", check_timeout), ("engine_killed", check_engine_killed), ("engine_held", check_engine_held), ("late", check_late),
    ("asking", check_asking), ("few_descriptors", check_few_descriptors), ("shm_file", check_shm_file), ("shell", check_shell), ("stripped", check_stripped),
    ("short", check_short), ("few_reads", check_few_reads),
    ("lost", check_lost),
]
