# SPDX-License-Identifier: MIT
"""Events of the program's own (ctp/event.h; tests/targets/events.c): found in all modules, recorded, counted where they
are lost, chosen by --events, read by babeltrace2 with typed fields; and what they cost where nobody listens."""
import collections
import platform
import re
import shutil

from harness import ROOT, Skip, equal, need, tool
from timelines import chrome, perfetto

ALPHABET = "".join(chr(ord("a") + i % 26) for i in range(256))
NUMBERS = {"a": "-3", "b": "65535", "c": "1", "d": "-1", "e": "1.5", "f": "-2.25", "g": "-5000000000", "h": str(2**64 - 1),
           "i": "99", "j": "-30000", "k": "-1", "event": "4000000000"}


def shown(case, trace="ctp.data"):
    """(name, fields) of each of the program's own events, as babeltrace2 prints them; fields are texts."""
    done = case.run(tool("babeltrace2"), trace)
    wrong = [x for x in done.err.splitlines() if "Tracer discarded" not in x and "Tracer may have discarded" not in x]
    equal((done.status, wrong), (0, []), "babeltrace2")
    events = []
    for line in done.out.splitlines():
        found = re.match(r"\[[^]]*\] \([^)]*\) (\w+):(\w+): \{[^}]*\}, \{ (.*) \}$", line)
        if found and found[1] != "ctp":
            fields = re.findall(r'(\w+) = ("(?:[^"\\]|\\.)*"|\[ .*? \]|[^,]+)', found[3])
            events.append((f"{found[1]}:{found[2]}", dict(fields)))
    return events


def counts(case, trace="ctp.data"):
    return collections.Counter(name for name, _ in shown(case, trace))


def check_kinds(case):
    done = case.ctp(case.target("events"), "kinds")
    need("4 events, 0 lost" in done.err, f"closing line: {done}")
    events = dict(shown(case))
    equal(list(events), ["kinds:numbers", "kinds:places", "http:request", "http:idle"], "events")
    numbers = events["kinds:numbers"]
    equal(numbers.pop("coroutine"), "0", "a thread that never switched")
    equal(numbers, NUMBERS, "numbers")
    places = events["kinds:places"]
    equal((places["at"], places["text"], places["data_bytes"], places["none"]), ("0x1234", f'"{ALPHABET}..."', "3", '""'), "places")
    equal(re.findall(r"= (\d+)", places["data"]), ["1", "2", "255"], "bytes")
    equal(events["http:request"], {"coroutine": "0", "path": '"/x"', "status": "200"}, "a request")
    told = {f"{e['provider']}:{e['name']}": e for e in case.report()[1]["program_events"]}
    equal({name: e["count"] for name, e in told.items()}, dict.fromkeys(events, 1), "the report")
    equal([f["type"] for f in told["http:request"]["fields"]], ["const char *", "int"], "types")
    equal(told["http:request"]["file"].rsplit("/", 1)[-1], "events.h", "where it is defined")
    need("1 http:request (events.h:" in case.analyze().out, "the text names them")


def check_coroutines(case):
    done = case.ctp("-o", "x", case.target("events"), "coroutines", 20)
    equal(done.status, 0, "status")
    events = shown(case, "x")
    begins = {e["n"]: e["coroutine"] for name, e in events if name == "job:begins"}
    ends = {e["n"]: e["coroutine"] for name, e in events if name == "job:ends"}
    equal(len(begins), 20, "begun")
    equal(begins, ends, "each ends in the coroutine in which it began")
    equal(len(set(begins.values())), 20, "coroutines")
    listed = case.run(tool("babeltrace2"), "x").out
    equal(len(re.findall("ctp:switch", listed)), case.switches("x"), "switches, beside events")
    case.analyze("x", "--format=perfetto", "-o", "x.pftrace")
    case.analyze("x", "--format=chrome", "-o", "x.json")
    want = sorted((n, "odd" if int(n) % 2 else "even", c) for n, c in ends.items())
    line = chrome(case.dir / "x.json")[0]
    equal(sorted((m.args["n"], m.args["how"], m.track[2]) for m in line.marks if m.name == "job:ends"), want, "chrome")
    line = perfetto(case.dir / "x.pftrace")
    marks = [m for m in line.marks if m.name == "job:ends"]
    need(all(line.tracks[m.track][0] == "coroutine" for m in marks), "on the coroutines' tracks")
    equal(sorted((str(m.args["n"]), m.args["how"], str(m.track >> 2)) for m in marks), want, "perfetto")


def check_many(case):
    """Nothing is lost where threads wait for room; else every event stands in the trace or is counted as lost."""
    n, threads = 200_000, 3
    for words in (("--overflow=block",), ("--ring-size=64K",)):
        done = case.ctp("-o", "x", *words, case.target("events"), "many", n, threads)
        there = counts(case, "x")["many:pair"]
        lost = int(re.search(r"(\d+) lost", done.err)[1])
        equal(there + lost, n * threads, f"{words}: events, and lost")
        need(there > 1000, f"{there} events")
        if words[0] == "--overflow=block":
            equal(lost, 0, "lost")
            seen = collections.defaultdict(list)
            for _, e in shown(case, "x"):
                seen[e["thread"]].append(int(e["n"]))
            for thread, row in seen.items():
                equal(row, list(range(n)), f"thread {thread}, in its order")


def check_off(case):
    done = case.ctp("--events=!many:*", case.target("events"), "off", 1000)
    need("evaluated 0" in done.out, f"arguments are evaluated: {done}")
    equal(shown(case), [], "events")
    need("evaluated 0" in case.run(case.target("events"), "off", 1000).out, "untraced")
    need("evaluated 1000" in case.ctp(case.target("events"), "off", 1000).out, "recorded")


def check_instructions(case):
    """Off: two instructions. Counted with and without the event, in the same loop."""
    if platform.machine() != "x86_64":
        raise Skip("two instructions are those of x86_64")
    source = case.dir / "off.c"
    source.write_text('''#include <stdlib.h>
#include <ctp/event.h>
CTP_EVENT(off, pair, (long, a), (long, b));
int main(int argc, char **argv)
{
	long n = atol(argv[1]);
	for (volatile long i = 0; i < n; i++) {
#ifdef EVENT
		ctp_event(off, pair, n, random());
#endif
	}
	return argc - 2;
}
''')
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            continue
        for words in (("-O2",), ("-O3",), ("-O2", "-fPIC", "-pie"), ("-O2", "-std=c11")):
            cost = []
            for event in ((), ("-DEVENT",)):
                built = case.run(compiler, *words, *event, f"-I{ROOT}/include", source, "-o", "off")
                equal(built.status, 0, f"{compiler}: {built}")
                runs = [case.run(tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", "./off", n)
                        for n in (1000, 101_000)]
                cost.append([int(re.search(r"Collected : (\d+)", r.err)[1]) for r in runs])
            added = (cost[1][1] - cost[1][0] - cost[0][1] + cost[0][0]) / 100_000
            need(added <= 2.01, f"{compiler} {words}: an event that is off takes {added} instructions")


VARIANTS = [(compiler, std, words)
            for compiler, std in (("gcc", "c11"), ("gcc", "gnu17"), ("clang", "c11"), ("g++", "c++11"), ("g++", "c++20"),
                                  ("clang++", "c++11"), ("clang++", "c++20"))
            for words in (("-O0",), ("-O1", "-fPIE"), ("-O2", "-flto"), ("-O3",))]


def check_variants(case):
    """Every compiler, language and level: no warning, the same events."""
    tried = 0
    for compiler, std, words in VARIANTS:
        if not shutil.which(compiler) or ("-flto" in words and "clang" in compiler and not shutil.which("ld.lld")):
            continue
        source = case.dir / ("variant.cc" if "++" in compiler else "variant.c")
        shutil.copy(ROOT / "tests/e2e/data/events_variants.c", source)
        built = case.run(compiler, f"-std={std}", *words, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
                         f"-I{ROOT}/include", f"-I{ROOT}/tests/targets", source, "-o", "variant")
        equal((built.status, built.err), (0, ""), f"{compiler} {std} {words}")
        done = case.ctp("-o", "x", "./variant")
        equal(done.status, 0, f"{compiler} {std} {words}: status")
        events = shown(case, "x")
        want = {"kinds:numbers": 1, "kinds:places": 1, "http:request": 3, "http:idle": 1}
        if "++" in compiler:
            want["cxx:level"] = 2
        equal(collections.Counter(name for name, _ in events), want, f"{compiler} {std} {words}: events")
        numbers = dict(events)["kinds:numbers"]
        equal({k: v for k, v in numbers.items() if k != "coroutine"}, NUMBERS, f"{compiler} {std} {words}: numbers")
        tried += 1
    need(tried >= 4, f"{tried} variants")


def check_module(case):
    """Each time it is loaded, and before its own constructors run."""
    module = case.build / "tests/targets/t-events-module.so"
    done = case.ctp(case.target("events"), "module", module)
    equal(done.status, 0, f"status: {done}")
    equal(counts(case), {"module:early": 3, "module:called": 3, "two:same": 3, "http:idle": 3}, "events")
    equal([e["times"] for name, e in shown(case) if name == "module:called"], ["0", "1", "2"], "calls")


def check_two_of_a_name(case):
    case.ctp(case.target("events"), "two")
    equal([e for name, e in shown(case) if name == "two:same"],
          [{"coroutine": "0", "a": "1"}, {"coroutine": "0", "a": '"other"', "b": "2"}], "two events of a name")


def check_handler(case):
    done = case.ctp(case.target("events"), "handler", 2000)
    lost = int(re.search(r"(\d+) lost", done.err)[1])
    equal(counts(case)["many:pair"] + lost, 4000, "events, and lost")


def check_fork(case):
    case.ctp("-o", "one", case.target("events"), "fork")
    equal([e["path"] for _, e in shown(case, "one")], ['"parent"'], "the child is not traced")
    case.ctp("-f", "-o", "all", case.target("events"), "fork")
    equal(sorted(e["path"] for _, e in shown(case, "all")), ['"child"', '"parent"'], "both")


def check_flight(case):
    case.ctp("--flight", "-o", "x", case.target("events"), "coroutines", 10)
    equal(counts(case, "x"), {"job:begins": 10, "job:ends": 10}, "with --flight")
    case.ctp("--compress", "-o", "y", case.target("events"), "coroutines", 10)
    case.analyze("y", "--expand=z")
    equal(counts(case, "z"), {"job:begins": 10, "job:ends": 10}, "with --compress, expanded")
    equal({e["name"]: e["count"] for e in case.report("y")[1]["program_events"]}, {"begins": 10, "ends": 10}, "read packed")


def check_chosen(case):
    def run(chosen):
        done = case.ctp("-o", "x", f"--events={chosen}", case.target("events"), "kinds")
        return sorted(counts(case, "x")), done.err

    equal(run("http:*")[0], ["http:idle", "http:request"], "http:*")
    equal(run("http")[0], ["http:idle", "http:request"], "a provider")
    equal(run("*:*,!http:id?e")[0], ["http:request", "kinds:numbers", "kinds:places"], "all but one")
    (case.dir / "list").write_text("# those of the server\nhttp:*\n!http:idle  # too many\n")
    equal(run("@list")[0], ["http:request"], "a file")
    got, err = run("kinds:pl*,nothing:*,job:begins")
    equal(got, ["kinds:places"], "of three items")
    need("no event of the program matches nothing:*" in err, f"an item that matches nothing is named: {err}")
    for bad in ("", "!", "a b-c", "x:y:z", "@missing"):
        done = case.ctp(f"--events={bad}", case.target("events"), "kinds")
        equal((done.status, done.err.count("\n")), (125, 1), f"--events={bad!r}: {done}")


CHECKS = [("kinds", check_kinds), ("coroutines", check_coroutines), ("many", check_many), ("off", check_off),
          ("instructions", check_instructions), ("variants", check_variants), ("module", check_module),
          ("two_of_a_name", check_two_of_a_name), ("handler", check_handler), ("fork", check_fork),
          ("flight", check_flight), ("chosen", check_chosen)]
