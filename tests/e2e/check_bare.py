# SPDX-License-Identifier: MIT
"""ctp-ps on programs that nobody traced: coroutines in all states by every way to switch, those that nothing leads to,
cores, what was saved, and what may not be looked at."""
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess

from check_engines import built
from check_ps import NOBODY, listed, need_mix, ps, refused, start as start_traced
from harness import ROOT, Skip, child_of, equal, need, proc_state, tool, until

TARGETS = ROOT / "tests/targets"
ENGINES = ("ucontext", "sjlj", "fcontext", "sigalt")


def bare(case, level, *libraries):
    """t-bare with all engines, at this level of optimization."""
    packages = [str(TARGETS / f) for f in ("bare.c", "co.c", "co_fcontext.c", "co_sigalt.c", "must.c")]
    name = f"t-bare{level}{'-static' if libraries else ''}".replace(" ", "")
    return built(case, name, tool("gcc"), *level.split(), "-w", "-D_GNU_SOURCE", *packages,
                 *(libraries or ("-lboost_context",)), "-lpthread")


def start(case, program, *words, engine="ucontext", **kw):
    """(the process, how many are held, lost and created), once it stays as it is."""
    process = case.start(program, *words, env={"CO_ENGINE": engine}, **kw)
    process.wait_for("ready")
    return process, [int(x) for x in re.search(r"^ready (\d+) (\d+) (\d+)$", process.out(), re.M).groups()]


def states(listing):
    return {k: listing["counts"][k] for k in ("suspended", "created", "running")}


def need_states(listing, engine, counts, kept=0):
    """These two engines begin a coroutine when they make it: it is suspended there. kept: that have ended by a switch."""
    held, lost, created = counts
    begun = engine in ("sjlj", "sigalt")
    held += kept
    equal(states(listing), {"suspended": held + lost + (created if begun else 0), "created": 0 if begun else created, "running": 0},
          f"states, {engine}")


def need_stacks(listing, stripped):
    for g in listing["groups"]:
        need(all(c["source"] == "search" and c["kind"] == "stackful" and c["evidence"] for c in g["coroutines"]), f"{g}")
        functions = [f["symbol"] for f in g["stack"] or []]
        if g["state"] == "suspended" and not stripped and "deep" in functions:
            need(functions[functions.index("deep"):].count("serve") == 1, f"{functions}")


def check_states(case, level, *libraries):
    program = bare(case, level, *libraries)
    for engine in ENGINES:
        process, counts = start(case, program, 500, engine=engine)
        listing = listed(case, process.pid)
        # without optimization that engine's last switch is a call, and the coroutine is suspended in it for good
        need_states(listing, engine, counts, 100 if engine == "fcontext" and "-O0" in level else 0)
        need_stacks(listing, "-s" in level)
        equal(listing["ctp_run"], None, "ctp_run")
        process.end()


def lost(case, *words):
    done = ps(case, "--lost", "--json", *words)
    need(done.status in (0, 1, 3) and not done.err, f"{done}")
    return done.status, json.loads(done.out)


def ids(listing):
    return {c["id"] for g in listing["groups"] for c in g["coroutines"]}


def check_lost(case):
    """Exactly those that nothing leads to, not even a registration that has not fired yet; each of the others is held by a
    table, or by the kernel."""
    program = bare(case, "-O0")
    for engine, word in (("ucontext", None), ("sjlj", None), ("fcontext", None), ("ucontext", "epoll"),
                         ("ucontext", "fired"), ("ucontext", "waits"), ("ucontext", "top")):
        process, counts = start(case, program, 200, *([word] if word else []), engine=engine)
        status, found = lost(case, process.pid)
        equal((status, found["decided"], len(ids(found))), (1, True, counts[1]), f"{engine} {word}")
        need(all(c["lost"] and c["lost_why"] for g in found["groups"] for c in g["coroutines"]), "says why")
        held, once = lost(case, "--stop", process.pid)
        equal((held, ids(once)), (1, ids(found)), f"{engine} {word} --stop")
        process.end()


def check_registers(case):
    """Of a thread in epoll_wait, which is not stopped: a register counts if the code behind the call still uses it."""
    for word, status, found in (("forgets", 1, 40), ("keeps", 3, 0)):
        process, counts = start(case, bare(case, "-O0"), 200, word)
        equal(counts[1], 40, "lost")
        done, listing = lost(case, process.pid)
        equal((done, listing["decided"], len(ids(listing))), (status, status == 1, found), word)
        text = ps(case, "--lost", process.pid).out
        equal(f"to decide it: ctp-ps --lost --stop {process.pid}; it holds the threads once, for about " in text, status == 3, text)
        done, listing = lost(case, "--stop", process.pid)
        equal((done, listing["decided"], len(ids(listing))), (1, True, 39), f"{word} --stop")
        process.end()


def check_busy(case):
    """A one-shot that fires again and again never makes its coroutine a lost one, in whatever moment it is looked at."""
    process, counts = start(case, bare(case, "-O0"), 50, "busy")
    for words in [["--stop"]] * 40 + [[]] * 3:
        status, found = lost(case, *words, process.pid)
        need(status == 3 if not found["decided"] else (status, len(ids(found))) == (1, counts[1]), f"{words}: {found}")
    process.end()


def check_none(case):
    """A program without a coroutine has none that is lost."""
    process = case.start(tool("sleep"), "1000")
    until(lambda: proc_state(process.pid) == "S", "its sleep")
    for words in ([], ["--stop"]):
        done = ps(case, "--lost", *words, process.pid)
        equal((done.status, done.err), (0, ""), f"{words}")
        need("\nno coroutine was found; " in done.out and "decide" not in done.out and "of 0" not in done.out, done.out)
    process.end()


def check_main_ended(case):
    """A process that goes on without its first thread is looked into like any other; traced, too."""
    program = case.build / "tests/museum/m-ctp001_main_ended"
    process = case.start(program)
    process.wait_for("ready")
    until(lambda: proc_state(process.pid) == "Z", "the end of the first thread")
    listing = listed(case, process.pid)
    equal(states(listing), {"suspended": 3, "created": 0, "running": 0}, "states")
    equal([t["tid"] == process.pid for t in listing["threads"]], [False], "threads")
    for words in ([], ["--stop"]):
        status, found = lost(case, *words, process.pid)
        equal((status, found["decided"], len(ids(found))), (1, True, 3), f"{words}")
    process.end()
    traced = case.ctp_start("-q", program)
    traced.wait_for("ready")
    equal(listed(case, child_of(traced.pid))["counts"]["suspended"], 3, "traced")
    traced.end()


def demo(case, more):
    """The demo server with its 47 lost connections, and `more` that wait for their clients."""
    process = case.start(case.build / "tests/demo/demo-server")
    process.wait_for("listening")
    port = int(re.search(r"listening on .*:(\d+)", process.out())[1])
    need(case.run(case.build / "tests/demo/demo-client", port).status == 0, "the client")
    process.wait_for("0 requests/s, 47 connections open")
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(more)]
    if clients:
        process.wait_for(f"0 requests/s, {47 + more} connections open")
    return process, clients


def check_demo(case):
    """47 lost, found exactly, and 13 that their registrations lead to."""
    process, clients = demo(case, 13)
    listing = listed(case, process.pid)
    equal(states(listing), {"suspended": 60, "created": 0, "running": 0}, "all")
    waits = {c["id"]: c["waits"] for g in listing["groups"] for c in g["coroutines"]}
    led = {i for i, w in waits.items() if w}
    equal(len(led), 13, "those that a registration leads to")
    need(all(w[0]["kind"] == "tcp" and w[0]["open"] and w[0]["name"] for w in waits.values() if w), "what they wait for")
    for words in ([], ["--stop"]):
        status, found = lost(case, *words, process.pid)
        equal((status, ids(found)), (1, set(waits) - led), f"lost {words}")
    text = ps(case, process.pid).out
    need(re.search(r"^ 60 coroutines conn_main \[suspended, fd .*\]  found by search: behind swapcontext$", text, re.M), text)
    for client in clients:  # the threads were held; what they do goes on
        client.sendall(b"hello\n")
        equal(client.recv(100), b"hello\n", "an echo")
        client.close()


def check_demo_saved(case):
    """What was saved says the same when the process has gone."""
    process, clients = demo(case, 13)
    folder = case.dir / "saved"
    done = ps(case, "--stop", f"--save={folder}", process.pid)
    equal((done.status, done.err), (0, ""), "--save")
    need("cannot save" in refused(case, 2, f"--save={folder}", process.pid), "nothing is overwritten")
    live = listed(case, process.pid)
    process.end()
    for client in clients:
        client.close()
    later = listed(case, folder)
    equal((states(later), ids(later)), (states(live), ids(live)), "the listing")
    waits = [c for g in later["groups"] for c in g["coroutines"] if c["waits"]]
    equal([len(waits), {c["waits"][0]["kind"] for c in waits}], [13, {"tcp"}], "registrations")
    status, found = lost(case, folder)
    equal((status, len(ids(found))), (1, 47), "lost")
    said, by_ps = case.analyze(folder), ps(case, "--lost", folder)
    equal((said.status, said.err), (1, ""), "ctp-analyze of what was saved")
    need(said.out.endswith(by_ps.out) and "47 coroutines" in by_ps.out and "no rule can be tried" in said.out, said.out)
    done = case.run(tool("gdb"), "-nx", "-q", "-batch", "-ex", "thread apply all bt 3", case.build / "tests/demo/demo-server",
                    folder / "core")
    need(done.out.count("worker_main") == 4, f"a debugger reads it: {done.out[-3000:]}")


def check_traced_saved(case):
    """Of a traced program the tables are saved too: the listing and the report are of them, and nothing is PROVEN."""
    for words in ([], ["--stop"]):
        process, program = start_traced(case, "mix", options=["-o", case.dir / f"trace{len(words)}"])
        folder = case.dir / f"saved{len(words)}"
        done = ps(case, *words, f"--save={folder}", program)
        equal((done.status, done.err), (0, ""), "--save")
        live = listed(case, program)
        os.kill(program, signal.SIGKILL)
        process.done()
        later = listed(case, folder)
        equal((later["core"], later["pid"]), (str(folder / "core"), program), "whose")
        need_mix(later)
        equal([(g["count"], g["state"], g["label"]) for g in later["groups"]],
              [(g["count"], g["state"], g["label"]) for g in live["groups"]], "as it lived")
        status, report = case.report(folder)
        need(status in (1, 3) and report["findings"] and all(f["verdict"] != "proven" for f in report["findings"]), f"{status} {report}")
        which = [line for line in report["trace"]["coverage"] if line.startswith(f"process {program}: ")]
        need(len(which) == 1 and not which[0].endswith(" mix"), f"its name, without arguments: {report['trace']['coverage']}")
        equal(report["findings"], case.report(folder / "core")[1]["findings"], "the core alone")
    process, _ = start(case, case.target("bare"), 10)
    equal(ps(case, f"--save={case.dir / 'untraced'}", process.pid).status, 0, "--save")
    done = case.analyze(case.dir / "untraced", "--format=json")
    equal((done.status, done.out, done.err.count("\n")), (2, "", 1), "of one that was not traced")
    need(f"ctp-ps {case.dir / 'untraced'}" in done.err, done.err)


def check_cores(case):
    """As gcore takes it, as the kernel writes it, and cut off anywhere."""
    program = bare(case, "-O2 -g")
    process, counts = start(case, program, 100, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)))
    case.run(tool("gcore"), "-o", case.dir / "taken", process.pid)
    taken = case.dir / f"taken.{process.pid}"
    if not taken.exists():
        raise Skip("gcore makes none")
    need_states(listed(case, taken), "ucontext", counts)
    equal(lost(case, taken)[0], 3, "a core has no registrations")
    process.signal(signal.SIGABRT)
    process.done()
    kernel = [p for p in case.dir.glob("core*") if p.is_file()]
    if kernel:
        need_states(listed(case, kernel[0]), "ucontext", counts)
    data = taken.read_bytes()
    part = case.dir / "part"
    for share in (0.0005, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        part.write_bytes(data[:int(len(data) * share)])
        done = ps(case, "--json", part)
        need(done.status in (0, 2) and done.err.count("\n") == (done.status == 2), f"{share}: {done}")


def check_hostile(case):
    """Whatever stands in memory: a list, or one line."""
    program = bare(case, "-O2 -g")
    process, _ = start(case, program, 50)
    folder = case.dir / "hostile"
    equal(ps(case, "--stop", f"--save={folder}", process.pid).status, 0, "--save")
    process.end()
    data = bytearray((folder / "core").read_bytes())
    filled = [i for i in range(4096, len(data), 8) if any(data[i:i + 8])]
    for step, value in ((7, b"\xff" * 8), (11, b"\x41" * 8), (5, None), (3, b"\0" * 8)):
        bad = bytearray(data)
        for k in filled[step::step]:
            bad[k:k + 8] = value or bad[k - 64:k - 56]
        (folder / "core").write_bytes(bad)
        for words in ([], ["--lost"], ["--all", "--stack", "--why"]):
            done = ps(case, *words, folder)
            need(done.status in (0, 1, 2, 3), f"{step} {words}: {done}")


def check_rights(case):
    """Another user's process is refused with the way out; one's own needs no root."""
    setpriv = [tool("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    tools = case.build / "src/ps/ctp-ps"
    if os.geteuid():
        raise Skip("not root")
    if case.run(*setpriv, "test", "-x", tools).status:
        raise Skip("the build tree is not open to other users")
    roots, _ = start(case, case.target("bare"), 10)
    done = case.run(*setpriv, tools, roots.pid)
    equal((done.status, done.out), (2, ""), "root's")
    need("another user" in done.err and "sudo ctp-ps" in done.err and done.err.count("\n") == 1, done.err)
    own = case.start(*setpriv, case.target("bare"), 10)
    own.wait_for("ready")
    for words in ([], ["--lost"], ["--stop", "--lost"]):
        done = case.run(*setpriv, tools, *words, own.pid)
        need(done.status in (0, 1) and "coroutines" in done.out and not done.err, f"{words}: {done}")


def pages(pid):
    """How many pages of memory that is the process's own it has."""
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Anonymous: +(\d+) kB", rollup, re.M)[1])


def check_no_harm(case):
    """A search gives the process no memory that is its own, and stops nobody."""
    process, _ = start(case, case.target("bare"), 500)
    before = pages(process.pid)
    for words in ([], ["--all", "--stack"], ["--why"], ["--tree"], ["--json"]):
        equal(ps(case, *words, process.pid).status, 0, f"{words}")
    equal(pages(process.pid), before, "pages")
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    need("TracerPid:\t0" in status, "traced")


def check_words(case):
    process, _ = start(case, case.target("bare"), 20)
    one = listed(case, "--all", process.pid)["coroutines"][0]["id"]
    equal([c["id"] for c in listed(case, process.pid, hex(one))["coroutines"]], [one], "by its id")
    need("was found" in refused(case, 1, process.pid, "0x123"), "an id that is none")
    refused(case, 2, "--lost", process.pid, "0x123")  # 1 would say that it is lost
    for words, says in ((["--lost"], "--lost"), (["--stop", process.pid], "--stop"), (["--save=x"], "--save"),
                        ([case.dir], "folder")):
        need(says in refused(case, 2, *words), f"{words}")
    tree = listed(case, "--tree", process.pid)
    equal([r["root"] for r in tree["tree"]], [None], "who made them is not known")
    equal(tree["tree"][0]["all"], states(tree)["suspended"] + states(tree)["created"], "all of them")
    process.end()
    need("no such process" in refused(case, 1, process.pid), "one that has ended")
    need("no such process" in refused(case, 2, "--lost", process.pid), "--lost of one that has ended")


CHECKS = [
    ("O0", lambda case: check_states(case, "-O0 -g")),
    ("O2", lambda case: check_states(case, "-O2 -g")),
    ("static", lambda case: check_states(case, "-O2 -s", "-l:libboost_context.a")),
    ("lost", check_lost),
    ("registers", check_registers),
    ("busy", check_busy),
    ("none", check_none),
    ("main_ended", check_main_ended),
    ("demo", check_demo),
    ("demo_saved", check_demo_saved),
    ("traced_saved", check_traced_saved),
    ("cores", check_cores),
    ("hostile", check_hostile),
    ("rights", check_rights),
    ("no_harm", check_no_harm),
    ("words", check_words),
]
