# SPDX-License-Identifier: MIT
"""When and where C++20 coroutines are created, of programs that know nothing of it (tests/targets/births.cpp, stackless.cpp): told by
ctp-ps and in findings; and no program is harmed by it: with an operator new of its own, with AddressSanitizer, with libstdc++ linked in."""
import json
import re
import shutil
import signal

import packages
from check_engines import TARGETS, built
from check_stackless import SOURCE, observed
from harness import Skip, child_of, equal, need, tool

CXX, PLUGIN = TARGETS / "births.cpp", TARGETS / "births_plugin.cpp"
COMPILERS = ["g++", "clang++"]
LEVELS = {"O0": ["-O0"], "O2": ["-O2"], "Os": ["-Os"], "no-pie": ["-O2", "-fno-pie", "-no-pie"], "no-plt": ["-O2", "-fno-plt"],
          "now": ["-O2", "-Wl,-z,now"]}


def program(case, source, compiler, *words):
    packages.want("g++" if compiler == "g++" else "clang")
    if not shutil.which(compiler):
        raise Skip(f"no {compiler}")
    name = f"t-{source.stem}-{compiler.replace('+', 'x')}{''.join(words).replace(',', '')}"
    return built(case, name, tool(compiler), "-std=c++20", "-g", "-w", *words, source, "-pthread")


def at(place, source, text):
    """Is it a line that has the text, or the next one, as a return address may say?"""
    lines = [n for n, line in enumerate(source.read_text().splitlines(), 1) if text in line]
    return any(0 <= place["line"] - n <= 1 for n in lines)


def listed(case, process):
    """The C++20 coroutines of a traced program: (function, JSON) each."""
    done = case.run(case.build / "src/ps/ctp-ps", "--json", child_of(process.pid))
    equal(done.status, 0, done.err)
    return [(c["entry"]["symbol"].split("(")[0], c) for g in json.loads(done.out)["groups"] for c in g["coroutines"] if c["kind"] == "stackless"]


def check_created(case, compiler, level):
    """Each frame that was allocated: who called the coroutine, and when. What the compiler put into its caller's frame was not."""
    process = case.ctp_start("-q", program(case, SOURCE, compiler, *LEVELS[level]), "queued_deep", "20")
    process.wait_for("ready")
    made = {"starts": ("queued_deep", "starts(i);"), "relays": ("starts", "await relays(n);"), "asks": ("relays", "await asks(n);")}
    coroutines = listed(case, process)
    equal(len(coroutines), 60, "coroutines")
    for name, c in coroutines:
        apart = "its frame lies in that of its caller" not in c["evidence"]
        equal(c["age_ns"] is not None, apart, f"{name}: age, {c['evidence']}")
        if not apart:
            continue
        by, text = made[name]
        equal(c["created_at"]["symbol"].split("(")[0], by, f"{name}: created by")
        need(at(c["created_at"], SOURCE, text), f"{name}: {c['created_at']}")
    text = case.run(case.build / "src/ps/ctp-ps", child_of(process.pid)).out
    need(compiler == "clang++" and level != "O0" or re.search(r"created in relays +stackless.cpp:\d+, the oldest .+ ago$", text, re.M), text)
    process.signal(signal.SIGTERM)
    process.done()


def check_reused(case):
    """Another coroutine in the memory of one that was destroyed is itself."""
    process = case.ctp_start("-q", program(case, CXX, "g++", "-O1"), "reused")
    process.wait_for("ready")
    (name, c), = listed(case, process)
    equal((name, c["created_at"]["symbol"].split("(")[0]), ("down", "make_second"), "created by")
    process.signal(signal.SIGTERM)
    process.done()


def check_destroyed(case, compiler, level):
    """Those that were destroyed while they waited are counted, by who made and who destroyed them; not those that had ended."""
    done = case.ctp("-q", program(case, CXX, compiler, *LEVELS[level]), "ended", "40")
    equal(done.status, 0, done.err)
    _, report = case.report()
    equal(report["trace"]["stackless"]["destroyed"], 40, "destroyed while suspended")
    said = [f["message"] for f in report["facts"] if "destroyed while suspended" in f["message"] or " of these: " in f["message"]]
    equal((len(said), said[0]), (2, "40 C++20 coroutines were destroyed while suspended"), "facts")
    told = re.fullmatch(r"40 of these: cancelled, created in make_all births.cpp:(\d+), destroyed by cancel_all births.cpp:(\d+)", said[1])
    need(told, said[1])
    need(at({"line": int(told[1])}, CXX, "cancelled(i).h") and at({"line": int(told[2])}, CXX, "all[3 * i].destroy();"), said[1])


def with_plugins(case, compiler, *words):
    """(list of coroutines) of a C program that has loaded libraries with coroutines, and made some."""
    other = program(case, PLUGIN, compiler, "-O1", "-shared", "-fPIC", "-DOTHER")
    first = program(case, PLUGIN, compiler, "-O1", "-shared", "-fPIC")
    packages.want("gcc", "libc6-dev")
    host = built(case, "t-births-host", tool("gcc"), "-g", "-w", "-O1", TARGETS / "births_host.c", "-ldl")
    process = case.ctp_start("-q", host, *words, first, other)
    process.wait_for("ready")
    found = listed(case, process)
    process.signal(signal.SIGTERM)
    process.done()
    return found


def check_opened(case, compiler, how):
    """Libraries that a program loads when it runs, and their libstdc++ with them."""
    found = with_plugins(case, compiler, "open", how)
    equal([(name, (c["created_at"] or {"symbol": ""})["symbol"].split("(")[0]) for name, c in found], [("waits", "makes")] * 3, "created by")
    need(all(at(c["created_at"], PLUGIN, "waits(i).h") and c["age_ns"] is not None for _, c in found), f"{found}")


def check_opened_again(case, compiler):
    """Another library where the first one lay: other places."""
    found = with_plugins(case, compiler, "again", "now")
    equal([(name, (c["created_at"] or {"symbol": ""})["symbol"].split("(")[0]) for name, c in found], [("waits_other", "makes_other")] * 3, "created by")


def check_opened_filtered(case, compiler):
    """A program that has restricted its system calls makes none but its own."""
    found = with_plugins(case, compiler, "filtered", "now")
    equal([(name, c["age_ns"]) for name, c in found], [("waits", None)] * 3, "not looked at")


def check_debug_apart(case, compiler):
    """A stripped program whose debug file lies beside it."""
    packages.want("binutils")
    whole, own = program(case, CXX, compiler, "-O1"), case.dir / "own"
    for words in (("objcopy", "--only-keep-debug", whole, case.dir / "own.debug"), ("strip", "-o", own, whole),
                  ("objcopy", f"--add-gnu-debuglink={case.dir}/own.debug", own)):
        equal(case.run(tool(words[0]), *words[1:]).status, 0, words[0])
    equal(case.ctp("-q", own, "fails").out, "caught 1\n", "with its debug file")
    (case.dir / "own.debug").unlink()
    equal(case.ctp("-q", own, "fails").out, "caught 0\n", "without it")


def check_child(case):
    """Of a child that is followed, too."""
    done = case.ctp("-q", "-f", "sh", "-c", f"{program(case, CXX, 'g++', '-O1')} ended 10; true")
    equal(done.status, 0, done.err)
    equal(case.report()[1]["trace"]["stackless"]["destroyed"], 10, "destroyed while suspended")


def check_finding(case, name, rules, maker, call):
    report, looks = observed(case, "g++", name)
    found = report["findings"]
    need(found and {f["rule"] for f in found} <= rules, f"{[f['rule'] for f in found]}; the looks said {looks}")
    for f in found:
        first = f["creator_stack"][0]
        equal(first["symbol"].split("(")[0], maker, "created by")
        need(at(first, SOURCE, call), f"created at {first}")
    text = case.analyze().out
    need(re.search(r"created +at \S*stackless\.cpp:\d+", text), text)


def same_without(case, path, *words):
    """What it prints, with and without ctp."""
    plain, traced = case.run(path, *words), case.ctp("-q", path, *words)
    equal((plain.status, traced.status), (0, 0), plain.err + traced.err)
    equal(traced.out, plain.out, "output")
    need("Sanitizer" not in traced.err, traced.err)
    return traced.out


def check_harmless(case, compiler, *words):
    same_without(case, program(case, CXX, compiler, "-O1", *words), "churn", "500")


def check_own_new(case, compiler):
    out = same_without(case, program(case, CXX, compiler, "-O1", "-DOWN_NEW"), "churn", "500")
    made, deleted = map(int, re.search(r"(\d+) made, (\d+) deleted", out).groups())
    equal(made, deleted, "its own counts")


def check_thrown(case):
    """What operator new throws passes; a program without such coroutines calls it as ever."""
    for words, between in (([], 1), (["-DNO_COROUTINES"], 0)):
        path = program(case, CXX, "g++", "-O1", *words)
        equal(case.run(path, "fails").out, "caught 0\n", "without ctp")
        equal(case.ctp("-q", path, "fails").out, f"caught {between}\n", f"{words}: frames of libctp.so in between")
        equal(case.ctp("-q", "--no-patch", path, "fails").out, "caught 0\n", "--no-patch")


def checks():
    for compiler in COMPILERS:
        short = compiler.replace("+", "x")
        for level in LEVELS:
            yield f"created/{short}/{level}", lambda case, c=compiler, o=level: check_created(case, c, o)
            yield f"destroyed/{short}/{level}", lambda case, c=compiler, o=level: check_destroyed(case, c, o)
        for how in ("now", "lazy"):
            yield f"opened/{short}/{how}", lambda case, c=compiler, h=how: check_opened(case, c, h)
        yield f"opened/{short}/again", lambda case, c=compiler: check_opened_again(case, c)
        yield f"opened/{short}/filtered", lambda case, c=compiler: check_opened_filtered(case, c)
        yield f"debug_apart/{short}", lambda case, c=compiler: check_debug_apart(case, c)
        yield f"own_new/{short}", lambda case, c=compiler: check_own_new(case, c)
        yield f"asan/{short}", lambda case, c=compiler: check_harmless(case, c, "-fsanitize=address")
        yield f"static/{short}", lambda case, c=compiler: check_harmless(case, c, "-static-libstdc++")
        yield f"plain/{short}", lambda case, c=compiler: check_harmless(case, c)
    yield "reused", check_reused
    yield "child", check_child
    yield "thrown", check_thrown
    yield "finding/never_started", lambda case: check_finding(case, "never_started", {"CTP014", "CTP029"}, "never_started", "task t = lazy(i);")
    yield "finding/closed", lambda case: check_finding(case, "closed", {"CTP029"}, "closed", "waits_here(fds.back());")


CHECKS = list(checks())
