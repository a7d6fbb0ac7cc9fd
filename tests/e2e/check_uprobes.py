# SPDX-License-Identifier: MIT
"""USDT probes that others have defined (tests/targets/events_usdt.c, Debian's python), recorded by ctp-run as uprobes. The
kernel sets a breakpoint in a file for all who have it mapped: so each check has a copy of its own."""
import collections
import json
import os
import re
import shutil
import signal

from check_events import counts, shown
from check_ctl import does
from harness import Skip, child_of, equal, need, tool, until
from timelines import chrome

PYTHON = "/usr/bin/python3.11"


def copy(case, path, name):
    """A copy of the file, whose probes can be recorded; else the check is skipped, with the reason."""
    if not os.path.exists(path):
        raise Skip(f"there is no {path}")
    own = case.dir / name
    shutil.copy(path, own)
    listed = case.run(case.run_tool, "--list-events", own)
    equal((listed.status, listed.err), (0, ""), "--list-events")
    why = re.search("; not recorded: (.*)", listed.out)
    if why:
        raise Skip(f"not recorded here: {why[1]}")
    need("; recorded as uprobe" in listed.out, f"the list: {listed.out}")
    return own


def usdt(case):
    return copy(case, case.target("events-usdt"), "usdt")


def python(case):
    return copy(case, PYTHON, "python"), {**os.environ, "PYTHONHOME": "/usr", "PYTHONDONTWRITEBYTECODE": "1"}


def met(out):
    return {what: int(n) for what, n in re.findall(r"(\w+) (\d+)", out)}


def check_recorded(case):
    """All that the program has met, with and without a semaphore; each by the coroutine that ran, in its thread."""
    done = case.ctp("-o", "x", "--events=other:*", usdt(case), 5, 40, 3)
    equal(done.status, 0, f"status: {done}")
    own = met(done.out)
    equal(own, {"round": 200, "worker": 120, "asked": 200}, "what the program counts")
    need("322 events, 0 lost" in done.err, f"closing line: {done.err}")
    need("no event of the program matches" not in done.err, done.err)
    events = shown(case, "x")
    equal(collections.Counter(name for name, _ in events),
          {"other:round": own["round"], "other:worker": own["worker"], "other:kinds": 1, "other:data": 1}, "events")
    kinds = dict(events)["other:kinds"]
    equal([kinds[f"arg{i}"] for i in range(8) if f"arg{i}" in kinds],
          ["-5", "65535", "-70000", str(2**64 - 1), "-1", "2", "3", "-40"], "arguments, of each size and sign")
    equal(kinds.get("unread", "0"), "0", "arguments that could not be read")
    ran = collections.defaultdict(set)
    for name, e in events:
        if name == "other:round":
            ran[e["arg0"]].add(e["coroutine"])
    equal(sorted(len(who) for who in ran.values()), [1] * 5, f"one coroutine each: {dict(ran)}")
    equal(len(set().union(*ran.values())), 5, "coroutines")
    by = collections.defaultdict(list)
    for name, e in events:
        if name == "other:worker":
            equal(e["coroutine"], "0", "a thread that has never switched")
            by[e["arg0"]].append(int(e["arg1"]))
    equal(dict(by), {str(i): list(range(40)) for i in range(3)}, "in order, by thread")
    told = {f"{e['provider']}:{e['name']}": e for e in case.report("x")[1]["program_events"]}
    equal({name: e["count"] for name, e in told.items()}, dict(counts(case, "x")), "the report")
    equal([(f["name"], f["type"]) for f in told["other:round"]["fields"]], [("arg0", "i32"), ("arg1", "i32")], "fields")
    need("200 other:round (usdt)" in case.analyze("x").out, "the text names them")
    case.analyze("x", "--format=chrome", "-o", "x.json")
    marks = [m for m in chrome(case.dir / "x.json")[0].marks if m.name == "other:round"]
    equal({m.args["arg0"]: {str(m.track[2])} for m in marks}, dict(ran), "on the coroutines' tracks")
    folded = case.analyze("x", "--format=folded", "--weight=event:other:round")
    equal(sum(int(line.rsplit(" ", 1)[1]) for line in folded.out.splitlines()), 200, f"a profile by them: {folded}")
    equal(counts(case, "x")["other:round"], len(re.findall("other:round", case.run(tool("babeltrace2"), "x").out)), "babeltrace2")


def check_chosen(case):
    """Only by an item that spells the provider out."""
    program = usdt(case)
    for words, want in (((), {}), (("--events=*",), {}), (("--events=*:round",), {}), (("--events=other:r*",), {"other:round": 20}),
                        (("--events=other,!other:worker,!*:round",), {"other:kinds": 1, "other:data": 1})):
        done = case.ctp("-o", "x", *words, program, 2, 10, 2)
        equal(dict(counts(case, "x")), want, f"{words}")
        equal(met(done.out)["asked"], 20 if "other:round" in want else 0, f"{words}: the semaphore")


def check_root_given_up(case):
    """A program that has become another user makes its threads as without ctp, and what they meet is recorded."""
    program = usdt(case)
    case.dir.chmod(0o755)
    done = case.ctp("-o", "x", "--events=other:*", program, 1, 30, 3, "nobody")
    equal((done.status, met(done.out)["worker"]), (0, 90), f"threads: {done}")
    equal(counts(case, "x")["other:worker"], 90, "events")


def check_children(case):
    """With -f, what children meet; also where the program is there only after an exec. Without, it alone."""
    program = usdt(case)
    script = f"{program} 1 25 2 & {program} 2 25 0 & wait; exec {program} 1 10 0"
    done = case.ctp("-f", "-o", "x", "--events=other:*", "sh", "-c", script)
    equal(done.status, 0, f"{done}")
    equal(dict(counts(case, "x")), {"other:round": 85, "other:worker": 50, "other:kinds": 3, "other:data": 3}, "with -f")
    case.ctp("-o", "y", "--events=other:*", "sh", "-c", f"{program} 1 25 2; exec {program} 1 10 0")
    equal(dict(counts(case, "y")), {"other:round": 10, "other:kinds": 1, "other:data": 1}, "without")


def check_debian(case):
    """Debian's python: the collections that it makes, with their generations."""
    program, env = python(case)
    script = "import gc\ngc.disable()\nfor i in (2, 0, 1, 1, 2, 0, 0): gc.collect(i)\nprint(open('/proc/self/comm').read())"
    done = case.ctp("-o", "x", "--events=python:gc__*,!python:gc__done", program, "-c", script, env=env)
    equal(done.status, 0, f"{done}")
    generations = "".join(e["arg0"] for name, e in shown(case, "x") if name == "python:gc__start")
    need("2011200" in generations, f"generations: {generations}")
    need({e["unread"] for name, e in shown(case, "x")} <= {"0"}, "read from the stack")
    equal(set(counts(case, "x")), {"python:gc__start"}, "events")


def check_anew(case):
    """ctp-ctl chooses anew while the program runs."""
    program, env = python(case)
    script = ("import gc, sys\ngc.disable()\nprint('ready', flush=True)\n"
              "for line in sys.stdin:\n gc.collect(int(line))\n print('done', flush=True)")
    run = case.ctp_start("-o", "x", "--events=none:*", program, "-c", script, env=env, stdin=-1)
    run.wait_for("ready")
    pid = child_of(run.pid)

    def collect(generation):
        before = run.out().count("done")
        run.popen.stdin.write(b"%d\n" % generation)
        run.popen.stdin.flush()
        until(lambda: run.out().count("done") > before, "the collection")
    collect(1)
    does(case, "python:gc__start", pid, "events", "python:gc__start")
    collect(2)
    does(case, "none:*", pid, "events", "none:*")
    collect(0)
    run.popen.stdin.close()
    equal(run.done().status, 0, "status")
    first, *_ = [e["arg0"] for name, e in shown(case, "x") if name == "python:gc__start"] or [None]
    equal((first, counts(case, "x")["python:gc__start"]), ("2", 1), "those of the second list alone")


def check_refused(case):
    """Without the right one line says so, and the program runs as without."""
    program = usdt(case)
    if os.getuid():
        raise Skip("needs root to become another user")
    nobody = [tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    case.dir.chmod(0o777)
    if case.run(*nobody, "test", "-x", case.run_tool).status:
        raise Skip("the build folder is closed to other users")
    done = case.run(*nobody, case.run_tool, "-o", "x", "--events=other:*", program, 2, 10, 2)
    equal((done.status, met(done.out)), (0, {"round": 20, "worker": 20, "asked": 0}), f"the program: {done}")
    equal([line for line in done.err.splitlines() if "USDT" in line],
          ["ctp-run: USDT probes that --events names (other) are not recorded: "
           "the kernel asks for root or CAP_PERFMON to set uprobes; all else is"], "one line")
    need("not recorded: the kernel asks for root" in json.dumps(case.report("x")[1]["trace"]["coverage"]), "the report says it, too")
    equal(dict(counts(case, "x")), {}, "events")
    listed = case.run(*nobody, case.run_tool, "--list-events", program).out
    need(listed.count("not recorded: the kernel asks for root or CAP_PERFMON to set uprobes") >= 4, f"the list: {listed}")


def check_left_out(case):
    """Where the output has no room for them."""
    program = usdt(case)
    for words, why in ((("-o", "x.jsonl"), "JSON lines hold switches alone"), (("-o", "y", "--flight"), "not with --flight")):
        done = case.ctp(*words, "--events=other:*", program, 1, 10, 1)
        equal((done.status, met(done.out)["asked"], done.err.count("are not recorded: " + why)), (0, 0, 1), f"{words}: {done}")


def check_killed(case):
    """However ctp-run ends, nothing of it stays in the program's file, nor in its memory."""
    program, env = python(case)
    if "EXEC" not in case.run(tool("readelf"), "-hW", program).out:
        raise Skip("this python has no address of its own")
    script = "import sys\nprint('ready', flush=True)\nsys.stdin.read()\nprint('over', flush=True)"
    run = case.ctp_start("-o", "x", "--events=python:gc__*", program, "-c", script, env=env, stdin=-1)
    run.wait_for("ready")
    pid = child_of(run.pid)
    notes = case.run(tool("readelf"), "-nW", program).out
    place = int(re.search(r"Name: gc__start\n\s*Location: (\S+),", notes)[1], 16)

    def there():
        with open(f"/proc/{pid}/mem", "rb") as memory:
            memory.seek(place)
            return memory.read(1)
    until(lambda: there() == b"\xcc", "the breakpoint")
    os.kill(run.pid, signal.SIGKILL)
    until(lambda: there() != b"\xcc", "the breakpoint's end")
    run.popen.stdin.close()
    until(lambda: "over" in run.out(), "the program goes on")


def check_quiet_without(case):
    """A program with events of its own, and no probe of others by that name: nothing is said."""
    done = case.ctp("-o", "x", "--events=http:*", case.target("events"), "kinds")
    need("USDT" not in done.err, f"{done.err}")
    equal({name for name, _ in shown(case, "x")}, {"http:request", "http:idle"}, "events")


CHECKS = [("recorded", check_recorded), ("chosen", check_chosen), ("root_given_up", check_root_given_up), ("children", check_children),
          ("debian", check_debian), ("anew", check_anew), ("refused", check_refused), ("left_out", check_left_out),
          ("killed", check_killed), ("quiet_without", check_quiet_without)]
