# SPDX-License-Identifier: MIT
"""Switch functions that cannot be interposed: programs that have one in their own code, stripped,
and know their coroutines and switches (t-patched, on tests/targets/co_patched.c)."""
import json
import os
import pathlib
import platform
import re
import shutil
import signal

from check_counts import said
from check_switch import instructions
from harness import ROOT, Skip, child_of, equal, need, tool

ENGINES = ("slot", "moved", "from", "order", "order_slot", "flag", "floats", "slot_back", "struct", "saved")
CASES = ("basic", "threads", "short", "migrate", "orphan", "scheduler", "nested")


def program(case):
    path = case.build / "tests/targets/t-patched"
    if platform.machine() != "x86_64":
        raise Skip("functions are patched on x86_64 only")
    need(path.exists(), f"no {path}")
    return path


def counted(case, engine, what):
    """Its own numbers, and those of the trace: equal, nothing lost, no finding."""
    done = case.ctp("-o", f"{engine}.{what}", "-E", f"CO_ENGINE={engine}", program(case), what)
    equal(done.status, 0, f"status ({done})")
    coroutines, switches = said(done.out)
    _, report = case.report(case.dir / f"{engine}.{what}")
    trace = report["trace"]
    equal((trace["coroutines"]["total"], trace["switches"], trace["lost"]), (coroutines, switches, 0),
          f"{engine} {what}: coroutines, switches, lost")
    equal(report["findings"], [], f"{engine} {what}: findings")
    return trace


def check_counts(engine):
    def run(case):
        for what in CASES:
            trace = counted(case, engine, what)
            need(any("t-patched has its own " in x and ", patched" in x for x in trace["coverage"]),
                 f"coverage: {trace['coverage']}")
    return run


def check_off(case):
    """Not patched where that is turned off, by either way: nothing is seen, and the program does its work."""
    for words in (["--no-patch"], ["-E", "CTP_PATCH=0"]):
        done = case.ctp("-o", "x", *words, "-E", "CO_ENGINE=slot", program(case), "basic")
        equal(done.status, 0, "status")
        said(done.out)
        _, report = case.report(case.dir / "x")
        equal(report["trace"]["switches"], 0, f"{words}: switches")


def check_breakpoint(case):
    """A breakpoint in one of the functions: all of that program is left alone, and the report says why."""
    code = program(case).read_bytes()
    body = bytes.fromhex("5553415441554156415748892748 8b26")  # the pushes and the exchange of sw_slot
    at = code.find(body)
    need(at > 0 and code.find(body, at + 1) < 0, "sw_slot is not there, or twice")
    broken = case.dir / "broken"
    broken.write_bytes(code[:at] + b"\xcc" + code[at + 1:])
    broken.chmod(0o755)
    done = case.ctp("-o", "x", "-E", "CO_ENGINE=struct", broken, "basic")
    equal(done.status, 0, f"status ({done})")
    said(done.out)
    _, report = case.report(case.dir / "x")
    equal(report["trace"]["switches"], 0, "switches: all or nothing")
    facts = [f["message"] for f in report["facts"] if f["rule"] == "CTP030"]
    need(any("a breakpoint stands in it" in x for x in facts), f"facts: {facts}")


THREAD = """#include <pthread.h>
#include <unistd.h>
static void *wait_for_ever(void *arg) { for (;;) pause(); return arg; }
__attribute__((constructor)) static void begin(void) { pthread_t t; pthread_create(&t, 0, wait_for_ever, 0); }
"""


def check_threads(case):
    """A library's constructor has started a thread before libctp.so looks, and it may be in any function: of each, one byte is
    written, and all switches count. Seldom the one place that this can lead to is in use: then it is said."""
    (case.dir / "thread.c").write_text(THREAD)
    built = case.run(tool("gcc"), "-shared", "-fPIC", "thread.c", "-o", "thread.so", "-lpthread")
    if built.status:
        raise Skip(f"does not build here: {built.err[-300:]}")
    for _ in range(10):
        done = case.ctp("-o", "x", "-E", f"LD_PRELOAD={case.dir}/thread.so", "-E", "CO_ENGINE=slot", program(case), "basic")
        equal(done.status, 0, f"status ({done})")
        known = said(done.out)
        _, report = case.report(case.dir / "x")
        if report["trace"]["switches"]:
            equal((report["trace"]["coroutines"]["total"], report["trace"]["switches"]), known, "coroutines, switches")
            return
        facts = [f["message"] for f in report["facts"] if f["rule"] == "CTP030"]
        need(any("would lead into memory that is in use" in x for x in facts), f"facts: {facts}")
    raise AssertionError("memory was in use in each of 10 processes")


def check_loads(*words, user=None):
    """An object with a switch function comes and goes; the process may have given up rights before."""
    def run(case):
        module, loads = case.build / "tests/targets/libpatched.so", case.build / "tests/targets/t-patched-loads"
        program(case)
        for name in ("m.so", "m.so.copy"):
            shutil.copy(module, case.dir / name)
        as_user = [tool("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        if user and os.geteuid() != 0:
            raise Skip("only root can become another user")
        for path in (case.dir, *case.dir.parents)[:2] if user else ():
            os.chmod(path, 0o777)
        argv = [loads, case.dir / "m.so", *words]
        bare = case.run(*as_user, *argv)
        if bare.status == 77:
            raise Skip("this kernel has no PR_SET_MDWE")
        equal(bare.status, 0, f"status without ctp ({bare})")
        done = case.run(*as_user, case.run_tool, "--overflow=block", *argv)
        equal(done.status, 0, f"status ({done})")
        coroutines, switches = said(done.out)
        _, report = case.report()
        trace = report["trace"]
        if "nodump" in words and user:  # /proc/self/mem is root's then
            equal((trace["switches"], report["findings"]), (0, []), "switches, findings")
            return
        equal((trace["coroutines"]["total"], trace["switches"], trace["lost"]), (coroutines, switches, 0),
              "coroutines, switches, lost")
        equal(report["findings"], [], "findings")
    return run


def check_unknown_code(case):
    """A switch function of no name that ctp knows, in a stripped program: the report and --check say where it stands."""
    (case.dir / "own.c").write_text(OWN)
    built = case.run(tool("gcc"), "-O1", "-s", "-w", "own.c", "-o", "own")
    program(case)
    if built.status:
        raise Skip(f"does not build here: {built.err[-300:]}")
    done = case.ctp("--error-exitcode=99", "-o", "x", case.dir / "own")
    equal((done.status, done.out.splitlines()[0]), (99, "there and back"), f"status and output ({done})")
    where = re.compile(r"code that sets the stack pointer at own\+0x[0-9a-f]+")
    need(where.search(done.err), done.err)
    _, report = case.report(case.dir / "x")
    need(any(where.search(f["message"]) for f in report["facts"] if f["rule"] == "CTP030"), f"facts: {report['facts']}")
    said = where.search(done.err)[0].split("+")[1]
    code = (case.dir / "own").read_bytes()
    at = code.find(bytes.fromhex("53 4889 6608 488b 27".replace(" ", "")))
    equal(int(said, 16), at + 1, "where the stack pointer is stored")


OWN = """#include <stdio.h>
#include <stdlib.h>
__attribute__((naked, noinline)) static void turn(void **to, void **from)
{
	__asm__("push %rbp\\n push %rbx\\n mov %rsp, 8(%rsi)\\n mov (%rdi), %rsp\\n pop %rbx\\n pop %rbp\\n ret");
}
static void *mine[2], *other[2];
static void body(void) { mine[0] = mine[1]; turn(mine, other); abort(); }
int main(void)
{
	void **top = (void **)((char *)aligned_alloc(16, 65536) + 65536) - 4;
	top[2] = body;
	other[0] = top;
	turn(other, mine);
	puts("there and back");
}
"""
FIBERS = """<?php
function inner($n) {
    Fiber::suspend($n);
}
class Worker {
    function run($k) { inner($k); }
}
function other() { Fiber::suspend(); }
$all = [];
for ($i = 0; $i < 3; $i++) {
    $all[] = $f = new Fiber(function() use ($i) { (new Worker)->run($i); });
    $f->start();
}
$all[] = $g = new Fiber('other');
$g->start();
echo "ready\\n";
sleep(1000);
"""


def check_php_frames(case):
    """ctp-ps tells each PHP fiber's functions, files and lines, and fibers apart whose machine code's stacks are the same."""
    program(case)
    php = shutil.which("php8.2")
    if not php:
        raise Skip("no php8.2 here")
    (case.dir / "fibers.php").write_text(FIBERS)
    process = case.ctp_start("-q", php, "-n", case.dir / "fibers.php")
    process.wait_for("ready")
    pid = child_of(process.pid)
    done = case.run(case.build / "src/ps/ctp-ps", "--json", pid)
    equal(done.status, 0, f"{done}")
    stacks = sorted((g["count"], [(f["symbol"], f["file"], f["line"]) for f in g["stack"] if f["module"] is None])
                    for g in json.loads(done.out)["groups"])
    path = str(case.dir / "fibers.php")
    equal(stacks, [(1, [("other", path, 8)]), (3, [("inner", path, 3), ("Worker::run", path, 6), ("{closure}", path, 11)])],
          "the functions of the scripts")
    text = case.run(case.build / "src/ps/ctp-ps", pid).out
    need(re.search(r"^     Worker::run +fibers\.php:6\n     \{closure\} +fibers\.php:11\n [^ ]", text, re.M), text)
    process.signal(signal.SIGTERM)
    process.done()
    equal(scripts(case), stacks, "the functions of the scripts, in the report")
    lines = case.dir / "ctp.data/ctp/image0/scripts.jsonl"
    text = lines.read_text()
    lines.write_text(re.sub(r'"changes":(\d+)', r'"changes":9\1', text) + text[:40])
    equal(scripts(case), [], "of lines that hold no more")


def scripts(case):
    """For each group of suspended coroutines how many, and the functions of scripts on their stack, if there are any."""
    _, report = case.report()
    equal(report["accounting"]["suspended"], 4, "suspended fibers")
    found = [(g["count"], [(f["symbol"], f["file"], f["line"]) for f in g["stack"] if f["module"] is None])
             for g in report["waiters"]]
    return sorted((n, frames) for n, frames in found if frames)


CXX_NAMES = {"jump_fcontext": "_ZN5boost7context6detail13jump_fcontextEPvS2_",
             "make_fcontext": "_ZN5boost7context6detail13make_fcontextEPvmPFvNS1_10transfer_tEE",
             "ontop_fcontext": "_ZN5boost7context6detail14ontop_fcontextEPvS2_PFNS1_10transfer_tES3_E"}


def cxx_boost(case):
    """A program on a library as Boost.Context is from 1.87 on: its names are C++'s, and jump to hidden functions."""
    program(case)
    (case.dir / "names.S").write_text("\n".join(f".globl {cxx}\n{cxx}: jmp {c}" for c, cxx in CXX_NAMES.items()) +
                                      '\n.section .note.GNU-stack, "", @progbits\n')
    (case.dir / "names.map").write_text("{ global: _ZN5boost*; local: *; };\n")
    targets = ROOT / "tests/targets"
    for argv in (["-shared", "names.S", "-o", "libnames.so", "-l:libboost_context.a", "-Wl,--version-script=names.map"],
                 ["-O1", "-g", "-w", "-D_GNU_SOURCE", *[f"-D{c}={cxx}" for c, cxx in CXX_NAMES.items()],
                  *[targets / x for x in ("engines_fcontext.c", "engines.c", "must.c")], "-o", "cxx",
                  f"{case.dir}/libnames.so", "-lpthread"]):
        built = case.run(tool("gcc"), *argv)
        if built.status:
            raise Skip(f"does not build here: {built.err[-300:]}")
    return case.dir / "cxx"


def check_exported_boost(case):
    """The C++ names alone show all switches; where the hidden functions are patched, each counts once."""
    path = cxx_boost(case)
    for option, how in (("--no-patch", "interposed"), ("--ring-size=256K", "patched")):
        for what in ("ping", "heap", "ontop", "threads", "mixed"):
            done = case.ctp("-o", "x", "--overflow=block", option, path, what)
            equal(done.status, 0, f"status ({done})")
            coroutines, switches = said(done.out)
            _, report = case.report(case.dir / "x")
            trace = report["trace"]
            equal((trace["coroutines"]["total"], trace["switches"], trace["lost"], report["findings"]),
                  (coroutines, switches, 0, []), f"{option} {what}: coroutines, switches, lost, findings")
            need(any("libnames.so has its own Boost.Context 1." in x and f", {how}" in x for x in trace["coverage"]),
                 f"coverage: {trace['coverage']}")


RUBY = """made = switches = 0
20.times { f = Fiber.new { 9.times { |i| Fiber.yield i }; nil }; made += 1; while f.alive? do f.resume; switches += 2 end }
puts "coroutines #{made} switches #{switches}" """


def check_exported_names(case):
    """Ruby and Coro call their switch functions by name: seen where nothing is patched; Coro's library only Perl has loaded."""
    program(case)
    ruby, perl = shutil.which("ruby"), shutil.which("perl")
    if not ruby or case.run(perl, "-e", "use Coro").status:
        raise Skip("this needs ruby and libcoro-perl")
    for argv in ([ruby, "-e", RUBY], [perl, "-e", "use Coro; my @c = map { async { cede for 1..20 } } 1..5; $_->join for @c"]):
        counts = []
        for option in ("--no-patch", "--ring-size=256K"):
            done = case.ctp("-o", "x", option, *argv)
            equal(done.status, 0, f"status ({done})")
            _, report = case.report(case.dir / "x")
            counts.append((report["trace"]["coroutines"]["total"], report["trace"]["switches"], report["findings"]))
            facts = [f["message"] for f in report["facts"] if f["rule"] == "CTP030"]
            equal(facts, [], "what is not seen")
        equal(counts[0], counts[1], "by name, and patched")
        need(counts[0][1] > 0, "switches")
        if done.out.strip():
            equal(counts[0][:2], said(done.out), "its own count")


KNOWN = re.compile(r"boost_context|php|ruby|tarantool|simgrid|State\.so|systemc|libst\.so|swiftshader|crystal|ldc|druntime|ares|brpc|"
                   r"libaco|coro|fiber|greenlet|marl|libco|srs|/build/|/tmp/")


def check_scan(case):
    """The code of programs of this system: no body is found where none is, and those that are there are found."""
    program(case)
    paths = sorted(x for folder in ("/usr/bin", "/usr/sbin", "/usr/lib/x86_64-linux-gnu") if os.path.isdir(folder)
                   for x in (os.path.join(folder, y) for y in os.listdir(folder)) if os.path.isfile(x) and not os.path.islink(x))
    (case.dir / "paths").write_text("\n".join(x for x in paths if os.path.getsize(x) < 64 << 20))
    with open(case.dir / "paths") as names:
        done = case.run(case.build / "tests/targets/t-scan-elf", stdin=names)
    equal(done.status, 0, "status")
    *found, last = done.out.splitlines()
    need(int(last.split()[1]) > 100, last)
    for line in found:
        need(KNOWN.search(line.split(":")[0]), f"what is that: {line}")
        need("broken" not in line, line)
    boost = next((x for x in paths if "libboost_context.so" in x), None)
    need(not boost or any(boost in x and "Boost.Context" in x for x in found), f"{boost} is not found")


SCANNED = {True: 0.65, False: 2.0}  # instructions for a byte of code, with AVX2 and without, at most


def check_scan_cost(case):
    """What it costs to look through an object's code, in instructions."""
    program(case)
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    (case.dir / "paths").write_text(libc)
    wide = "avx2" in pathlib.Path("/proc/cpuinfo").read_text()
    for avx2, without in ((True, ""), (False, "glibc.cpu.hwcaps=-AVX2")):
        with open(case.dir / "paths") as names:
            done = case.run(tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=match_all",
                            case.build / "tests/targets/t-scan-elf", stdin=names, env={"GLIBC_TUNABLES": without})
        bytes_seen = int(re.search(r"bytes (\d+)", done.out)[1])
        each = instructions(done) / bytes_seen
        need(each > 0.3 and each <= SCANNED[avx2 and wide], f"{each:.2f} instructions for a byte")
    (case.dir / "paths").write_text(str(program(case)))
    with open(case.dir / "paths") as names:
        done = case.run(tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=match_all",
                        case.build / "tests/targets/t-scan-elf", stdin=names)
    need("Boost.Context" in done.out, done.out)
    need(20000 < instructions(done) <= 400000, f"{instructions(done)} instructions where bodies are, and others are looked for near them")


CHECKS = [("scan_cost", check_scan_cost)] + [(f"counts_{engine}", check_counts(engine)) for engine in ENGINES] + [
    ("exported_boost", check_exported_boost), ("exported_names", check_exported_names),
    ("php_frames", check_php_frames), ("unknown_code", check_unknown_code), ("off", check_off), ("breakpoint", check_breakpoint), ("threads", check_threads), ("scan", check_scan),
    ("loads", check_loads("1000", "2")), ("loads_mdwe", check_loads("20", "0", "mdwe", user=65534)),
    ("loads_seccomp", check_loads("20", "0", "seccomp", user=65534)),
    ("loads_nodump", check_loads("3", "1", "nodump", user=65534))]
