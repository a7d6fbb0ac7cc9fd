# SPDX-License-Identifier: MIT
"""Coroutines that the program tells of (ctp/coroutine.h, ctp/coroutine.hpp; tests/targets/announced.*): their history is exact against
the program's own counts, the lost are found, wrong calls harm nobody, and without ctp such a program needs nothing of it."""
import json
import math
import platform
import re
import shutil
import signal

import packages
from check_engines import TARGETS, built
from check_cost_hooks import need_plain_build
from check_switch import compare_ways, instructions
from harness import ROOT, Skip, child_of, equal, need, tool

CXX = TARGETS / "announced.cpp"
C = TARGETS / "announced.c"
COMPILERS = ["g++", "clang++"]
LEVELS = ["-O0", "-O1", "-O2"]
STRICT = ("-Wall", "-Wextra", "-Werror", "-I", ROOT / "include")


def wanted(compiler):
    packages.want("g++" if compiler == "g++" else "clang")
    if not shutil.which(compiler):
        raise Skip(f"no {compiler}")


def cxx(case, compiler, level="-O1"):
    wanted(compiler)
    return built(case, f"t-announced-{compiler.replace('+', 'x')}{level}", tool(compiler), "-std=c++20", "-g", level, *STRICT, CXX, "-pthread")


def plain(case, *words):
    """The C header, by the C compiler and as C++11."""
    if not words:
        packages.want("gcc")
        return built(case, "t-announced-c", tool("gcc"), "-std=c11", "-D_GNU_SOURCE", "-Wpedantic", "-g", "-O1", *STRICT, C)
    wanted("g++")
    return built(case, "t-announced-c11", tool("g++"), "-x", "c++", "-std=c++11", "-Wpedantic", "-g", "-O1", *STRICT, C)


def marked(source):
    return next(n for n, line in enumerate(source.read_text().splitlines(), 1) if line.endswith("// fault"))


def own_counts(done):
    equal(done.status, 0, done.err)
    return [int(x) for x in re.fullmatch(r"(\d+) (\d+) (\d+) (\d+)\n", done.out).groups()]


def check_counts(case, program, *words):
    """Created, resumed, suspended, ended: as the program itself counts. A switch is one of the last three."""
    created, resumed, suspended, ended = own_counts(case.ctp("-q", "--overflow=block", program, *words))
    trace = case.report()[1]["trace"]
    equal(trace["lost"], 0, "lost")
    equal(trace["coroutines"]["total"], created, "created")
    equal(trace["coroutines"]["finished"], ended, "ended")
    equal(trace["coroutines"]["destroyed"], created - ended, "destroyed before their end")
    equal(trace["switches"], resumed + suspended + ended, "switches")
    return trace


def check_scheduler(case, compiler, level):
    check_counts(case, cxx(case, compiler, level), "scheduler", "40")


def check_generator(case, compiler):
    """One that runs another by hand; one destroyed while it is suspended, one that was never started."""
    check_counts(case, cxx(case, compiler), "generator", "50")


def check_lines(case, clock, mode):
    """JSON lines: twice the switches; each coroutine's without a gap, and its times rise. Most times of a thread that does nothing else
    are no readings of the clock where it is seldom read."""
    done = case.ctp_by_tsc("-q", f"--clock={clock}", "--overflow=block", "-o", "x.jsonl", cxx(case, "g++"), mode, "500" if mode == "generator" else "10")
    created, resumed, suspended, ended = own_counts(done)
    last, times, n, unread = {}, {}, 0, 0
    for line in (case.dir / "x.jsonl").read_text().splitlines():
        one = json.loads(line)
        who = one["probe_id"]
        equal(one["seq"], last.get(who, 0) + 2, f"{who}: in order, without a gap")
        need(one["ts"] >= times.get(who, 0), f"{who}: {one} is before {times.get(who)}")
        last[who], times[who] = one["seq"], one["ts"]
        n += 1
        unread += "read" in one
    equal(n, 2 * (resumed + suspended + ended), "lines")
    if clock == "exact":
        equal(unread, 0, "times that were not read")
    if clock == "sparse" and mode == "generator" and platform.machine() == "x86_64":
        need(unread > n / 2, f"{unread} of {n} times were not read")


def check_forked(case):
    """A child goes on with what its parent made: with -f it is discovered, and counted there."""
    own_counts(case.ctp("-q", "-f", cxx(case, "g++"), "forked", "5"))
    trace = case.report()[1]["trace"]
    equal(trace["lost"], 0, "lost")
    need(trace["coroutines"]["finished"] == 4 and trace["switches"] == 32, f"{trace['coroutines']}, {trace['switches']}")


def lost(case, program, source, count, waiter):
    process = case.ctp_start("-q", program, "lost", str(count))
    process.wait_for("ready")
    process.signal(signal.SIGTERM)
    process.done()
    report = case.report()[1]
    found = report["findings"]
    equal(sum(f["count"] for f in found), count, f"in findings: {[(f['rule'], f['verdict'], f['count']) for f in found]}")
    need({f["rule"] for f in found} <= {"CTP001", "CTP029"}, "rules")
    need({f["verdict"] for f in found} <= {"proven", "likely"}, f"verdicts: {[f['evidence'] for f in found]}")
    need(any(f["rule"] == "CTP001" for f in found), "a lost wakeup")
    for f in found:
        stack = [x["symbol"].split("(")[0] for x in f["waiter_stack"]]
        equal(stack[:len(waiter)], waiter, "async stack")
        equal(f["waiter_stack"][0]["line"], marked(source), "line of the suspension")
        need(f["closer_stack"] and f["opener_stack"], "who closed it, who opened it")
    return report


def check_lost(case, compiler, level):
    report = lost(case, cxx(case, compiler, level), CXX, 5, ["read_byte", "read_line", "connection"])
    equal(report["accounting"]["suspended"], 15, "suspended")
    equal(report["accounting"]["in_findings"], 5, "in findings, each once")


def check_lost_c(case):
    lost(case, plain(case), C, 5, ["job_waits"])


def check_listing(case):
    """ctp-ps: each once, with its name, its wait and the stack of its awaits, and not as a frame besides."""
    process = case.ctp_start("-q", cxx(case, "g++"), "lost", "3")
    process.wait_for("ready")
    done = case.run(case.build / "src/ps/ctp-ps", "--json", child_of(process.pid))
    equal(done.status, 0, done.err)
    out = json.loads(done.out)
    groups = {tuple(f["symbol"].split("(")[0] for f in g["stack"]): g for g in out["groups"] if g["state"] == "suspended"}
    equal({k: g["count"] for k, g in groups.items()},
          {("connection",): 3, ("read_line", "connection"): 3, ("read_byte", "read_line", "connection"): 3}, "groups")
    one = groups[("read_byte", "read_line", "connection")]["coroutines"][0]
    equal((one["name"], one["waits"][0]["events"]), ("a reader", 1), "name and wait")
    need(not out["counts"].get("stackless"), "as a frame besides")
    process.signal(signal.SIGTERM)
    process.done()


def check_misuse(case):
    """Wrong orders, garbage, ended ones: nobody is harmed; a resumption after the end is told."""
    done = case.ctp("-q", plain(case), "misuse")
    equal((done.status, done.out), (0, "survived\n"), done.err)
    report = case.report()[1]
    equal([(f["rule"], f["count"]) for f in report["findings"]], [("CTP011", 1)], "findings")


def check_untraced(case):
    """Without ctp: the same output, and nothing of ctp's but one weak symbol."""
    for program, words in ((cxx(case, "g++"), ("generator", "50")), (plain(case), ("count", "9")), (plain(case, "c++11"), ("misuse",))):
        done = case.run(program, *words)
        equal(done.status, 0, done.err)
        symbols = case.run("nm", "-D", program).out
        named = [line.split()[-2:] for line in symbols.splitlines() if "ctp_" in line and " T " not in line and " W " not in line]
        equal(named, [["w", "ctp_coroutine_note"]] if "generator" not in words else sorted(named), "what it wants of ctp")
        need(all(kind == "w" for kind, _ in named), f"weak: {named}")
        need("libctp" not in case.run("ldd", program).out, "linked with libctp")


def check_two_ways(case):
    """What the short way of an event writes is what the long one does."""
    for runs in (30, 3000, 30000):
        compare_ways(case, plain(case), lambda way: ("ways", way, runs), runs)


# Instructions of an event (a resumption, a suspension) of bench/told.*, counted by callgrind: what ctp-run adds, and what the header
# does without it. They may fall, not rise: who makes it shorter writes down the new one here.
TOLD = {
    ("told.c", ""): 194, ("told.c", "own"): 233, ("told.c", "waits"): 264,
    ("told.cpp", ""): 192, ("told.cpp", "places"): 240, ("told.cpp", "waits"): 262,
}
INERT = {"-O0": 80, "-O1": 12, "-O2": 12, "-O3": 12}
FEW, MANY = 10000, 30000  # events
SLACK = 5
TRIES = 3  # the least counts: what ctp-run asks of the library meanwhile comes on top of it


def told(case, compiler, source, level, *words):
    """bench/told.c or .cpp, made by the C or the C++ compiler of this name."""
    cxx = {"gcc": "g++", "clang": "clang++"}[compiler]
    wanted(cxx)
    made_by = [tool(cxx), "-std=c++20"] if source.endswith(".cpp") else [tool(compiler)]
    name = "-".join(["t", source, compiler, level, *words]).replace(".", "-")
    return built(case, name, *made_by, level, "-w", "-I", ROOT / "include", *words, ROOT / "bench" / source)


def each(case, run, program, *words):
    """Instructions of an event and of what the program does beside it."""
    counted = [tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", program, 10]
    done = [run(*counted, n, *words) for n in (FEW, MANY)]
    need(not any(d.status for d in done), done)
    return (instructions(done[1]) - instructions(done[0])) / (MANY - FEW)


def check_instructions(case, source, word):
    need_plain_build(case)
    packages.want("valgrind")
    program, words, added, most = told(case, "gcc", source, "-O2"), [word] * bool(word), math.inf, TOLD[source, word]
    traced = lambda *argv: case.ctp_by_tsc("-q", "--clock=exact", *argv)
    bare = each(case, case.run, program, *words)
    for _ in range(TRIES):
        if added > most + SLACK:
            added = min(added, each(case, traced, program, *words) - bare)
    need(added > 20, f"{added:.1f} instructions: was it recorded at all?")
    need(added <= most + SLACK, f"an event costs {added:.1f} instructions more; it was {most}")


def check_inert(case, compiler, source):
    """Without ctp the header does next to nothing."""
    need_plain_build(case)
    packages.want("valgrind")
    for level, most in INERT.items():
        added = each(case, case.run, told(case, compiler, source, level)) - each(case, case.run, told(case, compiler, source, level, "-DBARE"))
        need(added <= most, f"{level}: an event takes {added:.1f} instructions more without ctp, at most {most} are allowed")


def check_bytes(case):
    """An event is a record of 16 bytes: what 10,000 steps more add to the trace."""
    size, events = [], []
    for steps in (FEW, MANY):
        done = case.ctp("-q", "--overflow=block", "-o", f"x.{steps}", cxx(case, "g++"), "generator", steps)
        own = own_counts(done)
        size.append(sum(f.stat().st_size for f in (case.dir / f"x.{steps}").rglob("*") if re.fullmatch(r"t\d+\.\d+", f.name)))
        events.append(own[1] + own[2])
    each = (size[1] - size[0]) / (events[1] - events[0])
    need(1 < each <= 16.5, f"{each:.1f} bytes an event")


def checks():
    for compiler in COMPILERS:
        short = compiler.replace("+", "x")
        for level in LEVELS:
            yield f"scheduler/{short}{level}", lambda case, c=compiler, o=level: check_scheduler(case, c, o)
            yield f"lost/{short}{level}", lambda case, c=compiler, o=level: check_lost(case, c, o)
        yield f"generator/{short}", lambda case, c=compiler: check_generator(case, c)
    for source, word in TOLD:
        yield f"instructions/{source}{word and '/' + word}", lambda case, s=source, w=word: check_instructions(case, s, w)
    for compiler in ("gcc", "clang"):
        for source in ("told.c", "told.cpp"):
            yield f"inert/{source}/{compiler}", lambda case, c=compiler, s=source: check_inert(case, c, s)
    yield "two_ways", check_two_ways
    yield "bytes", check_bytes
    yield "count/c11", lambda case: check_counts(case, plain(case), "count", "100")
    yield "count/c++11", lambda case: check_counts(case, plain(case, "c++11"), "count", "100")
    yield "lost/c11", check_lost_c
    for clock in ("exact", "adaptive", "sparse"):
        for mode in ("generator", "scheduler"):
            yield f"lines/{mode}/{clock}", lambda case, c=clock, m=mode: check_lines(case, c, m)
    yield "forked", check_forked
    yield "listing", check_listing
    yield "misuse", check_misuse
    yield "untraced", check_untraced


CHECKS = list(checks())
