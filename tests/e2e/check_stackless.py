# SPDX-License-Identifier: MIT
"""C++20 coroutines (tests/targets/stackless.cpp): which are found, where each is suspended, who awaits whom; and what is
said of those that nothing can resume. A museum of faults and of what looks like them, with GCC and with Clang."""
import json
import os
import random
import re
import shutil
import signal
import sys

import packages
from check_cost_hooks import need_plain_build
from check_engines import TARGETS, built
from harness import Skip, child_of, equal, need, timed, tool, until, validate

SOURCE = TARGETS / "stackless.cpp"
COMPILERS = ["g++", "clang++"]
COUNT = 3

# What must be said of all three. Of those in ALSO something else is right as well, with the reason.
FAULTS = {
    "closed": "CTP029 proven", "closed_deep": "CTP029 proven", "closed_handle": "CTP029 proven", "closed_object": "CTP029 proven",
    "popped": "CTP029 proven", "event_lost": "CTP029 proven", "ring": "CTP029 proven", "timer_dropped": "CTP029 proven",
    "registration_removed": "CTP029 proven", "overwritten": "CTP029 proven", "never_started": "CTP014 proven",
    "closed_timer": "CTP029 proven", "lock_freed": "CTP029 proven", "callback_threw": "CTP029 proven",
    "lost_after_sleep": "CTP029 proven", "closed_beside_child": "CTP029 likely",
    "map_kept": "CTP029 likely", "owned": "CTP029 likely", "numbered": "CTP029 suspect",
}
ALSO = {
    "never_started": ["CTP029 proven"],  # the compiler has put the ramp elsewhere: its line is that of the first suspension
    "closed_deep": ["CTP029 likely"],    # a dead word leads to one that awaits it
}
# Of these nothing is left that shows how they were kept: they are PROVEN if a look has seen them before, else LIKELY.
SEEN_BEFORE = {"closed_object", "popped", "event_lost", "timer_dropped", "registration_removed", "callback_threw", "never_started",
               "lost_after_sleep"}
CLOSED = {"closed", "closed_beside_child", "closed_timer", "closed_deep", "closed_handle", "map_kept", "owned", "numbered"}
# Never PROVEN: of these nothing may be said, but for what stands behind.
SOUND = {
    "healthy": "", "parked_generators": "", "ended_and_kept": "", "ended_and_leaked": "", "lazy_and_kept": "", "queued": "",
    "tagged": "", "packed": "", "shifted": "", "by_promise": "", "typed_keys": "", "line_numbers": "", "lazy_as_text": "",
    "in_a_pipe": "", "in_a_thread": "", "closed_and_resumed": "", "listed_beside_closed": "",
    "numbered_again": "", "numbered_later": "",
    "destroyed": "", "armed_timers": "", "pool_allocator": "", "polling_executor": "CTP029 likely", "io_uring_beside": "CTP029 inconclusive", "forged": "",
}
# A thread that has ended leaves words on its stack, which the C library keeps: they count.
DOUBTFUL = {"thread_ended": ("CTP029 proven", "CTP029 likely")}
# The program has their handles, in a form that is not searched for (tests/targets/stackless_disguised.cpp).
DISGUISED = ("as_digits", "xored", "beside_registered", "beside_owned", "registered_before", "ring_of_resumed")
# In the same file: of how many it must be said, and what.
COUNTED = {"by_number": (0, None), "by_number_closed": (1, "likely"), "behind_full_block": (COUNT, "likely")}


def program(case, compiler, *words, source=SOURCE):
    packages.want("g++" if compiler == "g++" else "clang")
    if not shutil.which(compiler):
        raise Skip(f"no {compiler}")
    words = words or ("-O1",)
    name = f"t-{source.stem}-" + compiler.replace("+", "x") + "".join(words)
    return built(case, name, tool(compiler), "-std=c++20", "-g", "-w", *words, source, "-pthread")


def looked(trace):
    """The lines of the last inspection."""
    path = trace / "ctp/image0/stackless.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    return [line for line in found if line["what"] != "unseen"]


def searched(trace):
    """The lines of a look that found rest to search in: one that did not is repeated."""
    lines = looked(trace)
    return lines if lines and not (lines[0]["undecided"] and re.search("^memory (was not|could not be) searched$|ran while", lines[0]["why"])) else None


def lose(case, process):
    """The program has made them, and waits: a look sees what leads to them. Then they are lost, and a look sees that, too."""
    trace = case.dir / "ctp.data"
    process.wait_for("made")
    until(lambda: (searched(trace) or [{}])[0].get("total") == COUNT, "a look at them")
    os.kill(child_of(process.pid), signal.SIGUSR1)
    process.wait_for("ready")
    until(lambda: [line for line in searched(trace) or [] if line["what"] == "coroutine"], "a look at what was lost")


def observed(case, compiler, name, path=None, ends=("closed_and_resumed", "destroyed"), word=None):
    """(report, lines): what is said of a program that has come to rest, and is then told to end. ends: cases of which none is left."""
    process = case.ctp_start(path or program(case, compiler), name, *((COUNT, word) if word else ()))
    if name == "io_uring_beside":
        until(lambda: process.out() or process.popen.poll() is not None, "its first line")
        if "no io_uring" in process.out():
            raise Skip("the kernel has no io_uring, or refuses it")
    if word == "rests":
        lose(case, process)
    process.wait_for("ready")
    ended = name in ends
    until(lambda: ended or searched(case.dir / "ctp.data"), "an inspection")
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()
    report = json.loads(case.analyze("ctp.data", "--format=json").out)
    validate(report)
    lines = looked(case.dir / "ctp.data")
    why = lines[0]["why"] if lines else ""
    if lines and lines[0]["undecided"] and re.search(r"socket at port|time|ran while|sleeps where|^memory (was not|could not be) searched$", why):
        raise Skip(f"this machine: {why}")
    return report, lines


def said(report):
    return sorted({f"{f['rule']} {f['verdict']}" for f in report["findings"]})


def check_fault(case, compiler, name, expected):
    each = 2 if name == "ring" else 1
    # A word that a stack still has may lead to some; by chance, now and then, words lead to more: see harness.led_to.
    left = COUNT - 1 if name == "ring" else int(expected.endswith(("likely", "suspect")))
    for _ in range(3):
        report, lines = observed(case, compiler, name, word="rests" if name in SEEN_BEFORE else None)
        found = sum(f["count"] for f in report["findings"])
        if found >= (COUNT - left) * each:
            break
        case.anew()
    allowed = [expected, *ALSO.get(name, [])]
    need(said(report) and all(x in allowed for x in said(report)), f"{said(report)} of {allowed}: {lines}")
    need((COUNT - left) * each <= found <= COUNT * each and found % each == 0, f"{found} coroutines in findings")
    equal(report["trace"]["stackless"]["in_findings"], found, "the same in the counts")
    for f in report["findings"]:
        where = f["waiter_stack"][0]
        need(where["file"].endswith("stackless.cpp") and where["line"], f"waiter: {where}")
        need(not CLOSED & {name} or f["closer_stack"][0]["symbol"].split("(")[0] in ("reap", "reap_all"), f"closer: {f['closer_stack']}")
        need(not CLOSED & {name} or f["opener_stack"], "who opened it")
        need(name != "lost_after_sleep" or not f["closer_stack"], f"it closed its timer itself: {f['closer_stack']}")
    if name == "closed_deep":
        equal([x["symbol"].split("(")[0] for x in report["findings"][0]["waiter_stack"]][:3], ["read_byte", "read_line", "session"], "async stack")
        marked = next(n for n, line in enumerate(SOURCE.read_text().splitlines(), 1) if line.endswith("// fault"))
        equal(report["findings"][0]["waiter_stack"][0]["line"], marked, "line of the co_await")


def check_sound(case, compiler, name, allowed):
    report, _ = observed(case, compiler, name)
    need(all(x == allowed for x in said(report)), f"{said(report)}, at most {allowed!r}")


def check_doubtful(case, compiler, name, allowed):
    report, _ = observed(case, compiler, name)
    need(all(x in allowed for x in said(report)), f"{said(report)}, at most {allowed}")


def check_ticks(case, compiler):
    """Never idle for as long as it is waited for: it is looked at between two ticks."""
    report, lines = observed(case, compiler, "closed", word="ticks")
    equal(lines[0]["total"], COUNT, "found")
    need(all(x.startswith("CTP029") for x in said(report)) and report["findings"], f"{said(report)}: {lines}")


def check_pauses(case, compiler):
    """A thread that waits for a signal is no reason not to search: a stop in pause(2) goes unseen."""
    process = case.ctp_start(program(case, compiler), "closed", COUNT, "pauses")
    process.wait_for("ready")
    until(lambda: [line for line in looked(case.dir / "ctp.data") if line["what"] == "coroutine"], "a look at what was lost")
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()
    report = json.loads(case.analyze("ctp.data", "--format=json").out)
    validate(report)
    need(report["findings"] and all(x.startswith("CTP029") for x in said(report)), said(report))


def check_sends(case, compiler):
    """Bytes that it sent to itself may hold a handle: SUSPECT, and the report says which."""
    process = case.ctp_start(program(case, compiler), "closed", COUNT, "sends")
    process.wait_for("ready")
    until(lambda: searched(case.dir / "ctp.data"), "a look")
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()
    report = json.loads(case.analyze("ctp.data", "--format=json").out)
    equal(said(report), ["CTP029 suspect"], looked(case.dir / "ctp.data"))
    text = " ".join(case.analyze().out.split())
    need("holds bytes that the process may have sent to itself" in text, text)


def check_ticks_sound(case, compiler, name):
    """Handles in disguise: a look that was cut short says nothing of who keeps them."""
    report, lines = observed(case, compiler, name, word="ticks")
    equal((said(report), lines[0]["total"]), ([], COUNT), f"{lines}")


def check_never_seen(case, compiler, name):
    """Lost at once, so no look has seen how they were kept: likely, and why; but where nothing can happen any more, it is proven by that."""
    report, lines = observed(case, compiler, name, word="listens")
    need({f["verdict"] for f in report["findings"]} <= {"likely"}, f"{said(report)}: {lines}")
    need(report["findings"], f"no finding: {lines}")
    text = " ".join(case.analyze().out.split())
    need("was ever found: it may be kept in a form that is not searched for" in text, text)
    case.anew()
    report, lines = observed(case, compiler, name)
    equal({f["verdict"] for f in report["findings"]}, {"proven"}, f"where it sleeps for good: {lines}")
    text = " ".join(case.analyze().out.split())
    need("every thread sleeps without a timeout" in text and "once stopped and continued, resumes it on EINTR" in text, text)


def check_disguised(case, compiler, name):
    report, lines = observed(case, compiler, name, program(case, compiler, source=TARGETS / "stackless_disguised.cpp"))
    need(lines and set(said(report)) <= {"CTP029 likely"}, f"{said(report)}: {lines}")


def check_counted(case, compiler, name, many, verdict):
    report, lines = observed(case, compiler, name, program(case, compiler, source=TARGETS / "stackless_disguised.cpp"))
    need(lines, "no look")
    equal(sum(f["count"] for f in report["findings"]), many, f"{said(report)}: {lines}")
    need(all(f["rule"] == "CTP029" and f["verdict"] == verdict for f in report["findings"]), f"{said(report)}: {lines}")


def check_long_waits(case, compiler):
    """Reached, and resumed by nobody while a timer's coroutine is: a fact, with the place; nothing of the other."""
    path = program(case, compiler, source=TARGETS / "stackless_disguised.cpp")
    process = case.ctp_start(path, "in_list_beside_timer")
    process.wait_for("ready")
    until(lambda: [line for line in looked(case.dir / "ctp.data") if line["what"] == "waits"], "a look at what waits for long")
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()
    text = " ".join(case.analyze().out.split())
    need("3 C++20 coroutines are suspended in waits_in_list stackless_disguised.cpp:" in text, text)
    need("timed" not in text and "CTP029" not in text, text)


def check_turns(case, compiler):
    """Awaited by those who hold a descriptor of which an event may come: a fact all the same, with who awaits them. Where no thread runs
    any more, no look is needed for their age to grow."""
    path = program(case, compiler, source=TARGETS / "stackless_disguised.cpp")
    process = case.ctp_start(path, "turns")
    process.wait_for("ready")

    def told():
        lines = looked(case.dir / "ctp.data")
        still = any(line["what"] == "again" and line["still"] for line in lines)
        return still and [line for line in lines if line["what"] == "waits" and line["count"] == 3 and "turn" in line["symbol"]]

    until(told, "a look at what waits for long")
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()
    text = " ".join(case.analyze().out.split())
    found = re.search(r"3 C\+\+20 coroutines are suspended in turn stackless_disguised.cpp:\d+ <- serves stackless_disguised.cpp:\d+ for", text)
    need(found and "CTP029" not in text, text)
    need("; 3 hold the number of a descriptor of which an event may come" in text or compiler == "clang++", text)


def listing(case, pid, *words):
    done = case.run(case.build / "src/ps/ctp-ps", "--json", *words, pid)
    equal(done.status, 0, done.err)
    return json.loads(done.out)


def stacks(out):
    """{(functions of the stack), state: count} of all groups."""
    found = {}
    for g in out["groups"]:
        key = (tuple((f["symbol"] or "").split("(")[0] for f in g["stack"]), g["state"])
        found[key] = found.get(key, 0) + g["count"]
    return found


def check_listing(case, compiler, *words):
    """Not traced: 3 chains of three, and 3 alone; as chains, with lines where there is debug information."""
    process = case.start(program(case, compiler, *words), "healthy")
    process.wait_for("ready")
    out = listing(case, process.pid)
    found = stacks(out)
    # Functions of the same code may have been folded: then the name is that of another.
    need(found.get((("waits_by_handle",), "suspended")) == 3 or "-flto" in words, f"alone: {found}")
    equal(found.get((("read_byte", "read_line", "session"), "suspended")), 3, f"chains: {found}")
    equal(sum(found.values()), 12, f"all: {found}")
    equal(out["counts"]["stackless"], 12, "stackless")
    ids = {c["id"]: c for g in out["groups"] for c in g["coroutines"]}
    for c in ids.values():
        equal((c["kind"], c["source"]), ("stackless", "search"), "kind and source")
        need(c["evidence"], "evidence")
        need(all(c["id"] in ids[x]["awaited_by"] for x in c["awaits"]), "awaits and awaited_by")
    innermost = [c for c in ids.values() if not c["awaits"]]
    equal(len(innermost), 6, "who awaits nobody")
    need(all(c["waits"] for c in innermost), "registrations that lead there")
    lines = SOURCE.read_text().splitlines()
    for c in innermost:
        at = c["suspended_at"]
        if at["line"]:
            need("co_await" in lines[at["line"] - 1], f"{at}: {lines[at['line'] - 1]}")
        need(at["line"] or words != ("-O0",), f"no line: {at}")
    process.end()


# Not traced, by --lost: how many of three nothing leads to. Whatever an owner still has is not among them.
LOST = {"closed": 3, "closed_deep": 9, "closed_handle": 3, "closed_object": 3, "popped": 3, "ring": 6, "never_started": 3,
        "registration_removed": 3, "healthy": 0, "map_kept": 0, "owned": 0, "parked_generators": 0, "lazy_and_kept": 0, "queued": 0,
        "ended_and_leaked": 0, "by_promise": 0, "pool_allocator": 0, "in_a_thread": 0}


def check_lost(case, compiler, name, many):
    """From outside: what nothing leads to, and the exit status; never called proven."""
    process = case.start(program(case, compiler), name)
    process.wait_for("ready")
    done = case.run(case.build / "src/ps/ctp-ps", "--lost", "--stop", "--json", process.pid)
    if done.status == 3:
        raise Skip(f"this machine: {json.loads(done.out)['undecided']}")
    out = json.loads(done.out)
    found = sum(g["count"] for g in out["groups"])
    # A dead word on the stack of a thread that sleeps leads to one.
    need(found == many or 0 < many - found <= (3 if name == "closed_deep" else 1) < many, f"{found}: {done.out[:2000]}")
    need(all(c["lost"] and c["lost_why"] and c["kind"] == "stackless" for g in out["groups"] for c in g["coroutines"]), done.out[:2000])
    equal(done.status, int(many > 0), done.err)
    text = case.run(case.build / "src/ps/ctp-ps", "--lost", "--stop", process.pid).out
    need(f"{found} of {out['all']} coroutines: nothing in the process's memory" in text and "PROVEN" not in text, text)
    process.end()


def check_lost_traced(case, compiler):
    """Under ctp-run: its own tables of frames lead to nobody."""
    process = case.ctp_start(program(case, compiler), "popped", COUNT, "listens")
    process.wait_for("ready")
    until(lambda: searched(case.dir / "ctp.data"), "a look")
    done = case.run(case.build / "src/ps/ctp-ps", "--lost", "--stop", "--json", child_of(process.pid))
    equal(done.status, 1, done)
    out = json.loads(done.out)
    need(COUNT - 1 <= sum(g["count"] for g in out["groups"]) <= COUNT, done.out[:2000])
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()


def check_lost_undecided(case):
    """Where a sleeping thread may keep a handle in a register, nothing is said without a stop."""
    process = case.start(program(case, "g++"), "closed")
    process.wait_for("ready")
    done = case.run(case.build / "src/ps/ctp-ps", "--lost", process.pid)
    need(done.status in (1, 3) and ("not decided which of 3" in done.out) == (done.status == 3), done.out)
    process.end()


# What remains to be found without names. Of Clang's: those that suspend at several places, in frames of their own.
STRIPPED = {"healthy": {"suspended": 12}, "parked_generators": {"suspended": 3}, "owned": {"suspended": 6}, "lazy_and_kept": {"initial": 3},
            "ended_and_kept": {"final": 3}, "destroyed": {}}


def states_of(out):
    found = {}
    for g in out["groups"]:
        found[g["state"]] = found.get(g["state"], 0) + g["count"]
    return found


def stripped(case, whole):
    packages.want("binutils")
    equal(case.run(tool("strip"), "-o", case.dir / "stripped", whole).status, 0, "strip")
    return case.dir / "stripped"


def check_stripped(case, compiler, *words):
    """No symbol names the functions: their code does. All of GCC's are found, and of Clang's none that is not there."""
    own = stripped(case, program(case, compiler, *words))
    for name, states in STRIPPED.items():
        process = case.start(own, name)
        process.wait_for("ready")
        out = listing(case, process.pid)
        found = states_of(out)
        if compiler == "g++":
            equal(found, states, name)
        need(sum(found.values()) <= sum(states.values()), f"{name}: {found} of {states}")
        need(compiler == "g++" or name != "owned" or "-flto" in words or found == states, f"{name}: {found}")
        for c in (c for g in out["groups"] for c in g["coroutines"]):
            need("no symbol names" in c["evidence"][0], f"{c['evidence']}")
            need(not c["suspended_at"] or not c["suspended_at"]["line"], f"a line: {c['suspended_at']}")
        if name == "healthy" and compiler == "g++":
            edges = listing(case, process.pid, "--tree")["waits_for"]
            equal([e["why"] for e in edges], ["await"] * 6, "who awaits whom")
        process.end()


def check_callbacks(case, compiler):
    """Objects that begin with two functions, in a stripped C++ program: none is a coroutine."""
    packages.want("g++" if compiler == "g++" else "clang")
    if not shutil.which(compiler):
        raise Skip(f"no {compiler}")
    source = TARGETS / "callbacks.cpp"
    for words in (["-O0"], ["-O2"], ["-Os", "-no-pie"]):
        name = "t-callbacks-" + compiler.replace("+", "x") + "".join(words)
        process = case.start(stripped(case, built(case, name, tool(compiler), "-std=c++20", "-w", *words, source)), 40)
        process.wait_for("ready")
        equal(listing(case, process.pid)["groups"], [], f"{words}")
        process.end()


def check_cut_core(case, compiler):
    """A saved process whose core is cut off: one line says so, and none is called lost."""
    process = case.start(program(case, compiler), "closed")
    process.wait_for("ready")
    ps, saved = case.build / "src/ps/ctp-ps", case.dir / "saved"
    equal(case.run(ps, "--stop", f"--save={saved}", process.pid).status, 0, "saved")
    process.end()
    core = saved / "core"
    equal(case.run(ps, saved).out.count("cut off"), 0, "whole")
    size, told = core.stat().st_size, 0
    for tenths in range(9, -1, -1):
        os.truncate(core, size * tenths // 10)
        done, lost, as_json = case.run(ps, saved), case.run(ps, "--lost", saved), case.run(ps, "--json", saved)
        if done.status:  # it does not even say what its threads did
            equal((done.status, lost.status, as_json.status, len(done.err.splitlines())), (2, 2, 2, 1), f"{tenths} tenths: {done.err}")
            continue
        equal(done.out.count("cut off"), 1, f"{tenths} tenths: {done.out}")
        equal((lost.status, lost.out.count("cut off")), (3, 1), f"{tenths} tenths: {lost.out}")
        need("cut off" in json.loads(as_json.out)["partial"], as_json.out)
        told += 1
    need(told, "a cut of its memory alone")


def check_tree(case):
    """Each below the one that awaits it; in the JSON as edges."""
    process = case.start(program(case, "g++"), "healthy")
    process.wait_for("ready")
    text = case.run(case.build / "src/ps/ctp-ps", "--tree", process.pid).out
    lines = [re.sub(r" +at .*", "", line) for line in text.splitlines() if "coroutines" in line and "[" in line]
    equal(lines[:3], [" 3 coroutines session [suspended]", "    awaits 3 coroutines read_line [suspended]", lines[2]], text)
    need(lines[2].startswith("        awaits 3 coroutines read_byte [suspended, fd "), text)
    need(len(lines) == 4 and lines[3].startswith(" 3 coroutines waits_by_handle "), text)
    every = case.run(case.build / "src/ps/ctp-ps", "--tree", "--all", process.pid).out
    equal([len(re.findall(rf"^{begin} coroutine 0x", every, re.M)) for begin in ("", " {4}awaits", " {8}awaits")], [6, 3, 3], every)
    edges = listing(case, process.pid, "--tree")["waits_for"]
    equal([e["why"] for e in edges], ["await"] * 6, "edges")
    process.end()


def check_states(case):
    for name, states in {"lazy_and_kept": {"initial": 3}, "ended_and_kept": {"final": 3}, "parked_generators": {"suspended": 3},
                         "destroyed": {}}.items():
        process = case.start(program(case, "g++"), name)
        process.wait_for("ready")
        found = {}
        for g in listing(case, process.pid)["groups"]:
            found[g["state"]] = found.get(g["state"], 0) + g["count"]
        equal(found, states, name)
        process.end()


def check_forged(case, compiler):
    """Words that only look like frames, in a circle of 2,000: the real ones are listed all the same, each with its chain."""
    process = case.start(program(case, compiler), "forged")
    process.wait_for("ready")
    need(len(listing(case, process.pid, "--tree")["waits_for"]) >= 6, "edges of the real chains")
    found = stacks(listing(case, process.pid))
    equal(found.get((("read_byte", "read_line", "session"), "suspended")), 3, f"chains: {list(found.items())[:20]}")
    equal(found.get((("waits_by_handle",), "suspended")), 3, f"alone: {list(found.items())[:20]}")
    equal(case.run(case.build / "src/ps/ctp-ps", "--why", process.pid).status, 0, "--why")
    process.end()


# What is done to a debug file, by its bytes.
def cut(data, at):
    return data[:len(data) * at // 16]


def scribbled(data, seed):
    out, r = bytearray(data), random.Random(seed)
    for _ in range(200):
        out[r.randrange(64, len(out))] = r.randrange(256)
    return bytes(out)


def check_hostile_debug(case, compiler):
    """A program whose debug file is cut off or scribbled over: the listing ends, and says what it can."""
    whole, own = program(case, compiler, "-O1"), case.dir / "own"
    packages.want("binutils")
    for words in (("objcopy", "--only-keep-debug", whole, case.dir / "own.debug"), ("strip", "-o", own, whole),
                  ("objcopy", f"--add-gnu-debuglink={case.dir}/own.debug", own)):
        equal(case.run(tool(words[0]), *words[1:]).status, 0, words[0])
    process = case.start(own, "healthy")
    process.wait_for("ready")
    equal(sum(stacks(listing(case, process.pid)).values()), 12, "with the debug file as it should be")
    data = (case.dir / "own.debug").read_bytes()
    hostile = [cut(data, n) for n in range(0, 16, 2)] + [scribbled(data, n) for n in range(12)]
    for n, bad in enumerate(hostile):
        (case.dir / "own.debug").write_bytes(bad)
        done = case.run(case.build / "src/ps/ctp-ps", "--json", process.pid)
        need(done.status in (0, 1), f"{n}: {done}")
        many = sum(stacks(json.loads(done.out)).values()) if done.status == 0 else 0
        need(many <= 12, f"{n}: {many} of 12")
    process.end()


def check_checked(case):
    """A program that has C++20 coroutines alone was watched: --check is a check, and no line says that nothing was seen."""
    done = timed(lambda option: case.ctp("--error-exitcode=9", option, program(case, "g++"), "healthy"), 2)
    equal(done.status, 124, f"status ({done})")
    need("nothing was checked" not in done.err and "no coroutine switch" not in done.err, done.err)


def check_silent(case):
    """Function and line of a program that calls nothing hooked, so that no hook has named its executable."""
    packages.want("g++")
    source = TARGETS / "stackless_silent.cpp"
    silent = built(case, "t-stackless-silent", tool("g++"), "-std=c++20", "-g", "-w", "-O1", source)
    process = case.ctp_start(silent)
    process.wait_for("ready")
    until(lambda: searched(case.dir / "ctp.data"), "an inspection")
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()
    found = json.loads(case.analyze("ctp.data", "--format=json").out)["findings"]
    if not found and looked(case.dir / "ctp.data")[0]["undecided"]:
        raise Skip(f"this machine: {looked(case.dir / 'ctp.data')[0]['why']}")
    need(found, "no finding")
    where = found[0]["waiter_stack"][0]
    need((where["symbol"] or "").startswith("forgotten_request") and where["file"].endswith(source.name) and where["line"], f"{where}")


def looked_at(case, process, number):
    """Waits for a look at which there are so many."""
    process.wait_for("ready")
    until(lambda: (looked(case.dir / "ctp.data") or [{}])[0].get("total") == number, f"a look at {number} of them")


def check_ended_since(case):
    """The counts are of the last look: none, once all have ended."""
    process = case.ctp_start(program(case, "g++"), "ended_on_order")
    looked_at(case, process, COUNT)
    os.kill(child_of(process.pid), signal.SIGUSR1)
    process.wait_for("ended")
    looked_at(case, process, 0)
    os.kill(child_of(process.pid), signal.SIGTERM)
    process.done()
    _, report = case.report()
    told = report["trace"]["stackless"]
    equal((told["total"], told["suspended"], told["undecided"], report["findings"]), (0, 0, 0, []), "at the end")
    equal(told["before_end_ns"] > 0, looked(case.dir / "ctp.data")[0]["look"] == "live", "when that was")


# What stays of three that seem to be lost, by what the program does with them when SIGTERM has come to ctp-run.
WITHDRAWN = {"kept": COUNT, "resumed": 0, "destroyed": 0, "suspended_again": 0, "running": COUNT - 1, "ticking": COUNT}


def check_withdrawn(case, compiler, name, stay):
    """The inspection at SIGTERM comes before the program resumes what it had hidden: the report is of the end."""
    process = case.ctp_start(program(case, compiler, source=TARGETS / "stackless_hidden.cpp"), name)
    process.wait_for("ready")
    process.signal(signal.SIGTERM)
    process.done()
    report = json.loads(case.analyze("ctp.data", "--format=json").out)
    validate(report)
    lines = looked(case.dir / "ctp.data")
    proven = sum(f["count"] for f in report["findings"] if f["verdict"] == "proven")
    need(proven <= stay, f"{proven} proven of {lines}")
    doubt = [line["why"] for line in lines if line["what"] == "doubt"]
    if not lines or lines[0]["look"] != "final" or lines[0]["undecided"] or (doubt and name != "ticking"):
        raise Skip(f"this machine: memory was not searched in time: {lines}")
    seen = [line for line in lines if line["what"] == "coroutine"]
    equal((len(seen), {line["answer"] for line in seen}), (COUNT, {"lost"}), "at SIGTERM nothing led to them")
    equal(sum(f["count"] for f in report["findings"]), stay, f"of {lines}")
    equal(report["trace"]["stackless"]["suspended"], stay + 1, "suspended: those, and the one that is kept plainly")
    went_on = [line for line in lines if line["what"] == "control"]
    equal((len(went_on), proven), (0, stay) if stay == COUNT else (1, 0), f"of {lines}: one that goes on speaks for all others")
    with open(case.dir / "ctp.data/ctp/image0/stackless.jsonl", "a") as file:
        file.write('{"v":1,"what":"doubt","why":"no time"}\n')
    doubted = json.loads(case.analyze("ctp.data", "--format=json").out)
    equal(said(doubted), ["CTP029 likely"] if stay else [], "of which nobody could tell at the end")


def check_killed(case):
    """Of one that nobody could look at when it ended, the report says how long before that it was looked at."""
    process = case.ctp_start(program(case, "g++"), "queued")
    looked_at(case, process, COUNT)
    os.kill(child_of(process.pid), signal.SIGKILL)
    process.done()
    told = case.report()[1]["trace"]["stackless"]
    need(told["suspended"] == 3 and told["before_end_ns"] > 0, f"{told}")
    text = " ".join(case.analyze().out.split())
    need(re.search(r"C\+\+20 coroutines: 3 suspended, [^;]*, as of [^;]+ before the end", text), text)


def check_traced(case):
    """Under ctp-run they stand in the same list."""
    process = case.ctp_start(program(case, "g++"), "closed_deep")
    process.wait_for("ready")
    pid = child_of(process.pid)
    out = listing(case, pid)
    equal(out["counts"]["stackless"], 9, "stackless")
    equal(sum(g["count"] for g in out["groups"]), 9, "in groups")
    text = case.run(case.build / "src/ps/ctp-ps", pid).out
    need("3 coroutines read_byte [suspended" in text and "C++20 coroutines: 9" in text, text)
    tree = listing(case, pid, "--tree")
    equal([e["why"] for e in tree["waits_for"]], ["await"] * 6, "edges beside those of the tables")
    equal(sum(n["count"] for root in tree["tree"] if root["root"] is None for n in root["children"]), 9, "nodes")
    need("    awaits 3 coroutines read_line [suspended]" in case.run(case.build / "src/ps/ctp-ps", "--tree", pid).out, "the tree in the text")
    os.kill(pid, signal.SIGTERM)
    process.done()


# Of a listing, for each frame: instructions of the text and of the JSON, by callgrind, and bytes of memory.
SCALE = {"--color=never": 13000, "--json": 17000}
BYTES = 300
FEW, MANY = 1000, 11000  # stacks of three


def check_scale(case, compiler):
    need_plain_build(case)
    packages.want("valgrind")
    most, said = {}, {}
    for n in (FEW, MANY):
        process = case.start(program(case, compiler), "queued_deep", n)
        process.wait_for("ready")
        for words in SCALE:
            done = case.run(tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", case.build / "src/ps/ctp-ps", words,
                            process.pid)
            said[n, words] = done.out
            most[n, words] = int(re.search(r"Collected : (\d+)", done.err)[1])
        process.signal(signal.SIGKILL)
    out = json.loads(said[MANY, "--json"])
    group = next(g for g in out["groups"] if len(g["stack"]) == 3)
    equal((len(out["groups"]), group["count"], len({c["id"] for c in group["coroutines"]})), (3, MANY, MANY), "each once")
    others = {c["id"]: c for g in out["groups"] for c in g["coroutines"]}
    need(all(others[c["awaited_by"][0]]["awaits"] == [c["id"]] for c in group["coroutines"]), "who awaits whom")
    for words, bound in SCALE.items():
        each = (most[MANY, words] - most[FEW, words]) / (3 * (MANY - FEW))
        need(each <= bound, f"{words}: {each:.0f} instructions a frame")


def check_memory(case):
    """What 300,000 frames need."""
    need_plain_build(case)
    many, used = 100000, {}
    for n in (10, many):
        process = case.start(program(case, "g++"), "queued_deep", n)
        process.wait_for("ready")
        script = "import os, sys; p = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]); print(os.wait4(p, 0)[2].ru_maxrss, file=sys.stderr)"
        done = case.run(sys.executable, "-c", script, case.build / "src/ps/ctp-ps", process.pid)
        need(f"{n * 3} coroutines: {n * 3} suspended" in done.out, done.out)
        used[n] = int(done.err) << 10
        process.signal(signal.SIGKILL)
    each = (used[many] - used[10]) / (3 * many)
    need(each <= BYTES, f"{each:.0f} bytes a frame")


def checks():
    for compiler in COMPILERS:
        short = compiler.replace("+", "x")
        for name, expected in FAULTS.items():
            yield f"fault/{name}/{short}", lambda case, c=compiler, n=name, e=expected: check_fault(case, c, n, e)
        for name, allowed in SOUND.items():
            yield f"sound/{name}/{short}", lambda case, c=compiler, n=name, a=allowed: check_sound(case, c, n, a)
        for name, allowed in DOUBTFUL.items():
            yield f"sound/{name}/{short}", lambda case, c=compiler, n=name, a=allowed: check_doubtful(case, c, n, a)
        for name in sorted(SEEN_BEFORE - {"closed_object"}):
            yield f"never_seen/{name}/{short}", lambda case, c=compiler, n=name: check_never_seen(case, c, n)
        for name in DISGUISED:
            yield f"disguised/{name}/{short}", lambda case, c=compiler, n=name: check_disguised(case, c, n)
        yield f"ticks/{short}", lambda case, c=compiler: check_ticks(case, c)
        yield f"sends/{short}", lambda case, c=compiler: check_sends(case, c)
        yield f"pauses/{short}", lambda case, c=compiler: check_pauses(case, c)
        for name in ("packed", "shifted"):
            yield f"ticks/{name}/{short}", lambda case, c=compiler, n=name: check_ticks_sound(case, c, n)
        yield f"lost_traced/{short}", lambda case, c=compiler: check_lost_traced(case, c)
        yield f"long_waits/{short}", lambda case, c=compiler: check_long_waits(case, c)
        yield f"long_waits/turns/{short}", lambda case, c=compiler: check_turns(case, c)
        for name, (many, verdict) in COUNTED.items():
            yield f"disguised/{name}/{short}", lambda case, c=compiler, n=name, m=many, v=verdict: check_counted(case, c, n, m, v)
        yield f"hostile/forged/{short}", lambda case, c=compiler: check_forged(case, c)
        yield f"hostile/debug/{short}", lambda case, c=compiler: check_hostile_debug(case, c)
        for words in (("-O0",), ("-O2",), ("-Os",), ("-O2", "-flto"), ("-O2", "-g0")):
            yield (f"listing/{short}{''.join(words)}",
                   lambda case, c=compiler, w=words: check_listing(case, c, *w))
        for name, stay in WITHDRAWN.items():
            yield f"withdrawn/{name}/{short}", lambda case, c=compiler, n=name, s=stay: check_withdrawn(case, c, n, s)
        for name, many in LOST.items():
            yield f"lost/{name}/{short}", lambda case, c=compiler, n=name, m=many: check_lost(case, c, n, m)
        for words in (("-O0",), ("-O2",), ("-Os",), ("-O2", "-flto"), ("-O2", "-no-pie")):
            yield (f"stripped/{short}{''.join(words)}",
                   lambda case, c=compiler, w=words: check_stripped(case, c, *w))
        yield f"stripped/callbacks/{short}", lambda case, c=compiler: check_callbacks(case, c)
        yield f"cut_core/{short}", lambda case, c=compiler: check_cut_core(case, c)
        yield f"scale/{short}", lambda case, c=compiler: check_scale(case, c)
    yield "memory", check_memory
    yield "lost/undecided", check_lost_undecided
    yield "tree", check_tree
    yield "states", check_states
    yield "silent", check_silent
    yield "ended_since", check_ended_since
    yield "killed", check_killed
    yield "traced", check_traced
    yield "checked", check_checked


CHECKS = list(checks())
