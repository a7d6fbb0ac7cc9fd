# SPDX-License-Identifier: MIT
"""A guest's manners towards who else looks into the program: unwinders, debuggers, sanitizers, valgrind."""
import os
import pathlib
import re

from check_manners import BLOCK, bare_and_traced, same_switches, said
from check_run import complete
from harness import ROOT, Skip, child_of, equal, need, tool

TARGETS = ROOT / "tests/targets"


def built(case, name, *words, compiler="gcc", sources=()):
    """A program or library made for this check: some need a compiler or flags that the build does not."""
    out = case.dir / name
    done = case.run(tool(compiler), "-g", "-O1", "-w", "-D_GNU_SOURCE", *words, *[TARGETS / s for s in sources], "-o", out)
    if done.status != 0:
        raise Skip(f"{compiler} cannot build with {' '.join(map(str, words))}: {done.err.splitlines()[-1:]}")
    return out


# ---- unwinding

def check_exceptions(case):
    """Exceptions thrown behind our wrappers reach their handlers; pthread_exit unwinds a coroutine; backtrace ends."""
    behind = built(case, "behind.so", "-DBEHIND", "-shared", "-fPIC", compiler="g++", sources=["manners_throws.cc"])
    program = built(case, "throws", "-rdynamic", "-pthread", compiler="g++", sources=["manners_throws.cc"])
    bare = case.run(program, env={"LD_PRELOAD": str(behind)})
    done = case.ctp(BLOCK, "-E", f"LD_PRELOAD={behind}", program)
    equal((done.status, done.out), (bare.status, bare.out), "status and stdout")
    need("caught 200 cleaned 201\n" in done.out, done.out)
    counts = same_switches(case, done)["coroutines"]
    equal((counts["running"], counts["finished"]), (0, 1), "running, finished")
    bare = case.run(program, "uncaught", env={"LD_PRELOAD": str(behind)})
    done = case.ctp("-q", "-E", f"LD_PRELOAD={behind}", program, "uncaught")
    equal((done.status, done.err), (bare.status, bare.err), "the end by an exception that nobody catches")
    need("terminate called after throwing an instance of 'std::runtime_error'" in done.err, done.err)


def gdb(case, *words):
    done = case.run(tool("gdb"), "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set confirm off", *words)
    if "ptrace: Operation not permitted" in done.err:
        raise Skip("ptrace is not permitted here")
    return done


def frames(text):
    """The functions of gdb's backtraces, innermost first; the second is whether it complains."""
    names = re.findall(r"^#\d+ .*?(?:in )?([\w.]+) \(", text, re.M)
    return names, re.search(r"Backtrace stopped|corrupt|PC not saved|Cannot access memory", text)


def check_gdb_attached(case):
    """A coroutine in a hooked call, seen by a debugger that attaches: its frames, and an end."""
    read, write = os.pipe()
    try:
        process = case.ctp_start("-q", case.target("walked"), "bt", stdin=read)
        process.wait_for("ready")
        done = gdb(case, "-p", child_of(process.pid), "-ex", "bt")
    finally:
        os.close(read)
        os.close(write)
    names, broken = frames(done.out)
    need("sits" in names and "read" in names, f"frames: {names} {done}")
    need(names.index("sits") + 1 >= len(names) - 1 and not broken, f"goes on behind the coroutine: {done.out}")
    equal(process.done().status, 0, "status")


def check_gdb_in_hook(case):
    """Inside a hook, on its private stack: the debugger finds the program's frames, up to main or the coroutine's stub."""
    lib = case.lib
    done = gdb(case, "-ex", f"set exec-wrapper env LD_PRELOAD={lib} CTP_OUTPUT={case.dir}/trace", "-ex",
               "set breakpoint pending on", "-ex", "break hook_swapcontext", "-ex", "run", "-ex", "bt",
               "-ex", "continue", "-ex", "bt", "-ex", "kill", "--args", case.target("walked"), "bt")
    traces = done.out.split("Breakpoint 1, ")[1:]
    need(traces, f"never stopped in the hook: {done}")
    names, broken = frames(traces[0])
    equal(names, ["hook_swapcontext", "main"], f"frames of {traces[0]}")
    need("<signal handler called>" in traces[0] and not broken, f"the trampoline between them: {traces[0]}")


def samples(case, *words):
    """The stacks that perf finds in a program: lists of lines."""
    data = case.dir / "perf.data"
    done = case.run(tool("perf"), "record", "-q", "-o", data, "--call-graph", "dwarf,4096", "-F", "1999", "-e", "cpu-clock:u",
                    case.run_tool, "-q", BLOCK, *words)
    if done.status != 0 or not data.exists():
        raise Skip(f"perf_event_open is not permitted here: {done.err.strip()[-200:]}")
    script = case.run("perf", "script", "-i", data, "-F", "comm,ip,sym", "--no-inline").out
    return [s.split("\n") for s in script.split("\n\n")]


def within(found, names):
    return [s for s in found if any(re.search(rf"\b({names})\b", line) for line in s)]


def check_perf(case):
    """perf unwinds through our frames by their CFI: of the fast path of a switch, and of the long one."""
    callers = within(samples(case, case.target("misc"), "run", "2000000"), r"co_(yield|resume\w*)")
    beyond = within(callers, r"main|spin\w*")
    need(len(beyond) >= 0.9 * len(callers) > 0, f"{len(beyond)} of {len(callers)} go on beyond the switch: {callers[:3]}")
    all_of_it = samples(case, case.target("twoways"), "other", "2", "1000000")
    inside = within(all_of_it, "hook_swapcontext")
    if len(inside) < 10:
        raise Skip(f"{len(inside)} samples in a hook, of {len(all_of_it)}")
    # Its sample holds one stack, the private one: the trampoline is found there, whose caller lies on the other.
    for sample in inside:
        need(re.search(r"\bswapcontext\b", "\n".join(sample[2:])), f"the trampoline is not found: {sample}")


# ---- sanitizers

COUNTS = ("counts.c", "odd.c", "co.c", "must.c")
LEAKS = {"ASAN_OPTIONS": "detect_leaks=1"}


def sanitized(case, compiler, *words, sources=COUNTS, args=("basic",), quiet=True):
    """Built so, the program is as quiet under ctp as without it, and every switch is seen."""
    program = built(case, f"sanitized.{case.runs}", *words, "-pthread", compiler=compiler, sources=sources)
    bare = case.run(program, *args, env=LEAKS)
    if bare.status != 0:
        raise Skip(f"{compiler} {' '.join(words)}: does not run here: {bare.err[:300]}")
    done = case.ctp("-q", BLOCK, program, *args, env=LEAKS)
    equal((done.status, done.out), (0, bare.out), f"{words}: status and stdout ({done})")
    if quiet:
        equal(re.sub(r"==\d+==", "", done.err), re.sub(r"==\d+==", "", bare.err), f"{words}: stderr")
    need("ERROR" not in done.err and "leak" not in done.err, f"{words}: {done.err[:3000]}")
    equal(complete(case), said(done, "switches"), f"{words}: switches")


def clang_runtime(case):
    """Where clang's shared runtimes lie: programs linked with them find them there only if told."""
    return case.run(tool("clang"), "-print-file-name=libclang_rt.asan-x86_64.so").out.strip()


def check_leaks(case):
    """libctp leaks nothing: nobody's LeakSanitizer blames it, nor is it in a report of the program's own leaks."""
    for compiler in ("gcc", "clang"):
        sanitized(case, compiler, "-fsanitize=leak")
        sanitized(case, compiler, "-fsanitize=leak", args=("threads",))
    leaks = case.dir / "leaks.c"
    leaks.write_text("#include <stdlib.h>\nint main(void) { void *volatile p = malloc(123); p = 0; return 0; }\n")
    program = built(case, "leaks", "-fsanitize=leak", leaks)
    for env in ({"LD_PRELOAD": str(case.lib)}, None):
        done = case.run(program, env=env) if env else case.ctp("-q", program)
        equal(done.status, 23, "LeakSanitizer's status")
        need("SUMMARY: LeakSanitizer: 123 byte(s) leaked in 1 allocation(s)" in done.err, done.err)
        need("libctp" not in done.err, done.err)


def check_asan(case):
    """AddressSanitizer, shared and static, gcc's and clang's; with annotated coroutines as well."""
    for compiler, words in (("gcc", ()), ("gcc", ("-static-libasan",)), ("clang", ()),
                            ("clang", ("-shared-libasan", f"-Wl,-rpath,{pathlib.Path(clang_runtime(case)).parent}"))):
        sanitized(case, compiler, "-fsanitize=address", *words, quiet=False)
        sanitized(case, compiler, "-fsanitize=address", *words, sources=["manners_fibers.c"], args=())


def check_other_sanitizers(case):
    for compiler, words in (("gcc", ("thread",)), ("gcc", ("thread", "-static-libtsan")), ("clang", ("thread",)),
                            ("gcc", ("undefined",)), ("clang", ("undefined",)), ("clang", ("memory",))):
        for args in (("basic",), ("threads",)):
            sanitized(case, compiler, f"-fsanitize={words[0]}", *words[1:], args=args)


# ---- switched off

CALLS = """
#include <stdlib.h>
#include <sys/epoll.h>
#include <ucontext.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	static ucontext_t u;
	char c;
	for (long n = atol(argv[2]); n > 0; n--)
		switch (*argv[1]) { /* no strcmp(): it takes more instructions where a string lies at the end of a page */
		case 'r': (void)!read(-1, &c, 1); break;
		case 'c': close(-1); break;
		case 'd': (void)!dup(-1); break;
		case 'e': epoll_wait(-1, NULL, 1, 0); break;
		case 'g': getcontext(&u); break;
		case 's': swapcontext(&u, &u); break;
		default: return 1;
		}
	return 0;
}
"""


def check_disabled(case):
    """CTP_DISABLE=1: no region, no engine, no thread, no trace."""
    env = {"LD_PRELOAD": str(case.lib), "CTP_DISABLE": "1"}
    done = case.run(tool("cat"), "/proc/self/maps", "/proc/self/status", "/proc/self/environ", env=env)
    need("libctp.so" in done.out and "memfd" not in done.out and "CTP_SHM_PATH" not in done.out, done.out)
    need(re.search(r"^Threads:\t1$", done.out, re.M), done.out)
    done = case.run(case.target("counts"), *("basic",), env=env)
    equal((done.status, done.err), (0, ""), "status and stderr")
    need(not (case.dir / "ctp.data").exists(), "a trace")


def check_disabled_cost(case):
    """A hook that is switched off is a jump, by valgrind's count of instructions."""
    source = case.dir / "calls.c"
    source.write_text(CALLS)
    program = built(case, "calls", "-fno-builtin", "-Wl,-z,now", source)
    off = {"LD_PRELOAD": str(case.lib), "CTP_DISABLE": "1"}

    def instructions(name, env):
        counts = []
        for n in (1000, 3000):
            done = case.run(tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, n, env=env)
            counts.append(int(re.search(r"Collected : (\d+)", done.err)[1]))
        return (counts[1] - counts[0]) / 2000
    for name in ("read", "close", "dup", "epoll_wait", "getcontext", "swapcontext"):
        more = instructions(name, off) - instructions(name, None)
        need(more <= 10, f"a disabled {name} takes {more} instructions more")


# ---- valgrind

def check_valgrind(case):
    """memcheck finds no error and no leak of ours; drd has nothing to say."""
    # helgrind would, too, but its shadow of the region takes 10 GB.
    for words in (["--tool=memcheck", "--leak-check=full", "--show-leak-kinds=all"], ["--tool=drd"]):
        bare = case.run(tool("valgrind"), *words, case.target("counts"), "basic", "20")
        done = case.ctp(BLOCK, "valgrind", *words, case.target("counts"), "basic", "20")
        equal((done.status, done.out), (bare.status, bare.out), f"{words}: status and stdout ({done})")
        need("ERROR SUMMARY: 0 errors from 0 contexts" in done.err, f"{words}: {done.err}")
        need("libctp" not in done.err, f"{words}: {done.err}")
        need("memcheck" not in words[0] or "no leaks are possible" in done.err, f"{words}: {done.err}")
        equal(complete(case), said(done, "switches"), "switches")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items())
          if name.startswith("check_") and callable(function) and function.__module__ == __name__]
