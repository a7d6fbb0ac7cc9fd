# SPDX-License-Identifier: MIT
"""The guest on aarch64: cross-built, run by qemu-user under an engine of this
machine. The region is the same on both, so all that the engine and the
analysis say of a program must be what they say here."""
import pathlib
import platform
import re
import signal
import sys
import threading

import check_conform
import check_engines
from check_counts import check_lines, check_trace, said
from harness import ROOT, Skip, equal, need, tool, until, witness

sys.path.append(str(ROOT / "tests/programs"))
import packages  # noqa: E402

CROSS = "aarch64-linux-gnu"
TARGETS = ROOT / "tests/targets"
QEMU = ["qemu-aarch64", "-cpu", "max", "-L", f"/usr/{CROSS}"]
BUILT = ["counts", "lost", "misc", "ways", "signals", "stack", "walked", "engines-set", "engines-jump", "engines-error",
         "engines-foreign", "conform-O2", "conform-cet"]
COUNTS = ["basic", "threads", "migrate", "orphan", "scheduler", "nested", "link", "set", "reuse", "copy", "args", "twice",
          "self", "small", "signal", "unaligned", "closeall"]
ENGINES = {"set": ["lwp", "link_to_saved", "gone", "copied", "one_stack"],
           "jump": ["qemu", "migrate", "kinds", "up", "copied", "openssl"],
           "error": ["error_inside", "error_signal_inside", "born_threads"]}
FCONTEXT = ["ping", "heap", "ontop", "threads", "reuse", "mixed"]
ENDS = ["end_no_link_thread", "end_exit", "end_abort", "end_signal", "end_main_thread"]

_lock = threading.Lock()
_made = {}


def once(name, make):
    """make(), once for all checks; what it raised, it raises for each."""
    with _lock:
        if name not in _made:
            try:
                _made[name] = make(), None
            except Exception as why:
                _made[name] = None, why
    value, why = _made[name]
    if why:
        raise why
    return value


class Emulated:
    """A case whose programs run under the emulator; what it has no word for is the case's own."""

    def __init__(self, case):
        self.case, self.extra = case, []
        self.place = once("build", lambda: build(case))
        self.lib = self.place / "src/preload/libctp.so"

    def __getattr__(self, name):
        return getattr(self.case, name)

    def target(self, name):
        return self.place / "tests/targets" / f"t-{name}"

    def emulator(self, **env):
        words = [*QEMU]
        for name, value in env.items():
            words += ["-E", f"{name}={value}"]
        return words + self.extra

    def run(self, *argv, env=None):
        return self.case.run(*self.emulator(**(env or {})), *argv)

    def ctp(self, *argv, behind=""):
        """The options first, as for ctp-run; from the first word that is a path on, the program."""
        at = next(i for i, word in enumerate(argv) if str(word).startswith("/"))
        preload = f"{self.lib}:{behind}" if behind else self.lib
        return self.case.ctp("--no-preload", *argv[:at], "--", *self.emulator(LD_PRELOAD=preload), *argv[at:])


def build(case):
    if platform.machine() != "x86_64":
        raise Skip("the engine's machine is another one here")
    packages.want("meson", "ninja-build", "qemu-user", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross")
    place = pathlib.Path(case.shared())
    done = case.run(tool("meson"), "setup", f"--cross-file={ROOT}/scripts/aarch64-cross.ini", "-Dguest_only=true", place,
                    ROOT)
    need(done.status == 0, f"meson: {done}")
    done = case.start(tool("ninja"), "-C", place, "src/preload/libctp.so",
                      *[f"tests/targets/t-{name}" for name in BUILT]).done(bound=600)
    need(done.status == 0, f"ninja: {done}")
    return place


def boost(case):
    """engines_fcontext with Boost's own assembly, from its arm64 package."""
    place = pathlib.Path(case.shared())
    packages.foreign("arm64", place, "libboost-context1.74.0")
    lib = place / f"usr/lib/{CROSS}"
    done = case.run(tool(f"{CROSS}-gcc"), "-O1", "-g", "-w", "-D_GNU_SOURCE", *[TARGETS / s for s in (
        "engines_fcontext.c", "engines.c", "must.c")], "-o", place / "t-engines-fcontext", lib / "libboost_context.so.1.74.0",
        "-Wl,--allow-shlib-undefined", "-lpthread")
    need(done.status == 0, f"does not build: {done}")
    return place / "t-engines-fcontext", lib


def check_fcontext(case, name):
    emulated = Emulated(case)
    program, lib = once("boost", lambda: boost(case))
    emulated.extra = ["-E", f"LD_LIBRARY_PATH={lib}"]
    check_engines.check_counted(emulated, program, name)


def same(case, *argv, switches=True):
    """Status and output bare and traced; returns what was recorded."""
    emulated = Emulated(case)
    bare = emulated.run(*argv)
    done = emulated.ctp("--overflow=block", *argv)
    equal((done.status, done.out), (bare.status, bare.out), f"status and output ({done})")
    report = case.report()[1]
    equal(report["findings"], [], "findings")
    need(not switches or report["trace"]["switches"], "no switch seen")
    return bare


def check_signals(case):
    """Handlers that nest, strike inside hooks, and jump within themselves: every switch is seen."""
    emulated = Emulated(case)
    done = emulated.ctp("--overflow=block", emulated.target("signals"), "storm", "1000")
    equal(done.status, 0, f"status ({done})")
    equal(case.report()[1]["trace"]["switches"], int(re.search(r"switches (\d+)", done.out)[1]), "trace.switches")


def check_little_stack(case):
    """What hooks add to a coroutine's stack is small, each of them, the first time too; and 2 KiB are enough."""
    emulated = Emulated(case)
    target = emulated.target("stack")
    bare, ours = emulated.run(target), emulated.ctp(target)
    equal((bare.status, ours.status), (0, 0), f"status ({bare} {ours})")
    rows = [[line.split() for line in done.out.splitlines()[:-1]] for done in (bare, ours)]
    need(len(rows[0]) == len(rows[1]) > 50, f"rows: {ours}")
    for (name, *other), (_, *one) in zip(*rows):
        need(all(int(a) - int(b) <= 768 for a, b in zip(one, other)), f"{name} needs {one} bytes of stack, not {other}")
    equal(emulated.ctp(target, "tiny", "2048").status, 0, "status on 2 KiB")


def check_exceptions(case):
    """Exceptions from behind our wrappers, a forced unwind of a coroutine, backtrace()."""
    emulated = Emulated(case)
    packages.want("g++-aarch64-linux-gnu")
    place = pathlib.Path(case.dir)
    for words in (["-DBEHIND", "-shared", "-fPIC", "-o", place / "behind.so"],
                  ["-rdynamic", "-pthread", "-o", place / "throws"]):
        done = case.run(tool(f"{CROSS}-g++"), "-O1", "-g", "-w", TARGETS / "manners_throws.cc", *words)
        need(done.status == 0, f"does not build: {done}")
    bare = emulated.run(place / "throws", env={"LD_PRELOAD": place / "behind.so"})
    done = emulated.ctp(place / "throws", behind=place / "behind.so")
    equal((done.status, done.out), (bare.status, bare.out), "status and output")
    need("caught 200 cleaned 201\n" in done.out, done.out)
    trace = case.report()[1]["trace"]
    equal((trace["switches"], trace["coroutines"]["finished"]), (int(re.search(r"switches (\d+)", done.out)[1]), 1),
          "switches, finished")


def check_unwind_tables(case):
    """At every instruction of the trampolines and stubs the caller is found, with its registers, or there is none."""
    emulated = Emulated(case)
    packages.want("gdb-multiarch")
    socket = pathlib.Path(case.dir) / "gdb"
    program = emulated.target("walked")
    emulated.extra = ["-g", socket]
    process = case.ctp_start("--no-preload", "--", *emulated.emulator(LD_PRELOAD=emulated.lib), program)
    until(socket.exists, "the emulator's socket")
    done = case.run(tool("gdb-multiarch"), "-nx", "-batch", "-ex", f"set sysroot /usr/{CROSS}",
                    "-ex", f"set solib-search-path {emulated.lib.parent}", "-x", ROOT / "tests/e2e/aarch64_steps.py", program,
                    env={"STEPS_LIB": str(emulated.lib), "STEPS_NM": f"{CROSS}-nm", "STEPS_SOCKET": str(socket)})
    equal([line for line in done.out.splitlines() if line.startswith("WRONG")], [], "places")
    found = re.search(r"^calls (\d+) steps (\d+)\nstepped (.*)$", done.out, re.M)
    need(found and int(found[2]) > 500, f"{done}")
    equal(len(found[3].split()), 13, f"functions stepped through: {found[3]}")
    equal(process.done().status, 0, "status")


def check_stacks(case):
    """The unit test of stack naming, against libunwind for this CPU."""
    emulated = Emulated(case)
    place, preload = pathlib.Path(case.dir), ROOT / "src/preload"
    packages.foreign("arm64", place, "libcmocka0", "libcmocka-dev", "libunwind8", "libunwind-dev", "liblzma5")
    folders = [place / "usr/lib" / CROSS, place / "lib" / CROSS]
    sources = [preload / f"{name}.c" for name in ("coroutine/stacks", "coroutine/cfi", "guest/coredump_advise", "guest/modules",
                                                "guest/memory")]
    done = case.run(
        tool(f"{CROSS}-gcc"), "-std=gnu17", "-O2", "-g", "-D_GNU_SOURCE",
        *[f"-I{f}" for f in (ROOT / "src", preload, preload / "arch/aarch64")],
        "-isystem", place / "usr/include", "-isystem", place / "usr/include" / CROSS, "-o", place / "test_stacks",
        ROOT / "tests/unit/test_stacks.c", *sources, ROOT / "src/ctp/region.c", *[f"-L{f}" for f in folders],
        *[f"-Wl,-rpath-link,{f}" for f in folders], "-lcmocka", "-lunwind")
    need(done.status == 0, f"does not build: {done}")
    done = emulated.run(place / "test_stacks", env={"LD_LIBRARY_PATH": ":".join(map(str, folders))})
    need(done.status == 0 and "PASSED" in done.err + done.out, f"{done}")


def check_lost(case):
    """A lost wakeup: who waits, who closed and where, by this CPU's frames and its program's symbols."""
    emulated = Emulated(case)
    process = case.ctp_start("--no-preload", "--", *emulated.emulator(LD_PRELOAD=emulated.lib), emulated.target("lost"))
    process.wait_for("ready")
    until(lambda: witness(case.dir / "ctp.data"), "the witness's look")
    process.signal(signal.SIGTERM)
    process.done()
    _, report = case.report()
    equal([f["rule"] for f in report["findings"]], ["CTP001"], "findings")
    finding = report["findings"][0]
    for stack, names in (("waiter_stack", ["co_read", "read_all", "waiter"]),
                         ("closer_stack", ["end_one", "end_all", "closer"])):
        shown = [frame["symbol"] for frame in finding[stack]]
        at = shown.index(names[0]) if names[0] in shown else 0
        equal(shown[at:at + 3], names, f"{stack}: {shown}")


def check_clock(case):
    """A region that keeps time by another CPU's counter is refused, in one line."""
    emulated = Emulated(case)
    words = ["-E", f"LD_PRELOAD={emulated.lib}", emulated.target("counts"), "basic"]
    done = case.ctp_by_tsc("--", *QEMU, *words)
    equal((done.status, said(done.out)[1]), (0, 2020), f"the program ({done})")
    need("the region's clock is another CPU's" in done.err, done.err)


def check_foreign(case):
    """Another library's jump_fcontext: all arguments and all results arrive, the structure behind x8, too."""
    need("NOT" not in same(case, Emulated(case).target("engines-foreign"), switches=False).out, "an argument was lost")


def under(check, target, *words):
    return lambda case: check(Emulated(case), [Emulated(case).target(target), *words])


CHECKS = [
    *[(name, under(check_trace, "counts", name)) for name in COUNTS],
    *[(f"{kind}_{name}", under(check_trace, f"engines-{kind}", name)) for kind, names in ENGINES.items() for name in names],
    *[(f"fcontext_{name}", lambda case, name=name: check_fcontext(case, name)) for name in FCONTEXT],
    ("copy.jsonl", under(check_lines, "counts", "copy")),
    ("exit_in_a_coroutine", under(check_trace, "counts", "exit", "37")),
    ("conform", lambda case: same(case, Emulated(case).target("conform-O2"))),
    ("conform_signed", lambda case: same(case, Emulated(case).target("conform-cet"))),
    *[(name, lambda case, name=name: same(case, Emulated(case).target("conform-O2"), name)) for name in ENDS],
    ("children", lambda case: same(case, Emulated(case).target("ways"), "children")),
    ("forks", lambda case: same(case, Emulated(case).target("misc"), "fork")),
    ("little_stack", check_little_stack),
    ("signals", check_signals),
    ("exceptions", check_exceptions),
    ("stacks", check_stacks),
    ("unwind_tables", check_unwind_tables),
    ("lost", check_lost),
    ("clock", check_clock),
    ("foreign", check_foreign),
]
