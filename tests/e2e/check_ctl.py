# SPDX-License-Identifier: MIT
"""ctp-ctl: what is recorded, stopped, started, written as it stands, and let go while the program runs."""
import json
import os
import re
import signal
import socket

from check_attach import Server, may_attach, words_into_libctp
from check_events import counts, shown
from harness import ROOT, Skip, child_of, equal, need, proc_state, tool, until


def ctl(case, *words, before=()):
    return case.run(*before, case.build / "src/ctl/ctp-ctl", *words)


def status(case, pid):
    done = ctl(case, "--json", pid, "status")
    equal(done.status, 0, f"{done}")
    return json.loads(done.out)["status"]


class Traced(Server):
    """The same server, under ctp-run; pid is its own."""

    def __init__(self, case, *words, options=()):
        super().__init__(case, *words, before=[case.run_tool, *options, "--"])
        self.run, self.pid = self.pid, child_of(self.pid)


def does(case, said, *words):
    done = ctl(case, *words)
    equal((done.status, done.err), (0, ""), f"{words}: {done}")
    need(said in done.out, f"{words}: {done.out}")


def refuses(case, code, why, *words):
    done = ctl(case, *words)
    equal((done.status, done.out), (code, ""), f"{words}: {done}")
    need(why in done.err and done.err.count("\n") == 1 and done.err.startswith("ctp-ctl: "), f"{words}: {done.err}")


def check_status(case):
    """By the program's number and by ctp-run's, as text and JSON."""
    server = Traced(case, "5")
    until(lambda: server.say("s")[0] > 10, "answers")
    for pid in (server.pid, server.run):
        said = until(lambda: (lambda s: s["switches"] > 20 and s["records"] and s)(status(case, pid)), "switches")
        equal((said["pid"], said["ctp_run"], said["way"], said["coroutines"], said["lost"]), (server.pid, server.run, "started", 5, 0), "status")
        equal((said["recording"]["state"], said["recording"]["stops"], said["event_list"]), ("on", 0, None), "recording")
        need(said["output"]["path"] == str(case.dir / "ctp.data") and said["output"]["bytes"] > 1000, f"{said['output']}")
    text = ctl(case, server.pid, "status").out
    for line in (f"pid {server.pid}  ", "recording: on; since 20", "seen: 5 coroutines, ", f"trace: {case.dir}/ctp.data, ", "events: all, 0 written"):
        need(f"\n{line}" in f"\n{text}", f"{line!r}: {text}")
    refuses(case, 1, "keeps it", server.pid, "detach")
    server.end()
    refuses(case, 2, "no such process", server.pid, "status")


def check_usage(case):
    """What is not understood, and who is not traced: status 2, one line."""
    refuses(case, 2, "which process?")
    refuses(case, 2, "which verb?", "1")
    refuses(case, 2, "'0' is no PID", "0", "status")
    refuses(case, 2, "'halt' is none of", "1", "halt")
    refuses(case, 2, "one word too many", "1", "stop", "now")
    refuses(case, 2, "events needs a list", "1", "events")
    refuses(case, 2, "has no ctp-run", os.getpid(), "status")
    refuses(case, 2, "no such process", 2 ** 22 + 12345, "status")
    refuses(case, 2, "--jsn", "--jsn", "1", "status")


def check_stopped(case):
    """While recording is stopped the history has a gap, which is named; counts and verdicts lose nothing."""
    server = Traced(case, "3")
    until(lambda: server.say("s")[0] > 10, "answers")
    does(case, "recording has stopped", server.pid, "stop")
    does(case, "had been stopped before", server.pid, "stop")
    before = status(case, server.pid)
    equal(before["recording"]["state"], "stopped", "state")
    server.say("n")
    server.say("c")
    now = until(lambda: (lambda s: s["switches"] > before["switches"] + 50 and s)(status(case, server.pid)), "switches")
    equal((now["records"], now["coroutines"]), (before["records"], 4), "records meanwhile, coroutines")
    need("\nstopped: 1 time, " in ctl(case, server.pid, "status").out, "no word of the stop")
    does(case, "goes on", server.pid, "start")
    does(case, "recorded already", server.pid, "start")
    until(lambda: status(case, server.pid)["records"] > before["records"] + 50, "records")
    server.end()
    report = case.report()[1]
    trace = report["trace"]
    gap, = (line for line in trace["coverage"] if line.startswith("recording was stopped 1 time, for "))
    missing = int(gap.split(" after the start): ")[1].split()[0])
    need(missing > 40 and trace["lost"] == 0 and trace["coroutines"]["total"] == 4, f"{missing}: {trace}")
    need(not any("is missing" in line for line in trace["coverage"]), f"{trace['coverage']}")
    finding, = report["findings"]
    equal((finding["rule"], finding["count"]), ("CTP001", 1), "what was lost meanwhile")
    need(any(f["symbol"] == "command" for f in finding["closer_stack"]), f"closed by {finding['closer_stack']}")


def leads_to(link):
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""  # it was open for a moment


class Line:
    """Requests without a process for each."""

    def __init__(self, engine, pid):
        place = f"/proc/{engine}/fd"
        self.pid = pid
        self.path, = (f"{place}/{fd}" for fd in os.listdir(place) if leads_to(f"{place}/{fd}").endswith("/ctp-control (deleted)"))

    def ask_all(self, verbs):
        """As many at once as there are verbs; how each was answered."""
        lines = []
        for verb in verbs:
            line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            line.connect(self.path)
            line.send(json.dumps({"verb": verb, "pid": self.pid}).encode())
            lines.append(line)
        said = [json.loads(line.recv(1 << 16))["state"] for line in lines]
        for line in lines:
            line.close()
        return said


def check_often(case, rounds=int(os.environ.get("CTP_STOPS", 200))):
    """Stopped and started again and again: no count goes astray. (CTP_STOPS=10000)"""
    server = Traced(case, "4")
    until(lambda: server.say("s")[0] > 10, "answers")
    line = Line(server.run, server.pid)
    for _ in range(rounds // 4):
        equal(line.ask_all(["stop", "start"] * 4), ["ok"] * 8, "answers")
    need(status(case, server.pid)["recording"]["stops"] > 0, "never stopped")
    server.end()
    said = server.process.err()
    trace = case.report()[1]["trace"]
    equal((trace["lost"], trace["coroutines"]["total"], trace["coroutines"]["suspended"]), (0, 4, 4), f"counts: {trace}")
    need(f"{trace['switches']} switches, 4 coroutines, 0 lost" in said, f"{said}: {trace}")
    need(any(x.startswith("recording was stopped ") for x in trace["coverage"]), f"{trace['coverage']}")
    equal(case.report()[1]["findings"], [], "findings")


def check_strangers(case):
    """Who sends what is no request is answered or hung up on, and nothing else happens."""
    server = Traced(case, "3")
    line = Line(server.run, server.pid)
    for words in (b"", b"{", b"[]", b"\0" * 70000, json.dumps({"verb": "x" * 5000, "pid": server.pid}).encode(), b'{"verb":"stop"}',
                  json.dumps({"verb": "stop", "pid": 1}).encode()):
        to = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        to.connect(line.path)
        to.send(words)
        said = to.recv(1 << 16)
        need(not said or json.loads(said)["state"] in ("refused", "not mine"), f"{words[:40]}: {said}")
        to.close()
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(20)]
    for to in silent:
        to.setblocking(False)
        try:
            to.connect(line.path)
        except BlockingIOError:
            pass
    equal(status(case, server.pid)["recording"]["state"], "on", "after 20 who say nothing")
    server.end()


def check_snapshot(case):
    """A whole trace of now, beside the trace or where it is wanted, while recording goes on."""
    server = Traced(case, "3")
    until(lambda: server.say("s")[0] > 10, "answers")
    until(lambda: status(case, server.pid)["records"], "records")
    does(case, str(case.dir / "ctp.data.1"), server.pid, "snapshot")
    does(case, str(case.dir / "now"), server.pid, "snapshot", "now")
    for name in ("ctp.data.1", "now"):
        code, report = case.report(name)
        trace = report["trace"]
        need(trace["switches"] > 20 and trace["coroutines"]["suspended"] + trace["coroutines"]["running"] == 3, f"{name}: {trace}")
        equal((code, report["findings"], trace["lost"]), (0, [], 0), f"{name}")
        need(not any("missing" in line or "cut" in line for line in trace["coverage"]), f"{name}: {trace['coverage']}")
    (case.dir / "mine").mkdir()
    (case.dir / "mine/note").write_text("x")
    refuses(case, 1, "exists and is no ctp trace", server.pid, "snapshot", "mine")
    refuses(case, 1, "No such file", server.pid, "snapshot", "not/there")
    refuses(case, 1, "leave out .jsonl", server.pid, "snapshot", "x.jsonl")
    does(case, str(case.dir / "now"), server.pid, "snapshot", "now")
    need((case.dir / "now.old").is_dir(), "the older one is gone")
    server.end()
    need(case.report()[1]["trace"]["switches"] > case.report("now")[1]["trace"]["switches"] - 1, "the trace itself")


def check_lines(case):
    """JSON lines can be stopped, and need no snapshot; --flight writes none, so there is nothing to stop."""
    server = Traced(case, "3", options=["-o", "x.jsonl"])
    refuses(case, 1, "copy x.jsonl", server.pid, "snapshot")
    does(case, "has stopped", server.pid, "stop")
    server.end()
    server = Traced(case, "3", options=["--flight"])
    refuses(case, 1, "with --flight", server.pid, "stop")
    until(lambda: server.say("s")[0] > 10, "answers")
    does(case, str(case.dir / "kept"), server.pid, "snapshot", "kept")
    need(case.report("kept")[1]["trace"]["coroutines"]["total"] == 3, "tables")
    server.end()


def check_paused(case):
    """--paused: no record until start, but what is true is known."""
    server = Traced(case, "3", options=["--paused"])
    until(lambda: server.say("s")[0] > 10, "answers")
    said = until(lambda: (lambda s: s["switches"] > 20 and s)(status(case, server.pid)), "switches")
    equal((said["recording"]["state"], said["records"], said["coroutines"]), ("stopped", 0, 3), "paused")
    does(case, "goes on", server.pid, "start")
    until(lambda: status(case, server.pid)["records"], "records")
    server.end()
    trace = case.report()[1]["trace"]
    equal((trace["coroutines"]["total"], trace["lost"]), (3, 0), "counts")
    need(any(x.startswith("recording was stopped 1 time, for ") for x in trace["coverage"]), f"{trace['coverage']}")
    done = case.ctp("--paused", "--flight", "true")
    need(done.status == 125 and "--paused" in done.err, f"{done}")


def check_preloaded(case):
    """The engine that libctp.so started is found as well."""
    server = Server(case, "3", env={"LD_PRELOAD": str(case.build / "src/preload/libctp.so"), "CTP_OUTPUT": str(case.dir / "own.data")})
    said = status(case, server.pid)
    equal((said["way"], said["output"]["path"]), ("preloaded", str(case.dir / "own.data")), "status")
    does(case, "has stopped", server.pid, "stop")
    server.end()


def check_detach(case):
    """What ctp-run -p did is undone, and its trace is whole, when ctp-ctl ends."""
    may_attach(case)
    server = Server(case, "3")
    ctp = case.ctp_start("-v", "-p", server.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    first = server.say("s")[0]
    until(lambda: server.say("s")[0] > first + 10, "answers")
    equal(status(case, server.pid)["way"], "attached", "way")
    does(case, f"{(case.dir / 'ctp.data').resolve()}\n", server.pid, "detach")
    equal(words_into_libctp(server.pid), 0, "entries that lead to libctp.so")
    need(case.report()[1]["trace"]["switches"] > 5, "switches")
    equal(ctp.done().status, 0, "status of ctp-run")
    was = server.say("s")[0]
    until(lambda: server.say("s")[0] > was + 5, "answers afterwards")
    server.end()


class Asked:
    """Signals http:request and many:pair whenever it is asked to; waits so many ms at a time for that."""

    def __init__(self, case, ms, options=(), before=()):
        read, self.to = os.pipe()
        self.process = case.start(*before, case.run_tool, *options, "--", case.target("events"), "asked", ms, stdin=read)
        os.close(read)
        self.times = 0
        self.say()
        self.pid = child_of(self.process.pid)

    def say(self):
        self.times += 1
        os.write(self.to, b"s")
        self.process.wait_for(f"said {self.times}")

    def asleep(self):
        until(lambda: proc_state(self.pid) == "S", "the program to wait")

    def end(self):
        os.close(self.to)
        done = self.process.done()
        equal(done.status, 0, f"{done}")
        return done.err


def chooses(case, pid, words, said):
    """However busy the machine is: asked again until the program has come by."""
    def look():
        done = ctl(case, pid, "events", words)
        equal((done.status, done.err), (0, ""), f"{words}: {done}")
        return done.out.startswith("recorded from here on: ") and done.out
    out = until(look, words)
    need(said in out, f"{words}: {out}")


def check_events(case):
    """Events are switched off and on while the program runs; an item that matches nothing is named; a bad list changes nothing."""
    program = Asked(case, 20)
    chooses(case, program.pid, "*,!many", "recorded from here on: *,!many\n")
    equal(status(case, program.pid)["event_list"], "*,!many", "the list")
    program.say()
    chooses(case, program.pid, "many:p*", "recorded from here on: many:p*\n")
    program.say()
    for words in ("a:b:c", "!", ",", "@nothing"):
        refuses(case, 2, "", program.pid, "events", words)
    refuses(case, 2, f"{case.dir}/nothing: cannot read it", program.pid, "events", "@nothing")
    refuses(case, 2, "'a:b:c' is not PROVIDER:NAME", program.pid, "events", "a:b:c")
    program.say()
    (case.dir / "list").write_text("# both\nhttp:*\nmany\n")
    chooses(case, program.pid, "@list", "http:*,many\n")
    program.say()
    chooses(case, program.pid, "nothing:*", "no event of the program matches nothing:* so far")
    program.say()
    need("ctp-ctl events: no event of the program matches nothing:*" in program.end(), "the closing line")
    found = counts(case)
    equal((found["http:request"], found["many:pair"]), (3, 4), "of six: the first two and the fifth; all but the second and the sixth")


def check_asleep(case):
    """A program that sleeps takes the list when it wakes, before it signals anything; also under another user."""
    before = () if os.getuid() else [tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    case.dir.chmod(0o777)
    program = Asked(case, -1, options=["--events=many"], before=before)
    program.asleep()
    done = ctl(case, program.pid, "events", "http", before=before)
    equal((done.status, done.err, done.out), (0, "", "recorded as soon as the program makes a call that waits: http\n"), "asleep")
    program.say()
    program.asleep()
    does(case, "a call that waits: many\n", program.pid, "events", "many")
    program.say()
    program.end()
    found = counts(case)
    equal((found["http:request"], found["many:pair"]), (1, 2), "the second; the first and the third")


WAITS, SLEEPS = ("epoll_wait", "poll", "select", "accept"), ("sleep", "usleep")


def occasion(case, how):
    """The turns in which each event was recorded: the list is changed once, during a wait."""
    read, to = os.pipe()
    process = case.start(case.run_tool, "-q", "-o", how, "--events=turn:one", "./occasions", how, stdin=read)
    os.close(read)
    process.wait_for("waits 1")
    pid, port = child_of(process.pid), how == "accept" and int(re.search(r"port (\d+)", process.out())[1])
    if how in SLEEPS:
        chooses(case, pid, "turn:two", "recorded from here on: turn:two\n")
    else:
        done = ctl(case, pid, "events", "turn:two")
        need(done.status == 0 and done.out.endswith(": turn:two\n"), f"{how}: {done}")
    for byte in (b"q",) if how in SLEEPS else (b"a", b"q"):
        turn = process.out().count("waits ")
        os.write(to, byte)
        if port:
            socket.create_connection(("127.0.0.1", port)).close()
        if byte == b"a":
            process.wait_for(f"waits {turn + 1}")
    equal(process.done().status, 0, how)
    os.close(to)
    events = shown(case, how)
    return [[int(e["n"]) for name, e in events if name == f"turn:{which}"] for which in ("one", "two")]


def check_occasions(case):
    """Whatever the program waits in: it has the new list when it goes on, before it signals anything."""
    built = case.run("gcc", "-O1", f"-I{ROOT}/include", ROOT / "tests/e2e/data/events_occasions.c", "-o", "occasions")
    equal((built.status, built.err), (0, ""), "gcc")
    for how in WAITS:
        equal(occasion(case, how), [[], [1, 2]], how)
    for how in SLEEPS:
        one, two = occasion(case, how)
        equal(one + two, list(range(1, len(one + two) + 1)), f"{how}: one list, then the other")
        need(two, f"{how}: the new list came to nothing")


def check_users(case):
    """Another user's ctp-run does not answer; root is answered by everybody's."""
    if os.getuid():
        raise Skip("needs root to become another user")
    nobody = [tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    case.dir.chmod(0o777)
    ours = Traced(case, "3")
    done = ctl(case, ours.pid, "stop", before=nobody)
    need(done.status == 2 and "may not be asked" in done.err, f"root's, asked by another: {done}")
    equal(status(case, ours.pid)["recording"]["state"], "on", "recording")
    ours.end()
    theirs = Server(case, "3", before=[*nobody, case.run_tool, "-o", "theirs", "--"])
    does(case, "has stopped", child_of(theirs.pid), "stop")
    done = ctl(case, child_of(theirs.pid), "start", before=nobody)
    equal((done.status, done.out), (0, "recording goes on\n"), f"its own user: {done}")
    theirs.end()


def check_suspended(case):
    """A ctp-run that stands still is named, and another one's program is answered all the same."""
    server, other = Traced(case, "3"), Traced(case, "3", options=["-o", "other"])
    os.kill(other.run, signal.SIGSTOP)
    equal(status(case, server.pid)["pid"], server.pid, "of the one that runs")
    os.kill(other.run, signal.SIGCONT)
    equal(status(case, other.pid)["pid"], other.pid, "of the other, afterwards")
    other.end()
    server.end()


CHECKS = [("status", check_status), ("usage", check_usage), ("stopped", check_stopped), ("often", check_often), ("strangers", check_strangers),
          ("snapshot", check_snapshot), ("lines", check_lines), ("paused", check_paused), ("preloaded", check_preloaded),
          ("detach", check_detach), ("events", check_events), ("asleep", check_asleep), ("occasions", check_occasions), ("users", check_users), ("suspended", check_suspended)]
