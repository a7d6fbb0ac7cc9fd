# SPDX-License-Identifier: MIT
"""Names that a program gives to its coroutines (ctp/task.h; tests/targets/named.c): in the reports, in the
tables, in a followed child; and that such a program needs nothing of ctp."""
import json
import os
import pathlib
import re
import shutil
import signal
import struct

from check_profiles import read_all
from harness import ROOT, Skip, child_of, equal, need, timed, tool, until, witness
from timelines import chrome, perfetto

LONGEST = "a name of forty-seven bytes, which is the most."
STEPS = ["a thread's own stack ESRCH", "first 0", "LONGEST 0", "LONGER ERANGE", "NULL 0", "second 0", "errno 77",
         "a thread's own stack ESRCH", "&here ESRCH", "NULL 0", "&made->own.uc 0", "other->stack 0"]


def said(out):
    """The steps of `named steps`, each call by its argument's first word or words."""
    lines = []
    for line in out.splitlines():
        call = re.fullmatch(r'ctp_set_name(?:_of)?\((.*)\) (\w+)', line)
        words = re.match(r'"([^"]*)"|([&\w.>-]+)', call[1]) if call else None
        lines.append(f"{words[1] or words[2]} {call[2]}" if call else line)
    return lines


def names_in(trace):
    """Names by station, as the last tables hold them."""
    [path] = trace.glob("ctp/image0/names")
    table = path.read_bytes()
    magic, version, each, count = struct.unpack_from("<8sIIQ", table)
    equal((magic, version, each), (b"CTPTAB1\0", 1, 72), "the table's head")
    rows = [struct.unpack_from("<QIIQ48s", table, 64 + i * each) for i in range(count)]
    return {row[0]: row[4].split(b"\0")[0] for row in rows if row[4][0]}


def check_steps(case, target="named"):
    process = case.ctp_start("-q", case.target(target), "steps")
    process.wait_for("ready")
    equal(said(process.out())[:-1], STEPS, "what the calls say")
    os.kill(child_of(process.pid), signal.SIGKILL)
    process.done()
    names = names_in(case.dir / "ctp.data")
    want = [b"second", LONGEST.encode(), b"a name that would end within a character: \xc3\xa4\xc3\xb6",
            b"evil \x1b[31m \xff \xc3(\" <b>", b"made, by its context", b"made, by its stack", b"ended"]
    equal(sorted(names.values()), sorted(want), "names")
    equal(case.report()[1]["findings"], [], "findings")


def check_not_pie(case):
    """A program that is not position-independent finds the library as well."""
    check_steps(case, "named-nopie")


def check_untraced(case):
    """Without ctp each call says 0, and the program needs no library of ours."""
    for target in ("named", "named-nopie"):
        process = case.start(case.target(target), "steps")
        process.wait_for("ready")
        equal({x.rsplit(" ", 1)[1] for x in said(process.out())[:-1]}, {"0", "77"}, "what the calls say")
        needed = case.run(tool("readelf"), "-d", case.target(target)).out
        need("libctp" not in needed, needed)


def check_disabled(case):
    process = case.start(case.target("named"), "steps", env={"LD_PRELOAD": str(case.lib), "CTP_DISABLE": "1"})
    process.wait_for("ready")
    equal({x.rsplit(" ", 1)[1] for x in said(process.out())[:-1]}, {"0", "77"}, "what the calls say")


def check_header(case):
    """Installed as it stands, for C and C++, with every warning that there is."""
    include = case.dir / "include/ctp"
    include.mkdir(parents=True)
    shutil.copy(ROOT / "include/ctp/task.h", include)
    text = "#include <ctp/task.h>\n#include <ctp/task.h>\nint main(void) { return ctp_set_name(\"x\") + ctp_set_name_of(0, \"x\"); }\n"
    for name, compiler, flags in (("a.c", "gcc", ["-std=c99"]), ("a.c", "gcc", ["-O2", "-fno-pie", "-no-pie"]),
                                  ("a.c", "gcc", ["-static"]), ("a.cc", "g++", ["-std=c++11"]), ("a.c", "clang", ["-O2"])):
        if not shutil.which(compiler):
            continue
        (case.dir / name).write_text(text)
        made = case.run(compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags, "-I", case.dir / "include",
                        case.dir / name, "-o", case.dir / "a")
        equal((made.status, made.err), (0, ""), f"{compiler} {flags}")
        equal(case.run(case.dir / "a").status, 0, "of a program that names nobody")


def lost(case, *words):
    """The trace of `named lost`, ended when the witness has seen all three."""
    process = case.ctp_start("-q", "--overflow=block", case.target("named"), "lost", *words)
    process.wait_for("ready")
    until(lambda: len({x.get("coroutine") for x in witness(case.dir / "ctp.data")}) >= 3, "the witness of three")
    os.kill(child_of(process.pid), signal.SIGKILL)
    process.done()


def check_reports(case):
    """A finding tells its coroutines apart by their names, in every format; its fingerprint knows none."""
    lost(case)
    _, report = case.report()
    [finding] = [f for f in report["findings"] if f["rule"] == "CTP001"]
    names = [c["name"] for c in finding["coroutines"]]
    need(len(names) == 3 and all(re.fullmatch(r"conn \d+ to 10\.0\.0\.1", n) for n in names), f"names {names}")
    need(f' connection "{names[0]}" ' in finding["message"], finding["message"])
    text = case.analyze().out
    need(f'connection "{names[0]}"' in text and 'reaper "reaper"' in text, text)
    for name in names[1:]:
        need(f'"{name}"' in text, f"{name}: {text}")
    sarif = json.loads(case.analyze("ctp.data", "--format=sarif").out)
    need(names[0] in json.dumps(sarif), "no name in sarif")
    need(names[0] in case.analyze("ctp.data", "--format=markdown").out, "no name in markdown")
    nameless = case.dir / "nameless"
    shutil.copytree(case.dir / "ctp.data", nameless)
    for path in nameless.glob("ctp/image*/names"):
        path.unlink()
    for path in nameless.glob("ctp/image*/snapshot/names"):
        path.unlink()
    _, old = case.report(nameless)
    equal([(f["fingerprint"], f["count"]) for f in old["findings"]],
          [(f["fingerprint"], f["count"]) for f in report["findings"]], "as of a trace from before names")
    equal({c["name"] for f in old["findings"] for c in f["coroutines"]}, {None}, "names")


def check_groups(case):
    """--group-by tells a finding's coroutines apart, and leaves the finding what it is."""
    lost(case)
    report = case.report()[1]["findings"]
    for by, want in (("site", None), ("name", r"groups +1 \"conn \d+ to 10\.0\.0\.1\" · 1 "), ("entry", r"groups +3 connection\n"),
                     ("creator", r"groups +3 created by the native stack of thread \d+\n")):
        text = case.analyze("ctp.data", f"--group-by={by}").out
        need(re.search(want, text) if want else "groups" not in text, f"{by}: {text}")
        equal("  also " in text, not want, f"{by}: the list of the others")
        equal(case.report("ctp.data", f"--group-by={by}")[1]["findings"], report, f"findings by {by}")
    refused = case.analyze("ctp.data", "--group-by=color")
    equal((refused.status, refused.err.count("\n")), (2, 1), f"a word that is none: {refused}")
    need({c["creator"] for c in report[0]["coroutines"]} - {None}, "nobody has a creator")


def check_threads(case):
    """A thread that has a name of its own is told by it."""
    lost(case, "thread")
    text = case.analyze().out
    need(re.search(r'closed by the native stack of thread \d+ "sweeper"', text), text)


def check_ps(case):
    """ctp-ps: of one its name, of a group the first few."""
    process = case.ctp_start("-q", case.target("named"), "steps")
    process.wait_for("ready")
    program = child_of(process.pid)
    text = case.run(case.build / "src/ps/ctp-ps", program).out
    need(' coroutine 1 steps_main "second" ' in text, text)
    need(f' 4 coroutines stay "{LONGEST}", "a name that would end within a character: \u00e4\u00f6", "evil ?[31m ' in text, text)
    each = case.run(case.build / "src/ps/ctp-ps", "--all", program).out
    need(f' stay "{LONGEST}" ' in each and ' "made, by its stack"' in each, each)
    need("\x1b" not in text + each, "an escape sequence")


def check_timelines(case):
    """Tracks of coroutines, slices of threads and what wakes whom bear the names; a thread's track its own."""
    lost(case, "thread")
    names = {c["name"] for f in case.report()[1]["findings"] for c in f["coroutines"]}
    for form, read in (("perfetto", perfetto), ("chrome", lambda path: chrome(path)[0])):
        case.analyze("ctp.data", f"--format={form}", "-o", form)
        line = read(case.dir / form)
        called = {v[1].rsplit(" ", 1)[0] for v in line.tracks.values() if v[0] == "coroutine"}
        equal(called, {f'connection "{n}"' for n in names} | {"stay"}, f"{form}: tracks of coroutines")
        ran = {s.name.rsplit(" ", 1)[0] for s in line.on("thread") if s.name[-1].isdigit()}
        equal(ran, called, f"{form}: who ran")
        equal({m.args["coroutine"].rsplit(" ", 1)[0] for m in line.marks if m.name == "creates"}, called, f"{form}: who was created")
        equal(sorted(v[1].split()[0] for v in line.tracks.values() if v[0] == "thread"), ["main", "sweeper"], f"{form}: threads")


def check_profiles(case):
    """--group-by=name: each name has its stacks, whose root and pprof's label it is; without it, none."""
    lost(case)
    sums = []
    for words in ((), ("--group-by=name",)):
        ours, read = read_all(case, words=words)
        names = {c["name"] for f in case.report()[1]["findings"] for c in f["coroutines"]} if words else set()
        roots = {stack.split(";")[0] for stack in ours["suspended"]}
        equal({r for r in roots if r[0] == '"'}, {f'"{n}"' for n in names} | ({'"reaper"'} if words else set()), f"roots {words}")
        labels = {(s["labels"].get("name"), s["frames"][-1]["name"]) for s in read["pprof"]["samples"]}
        equal({(n, r) for n, r in labels if n or r[0] == '"'}, {(n, f'"{n}"') for n in names | ({"reaper"} if words else set())}, "labels")
        sums.append({w: sum(stacks.values()) for w, stacks in ours.items()})
    equal(sums[0], sums[1], "what it comes to")


def check_terminal(case):
    """What a program calls its coroutines cannot steer a terminal, nor break JSON."""
    lost(case)
    for path in pathlib.Path(case.dir / "ctp.data").glob("ctp/image*/**/names"):
        data = path.read_bytes()
        path.write_bytes(data.replace(b"conn ", b"\x1b[31").replace(b" to 1", b"\xff\n\xc2\x9b\""))
    _, report = case.report()
    names = [c["name"] for f in report["findings"] for c in f["coroutines"]]
    need(all(re.fullmatch(r'\?\[31\d+\?\?\?"0\.0\.0\.1', n) for n in names), f"names {names}")
    for form in ("text", "markdown", "sarif"):
        out = case.analyze("ctp.data", f"--format={form}").out
        need(not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]", out), f"{form}: {out!r}")


def check_fork(case):
    """A followed child goes on with the coroutines of its parent, and with their names."""
    process = case.ctp_start("-q", "-f", case.target("named"), "fork")
    process.wait_for("ready")
    program = child_of(process.pid)
    os.kill(child_of(program), signal.SIGKILL)
    equal(process.done().status, 2, "status")
    trace = case.dir / "ctp.data"
    names = [p.read_bytes() for p in sorted(trace.glob("ctp/image*/names"))]
    equal([n.count(b"from before the fork\0") for n in names], [1, 1], "the name in both processes")


def check_race(case):
    """Named by two at once, read meanwhile: one name or the other."""
    process = case.ctp_start("-q", case.target("named"), "race")
    process.wait_for("ready")
    program = child_of(process.pid)
    seen = set()

    def look():
        done = case.run(case.build / "src/ps/ctp-ps", "--json", program)
        listing = json.loads(done.out)
        seen.update(c["name"] for g in listing["groups"] for c in g["coroutines"])
        return seen >= {"a" * 46, "b" * 46}
    until(look, "both names")
    equal(seen - {None}, {"a" * 46, "b" * 46}, "names")


def check_core(case):
    """A core file holds the names."""
    process = case.ctp_start("-q", case.target("named"), "steps")
    process.wait_for("ready")
    program = child_of(process.pid)
    made = case.run(tool("gcore"), "-o", case.dir / "core", program)
    core = case.dir / f"core.{program}"
    if not core.exists():
        raise Skip(f"gcore makes none: {made.err.strip().splitlines()[-1:]}")
    text = case.analyze(core).out
    need("\x1b" not in text, "an escape sequence")
    for name in ("second", LONGEST, "made, by its context", "made, by its stack"):
        need(f'"{name}"' in text, f"{name}: {text}")


def check_lock(case):
    """A lock that is static data is told by its name."""
    for exhibit, words in (("ctp018_journal_lock", r"pthread_mutex_lock journal \(0x[0-9a-f]+\)"),
                           ("ctp019_cache_lock", r"lock cache \(0x[0-9a-f]+\) locked")):
        def told(_done, words=words):
            return re.search(words, " ".join(case.analyze("ctp.data", "--all").out.split()))
        timed(lambda option, exhibit=exhibit: case.ctp("-q", option, case.build / f"tests/museum/m-{exhibit}"), 2, told)
        need(told(None), case.analyze("ctp.data", "--all").out)


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
