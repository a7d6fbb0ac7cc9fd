# SPDX-License-Identifier: MIT
"""Synchronous tests with ctp/tracetest.h: a test that finds the demo's lost wakeup (tests/targets/tracetest_wakeup.c), and
the text of each kind of failure (data/tracetest_kinds.c), with the source lines of the test and of all actors."""
import re
import shutil
import signal

from harness import ROOT, equal, need, tool

KINDS = ROOT / "tests/e2e/data/tracetest_kinds.c"
WAKEUP = ROOT / "tests/targets/tracetest_wakeup.c"
WAKEUP20 = ROOT / "tests/targets/tracetest_wakeup20.cpp"  # the same with C++20 coroutines
COMPILERS = [("gcc", "c11"), ("clang", "c11"), ("g++", "c++11"), ("clang++", "c++11"), ("g++", "c++20")]

# Of each kind: the first line, with {mark} for a place in the source; and of each actor, how its line begins and the mark
# or the function of the line that signalled.
STEP1, STEP2, ONE = "kind:step n=1, what=first, of two", "kind:step n=2, what=NULL", "kind:step n=1, what=one"
FAILURES = {
    "missing": ('missing: {missing}: kind:step n=1 did not come in stream "n 1" within 50 ms', []),
    "unexpected": ('unexpected: {unexpected}: in stream "n 1" came ' + ONE + ", not kind:other x=5",
                   [(f'"n 1" is paused at {ONE}, not expected', "one")]),
    "fields": ('unexpected: {fields}: in stream "n 1" came ' + STEP1 + ", not n=2", [(f'"n 1" is paused at {STEP1}, not expected', "first")]),
    "timeout": ('timeout: the test did nothing for 100 ms while "n 1" was paused at kind:step',
                [(f'"n 1" is paused at {STEP1}, not expected', "first")]),
    "end": ("unexpected: {end}: at the end, " + STEP2 + ' is pending in stream "n 2"',
            [(f'"n 1" went on from {STEP1}, expected at {{end-first}}', "first"), (f'"n 2" is paused at {STEP2}, not expected', "second")]),
    "deadlock": ('deadlock: {deadlock}: kind:step cannot come in stream "n 1": its thread is paused at kind:other of stream "other"',
                 [(f'"n 1" went on from {ONE}, expected at {{deadlock-first}}', "one"),
                  ('"other" is paused at kind:other, not expected', "other")]),
    "held": ('deadlock: {held}: kind:step cannot come in stream "n 1": its thread is paused at kind:step of stream "n 1"',
             [(f'"n 1" is paused at {STEP1}, expected at {{held-first}}', "first")]),
    "itself": ('deadlock: the test\'s own thread signals kind:step in stream "n 1", and would wait for itself',
               [('"n 1" is paused at kind:step n=1, what=mine, not expected', "itself")]),
    "go": ('setup: {go}: CTP_GO: stream "n 1" is not paused at an event that was expected', []),
    "setup": ("setup: {setup}: kind:nothing: no event of that name is defined", []),
    "elsewhere": ('out of order: {elsewhere}: in stream "n 1" came kind:step, not kind:other, which is pending in stream "other"',
                  [(f'"n 1" is paused at {STEP1}, not expected', "first"), ('"other" is paused at kind:other, not expected', "only")]),
    "earlier": ('out of order: {earlier}: in stream "all" came kind:other, not kind:step, which came earlier (expected at {earlier-first})',
                [('"all" is paused at kind:other, not expected', "other")]),
}


def marks(source):
    lines = enumerate(source.read_text().splitlines(), 1)
    return {m[1]: f"{source.name}:{n}" for n, line in lines for m in [re.search(r"// AT (\S+)$", line)] if m}


def build(case, compiler, std, source, name, *words):
    if not shutil.which(compiler):
        return None
    language = ("-x", "c++") if "++" in compiler else ()
    done = case.run(compiler, *language, f"-std={std}", "-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", *words,
                    f"-I{ROOT}/include", source, "-o", name, "-pthread")
    equal((done.status, done.err), (0, ""), f"{compiler} {std} {source.name}")
    return f"./{name}"


def parts(text):
    """The first line of a failure, and of each actor its line and the first source line; folders are left out."""
    text = re.sub(r"[^ (\n]*/(?=[\w.]+:\d)", "", text)
    found = re.search(r"ctp test: (.*)\n  actors:(.*)\n((?:    .*\n)*)", text)
    need(found, f"no failure in {text}")
    actors = re.findall(r"^    (\S.*); signalled at\n((?:      .*\n)*)", found[3], re.M)
    return found[1], [(line, lines.split()[0] if lines else "") for line, lines in actors], found[2]


def check_failures(case):
    """Each says what is wrong, where in the test, and where each actor is."""
    tool("addr2line")
    program, at = build(case, "gcc", "c11", KINDS, "kinds"), marks(KINDS)
    for kind, (first, actors) in FAILURES.items():
        done = case.ctp("-o", f"trace-{kind}", program, kind)
        equal(done.status, 3, f"{kind}: {done}")
        fill = lambda text: re.sub(r"\{([\w-]+)\}", lambda m: at[m[1]], text)
        got, lines, none = parts(done.out)
        equal(got, fill(first), kind)
        equal(lines, [(fill(line), at[mark]) for line, mark in actors], f"{kind}: actors")
        equal(none, "" if actors else " none signalled anything", f"{kind}: after `actors`")


def check_race(case):
    """Two threads in one stream: which comes first is not known, and both are named."""
    tool("addr2line")
    at = marks(KINDS)
    done = case.ctp(build(case, "gcc", "c11", KINDS, "kinds"), "race")
    equal(done.status, 3, done)
    got, lines, _ = parts(done.out)
    need(got.startswith('race: two threads signal in stream "all" at once: the second is kind:step n=1, what='), got)
    equal(sorted(place for _, place in lines), sorted([at["first"], at["one"]]), "both places")


def check_passes(case):
    """A channel's sender and receiver, all types of fields; C and C++, gcc and clang."""
    for compiler, std in COMPILERS:
        program = build(case, compiler, std, KINDS, f"kinds-{compiler}-{std}".replace("+", "x"))
        for kind in ("channel", "values") if program else ():
            done = case.ctp("-o", f"x-{compiler}-{std}-{kind}", program, kind)
            equal((done.status, done.out), (0, "passed\n"), f"{compiler} {std} {kind}: {done.err}")


def check_wakeup(case, source=WAKEUP, compilers=COMPILERS):
    """The test of the demo's lost wakeup fails with the faulty server, without waiting, and passes with the mended one."""
    at = source.read_text().splitlines()
    line = lambda text: next(n for n, x in enumerate(at, 1) if text in x)
    for compiler, std in compilers:
        for words in ((), ("-DMENDED",)):
            name = f"wakeup-{compiler}-{std}{words}".translate(str.maketrans("+", "x", "(),'"))
            program = build(case, compiler, std, source, name, *words)
            if not program:
                continue
            done = case.ctp("-o", f"trace-{name}", program)
            if words:
                equal((done.status, done.out), (0, "passed\n"), f"{compiler} {std}: mended: {done.err}")
                continue
            equal((done.status, done.out), (-signal.SIGABRT, ""), f"{compiler} {std}: faulty")
            got, lines, _ = parts(done.err)
            need(re.fullmatch(r'deadlock: \S+: demo:end cannot come in stream "conn 1": its thread is paused at demo:polls of stream '
                              '"worker"', got), got)
            need(len(lines) == 2 and lines[0][0].startswith('"conn 1" went on from demo:wait conn=1, expected at ') and
                 lines[1][0] == '"worker" is paused at demo:polls, not expected', f"actors: {lines}")
            equal([place for _, place in lines],
                  [f"{source.name}:{line(f'ctp_event(demo, {name}')}" for name in ("wait", "polls")], "where they signalled")


def check_wakeup20(case):
    """The same of C++20 coroutines."""
    check_wakeup(case, WAKEUP20, [("g++", "c++20"), ("clang++", "c++20")])


def check_alone(case):
    """Without ctp the test says how to run it."""
    done = case.run(build(case, "gcc", "c11", WAKEUP, "wakeup", "-DMENDED"))
    need(done.status != 0 and "setup: " in done.err and "run it with ctp-run" in done.err, done)


def check_page(case):
    """What docs/events.md shows as whole files is built and run as it says, and prints what it shows."""
    page = (ROOT / "docs/events.md").read_text()
    files = {name: re.sub("^    ", "", text, flags=re.M) for text, name in re.findall(r"((?:^    // (\w+\.c)\n)(?:(?:    .*)?\n)+)", page, re.M)}
    equal(sorted(files), ["first.c", "hello.c"], "files")
    env = {"C_INCLUDE_PATH": str(ROOT / "include"), "CPLUS_INCLUDE_PATH": str(ROOT / "include")}
    for name, text in files.items():
        (case.dir / name).write_text(text)
        [words] = re.findall(rf"^    \$ cc (.*{name}.*)$", page, re.M)
        built = case.run("cc", "-Wall", "-Wextra", "-Werror", *words.split(), env=env)
        equal((built.status, built.err), (0, ""), f"cc {words}")
    done = case.ctp("./hello")
    need(re.search(r"^ctp-run: 0 switches, 0 coroutines, 3 events, 0 lost; trace in ctp.data$", done.err, re.M), done)
    told = case.run(tool("babeltrace2"), "ctp.data").out
    need(re.search(r'demo:step: \{ .* \}, \{ coroutine = 0, n = 1, what = "odd" \}', told), told)
    tool("addr2line")
    done = case.ctp("-q", "-o", "x", "./first")
    [shown] = re.findall(r"^    \$ ctp-run -q \./first\n((?:    .*\n)+)", page, re.M)
    equal((done.status, parts(done.err)), (-signal.SIGABRT, parts(re.sub("^    ", "", shown, flags=re.M))), "first.c")
    mended = files["first.c"].replace("int n = jobs;", "int n = __atomic_fetch_sub(&jobs, 1, __ATOMIC_RELAXED);").replace("jobs = n - 1;", "")
    for compiler in ("cc", "c++"):
        source = case.dir / f"mended.{compiler.replace('+', 'x')}"
        source.write_text(mended)
        built = case.run(compiler, "-g", "-x", "c++" if "+" in compiler else "c", source, "-o", "mended", "-pthread", env=env)
        equal((built.status, built.err), (0, ""), f"{compiler}: mended")
        done = case.ctp("-q", "-o", "y", "./mended")
        equal((done.status, done.err), (0, ""), f"{compiler}: mended")


CHECKS = [("page", check_page), ("failures", check_failures), ("race", check_race), ("passes", check_passes), ("wakeup", check_wakeup),
          ("wakeup20", check_wakeup20), ("alone", check_alone)]
