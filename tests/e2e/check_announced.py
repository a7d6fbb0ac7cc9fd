# SPDX-License-Identifier: MIT
"""Coroutines that the program tells of (ctp/coroutine.h, ctp/coroutine.hpp; tests/targets/announced.*): their history is exact against
the program's own counts, the lost are found, wrong calls harm nobody, and without ctp such a program needs nothing of it."""
import json
import re
import shutil
import signal

import packages
from check_engines import TARGETS, built
from check_cost_hooks import need_plain_build
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


def check_lines(case):
    """JSON lines: twice the switches, and each coroutine's without a gap."""
    created, resumed, suspended, ended = own_counts(case.ctp("-q", "--overflow=block", "-o", "x.jsonl", cxx(case, "g++"), "scheduler", "10"))
    last, n = {}, 0
    for line in (case.dir / "x.jsonl").read_text().splitlines():
        one = json.loads(line)
        equal(one["seq"], last.get(one["probe_id"], 0) + 2, f"{one['probe_id']}: in order, without a gap")
        last[one["probe_id"]] = one["seq"]
        n += 1
    equal(n, 2 * (resumed + suspended + ended), "lines")


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
    need({f["verdict"] for f in found} <= {"proven", "likely"}, "verdicts")
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


# Instructions that ctp-run adds to an event (a resumption, a suspension): counts by callgrind.
# They may fall, not rise: who makes it shorter writes down the new one here.
INSTRUCTIONS = {"g++": 268, "clang++": 269}
FEW, MANY = 1000, 11000  # steps
SLACK = 5


def check_instructions(case, compiler):
    need_plain_build(case)
    packages.want("valgrind")
    program, events, cost = cxx(case, compiler, "-O2"), [], {}
    for way, run in (("bare", case.run), ("traced", lambda *w: case.ctp_by_tsc("-q", "--clock=exact", *w))):
        counts = []
        for steps in (FEW, MANY):
            done = run(tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "generator", steps)
            equal(done.status, 0, done.err)
            counts.append(int(re.search(r"Collected : (\d+)", done.err)[1]))
            events.append(sum(int(x) for x in re.fullmatch(r"\d+ (\d+) (\d+) \d+\n", done.out).groups()))
        cost[way] = (counts[1] - counts[0]) / (events[1] - events[0])
    added, most = cost["traced"] - cost["bare"], INSTRUCTIONS[compiler]
    need(added > 20, f"{added:.1f} instructions: was it recorded at all?")
    need(added <= most + SLACK, f"an event costs {added:.1f} instructions more than {cost['bare']:.1f}; it was {most}")


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
    for compiler in COMPILERS:
        yield f"instructions/{compiler.replace('+', 'x')}", lambda case, c=compiler: check_instructions(case, c)
    yield "bytes", check_bytes
    yield "count/c11", lambda case: check_counts(case, plain(case), "count", "100")
    yield "count/c++11", lambda case: check_counts(case, plain(case, "c++11"), "count", "100")
    yield "lost/c11", check_lost_c
    yield "lines", check_lines
    yield "forked", check_forked
    yield "listing", check_listing
    yield "misuse", check_misuse
    yield "untraced", check_untraced


CHECKS = list(checks())
