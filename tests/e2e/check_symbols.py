# SPDX-License-Identifier: MIT
"""Functions, files and lines of programs as compilers make them: with and without .debug_aranges,
of DWARF 4 and 5, with one range of code a file and with several."""
import json

from harness import Skip, equal, need, tool

FILES = {
    "app.c": """
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>
void wait_here(void);
ucontext_t home, co;
static char stack[65536];
__attribute__((noinline)) static void reader(void)
{
    wait_here(); // the line of reader
    __asm__ volatile("");
}
int main(void)
{
    getcontext(&co);
    co.uc_stack.ss_sp = stack;
    co.uc_stack.ss_size = sizeof stack;
    co.uc_link = &home;
    makecontext(&co, reader, 0);
    swapcontext(&home, &co);
    puts("parked");
    fflush(stdout);
    pause();
}
""",
    "wait.c": """
#include <ucontext.h>
extern ucontext_t home, co;
int loops;
static inline __attribute__((always_inline)) void leave(void)
{
    swapcontext(&co, &home); // the line of leave
    loops++;
}
void wait_here(void)
{
    leave(); // the line of wait_here
    loops++;
}
""",
}
WAYS = {"dwarf4": ["-gdwarf-4"], "dwarf5": ["-gdwarf-5"],
        "dwarf4_sections": ["-gdwarf-4", "-ffunction-sections"], "dwarf5_sections": ["-gdwarf-5", "-ffunction-sections"],
        "dwarf5_optimized": ["-gdwarf-5", "-O2"], "dwarf5_lld": ["-gdwarf-5", "-ffunction-sections", "-fuse-ld=lld"]}


def line_of(name):
    """Where its comment says that a function's frame is: (file, line)."""
    for file, text in FILES.items():
        for number, line in enumerate(text.splitlines(), 1):
            if line.endswith(f"// the line of {name}"):
                return file, number


def frames_of(case, program):
    """(function, file, line) of the one coroutine of the program, as ctp-ps and ctp-analyze show it."""
    run = case.ctp_start("-q", "-o", "trace", program)
    run.wait_for("parked")
    done = case.run(case.build / "src/ps/ctp-ps", "--json", "--all", run.pid)
    equal(done.status, 0, f"ctp-ps: {done.err}")
    run.signal(15)
    run.done()
    shown = [c for c in json.loads(done.out)["coroutines"] if c["state"] == "suspended"]
    equal(len(shown), 1, f"coroutines of {done.out}")
    return [(f["symbol"], (f["file"] or "").rsplit("/", 1)[-1], f["line"]) for f in shown[0]["stack"]]


def lines(case, compiler, words, strip):
    for name, text in FILES.items():
        (case.dir / name).write_text(text)
    program = case.dir / "program"
    done = case.run(tool(compiler), *words, "-o", program, *FILES)
    if "invalid linker name" in done.err or "cannot find 'ld'" in done.err or "collect2" in done.err:
        raise Skip(f"does not link here: {done.err.strip()[-200:]}")
    equal(done.status, 0, f"{compiler}: {done.err}")
    if strip:
        equal(case.run(tool("objcopy"), "--remove-section=.debug_aranges", program).status, 0, "objcopy")
    sections = case.run(tool("readelf"), "-SW", program).out
    need(".debug_info" in sections and ".debug_aranges" not in sections, f"the sections that are meant: {sections}")
    frames = frames_of(case, program)
    for name in ("leave", "wait_here", "reader"):
        need((name, *line_of(name)) in frames, f"{name} at {line_of(name)} in {frames}")


def check(compiler, words, strip):
    return lambda case: lines(case, compiler, words, strip)


CHECKS = [(f"{compiler}_{way}", check(compiler, words, compiler == "gcc"))
          for compiler in ("gcc", "clang") for way, words in WAYS.items()]
