# SPDX-License-Identifier: MIT
"""Patched switch functions beside who else looks into the program, or makes another one of it: gdb, perf, valgrind,
sanitizers; fork, exec, and -f."""
import re

import check_fork as fork
from check_counts import said
from check_manners_tools import LEAKS, built, frames, gdb, samples, within
from check_patch import program
from harness import Skip, equal, need, tool

SOURCES = ("co.c", "must.c", "co_patched.c", "switchers.S")
COUNTS = ("counts.c", "odd.c", *SOURCES)
ENGINE = {"CO_ENGINE": "slot"}


def seen(case, out, trace="ctp.data"):
    """As many coroutines and switches as the program says, nothing lost, no finding."""
    _, report = case.report(case.dir / trace)
    got = report["trace"]
    equal((got["coroutines"]["total"], got["switches"], got["lost"], report["findings"]), (*said(out), 0, []),
          "coroutines, switches, lost, findings")
    return report


def under_gdb(case, *words):
    """The program, preloaded by gdb: libctp.so traces it alone."""
    path = built(case, f"patched.{case.runs}", "-pthread", sources=COUNTS)
    env = f"env LD_PRELOAD={case.lib} CTP_OUTPUT={case.dir}/trace CO_ENGINE=slot"
    return gdb(case, "-ex", f"set exec-wrapper {env}", *[w for x in words for w in ("-ex", x)], "--args", path, "basic")


def check_gdb_later(case):
    """A breakpoint on the entry of a function that is patched already: it is met at each switch, and its caller is known."""
    program(case)
    done = under_gdb(case, "break main", "run", "break *sw_slot", "continue", "bt", "ignore 2 1000000000", "continue", "info breakpoints")
    names, broken = frames(done.out)
    need("sw_slot" in names and "swap_slot" in names and not broken, f"frames: {names} {done}")
    _, switches = said(re.search(r"coroutines \d+ switches \d+\n", done.out)[0])
    hits = re.search(r"\bsw_slot.*\n\s+breakpoint already hit (\d+) times", done.out)
    need(hits, f"{done}")
    seen(case, re.search(r"coroutines \d+ switches \d+\n", done.out)[0], "trace")
    equal(int(hits[1]), switches, "how often it was met")


def check_gdb_before(case):
    """One that was there before libctp.so looked: all of that program is left alone, which the report says."""
    program(case)
    done = under_gdb(case, "break *sw_slot+2", "run", "delete", "continue")
    said(re.search(r"coroutines \d+ switches \d+\n", done.out)[0])
    _, report = case.report(case.dir / "trace")
    facts = [f["message"] for f in report["facts"] if f["rule"] == "CTP030"]
    need(any("a breakpoint stands in it" in x for x in facts), f"facts: {facts}")
    equal(report["trace"]["switches"], 0, "switches")


def check_perf(case):
    """perf unwinds from a function behind its patched entry, and from the trampoline."""
    program(case)
    path = built(case, "patched", "-pthread", sources=COUNTS)
    callers = within(samples(case, "-E", "CO_ENGINE=slot", path, "basic", "100000"), "swap_slot")
    if len(callers) < 10:
        raise Skip(f"{len(callers)} samples below a switch")
    beyond = within(callers, r"co_(yield|resume\w*)")
    need(len(beyond) >= 0.9 * len(callers), f"{len(beyond)} of {len(callers)} go on beyond the switch: {callers[:3]}")


def check_valgrind(case):
    """memcheck sees no error of ours, and every switch is counted: valgrind runs the code as it was patched."""
    path = program(case)
    words = ["--tool=memcheck", "--leak-check=full", "--show-leak-kinds=all"]
    bare = case.run(tool("valgrind"), *words, path, "basic", "20", env=ENGINE)
    done = case.ctp("--overflow=block", "valgrind", *words, path, "basic", "20", env=ENGINE)
    equal((done.status, done.out), (bare.status, bare.out), f"status and stdout ({done})")
    need("ERROR SUMMARY: 0 errors from 0 contexts" in done.err and "libctp" not in done.err, done.err)
    seen(case, done.out)


def check_sanitizers(case):
    """A program with its own switch function and a sanitizer: as quiet as without ctp, every switch seen."""
    program(case)
    tried = 0
    for kind in ("address", "undefined", "thread"):
        path = built(case, kind, f"-fsanitize={kind}", "-pthread", sources=COUNTS)
        bare = case.run(path, "basic", env={**ENGINE, **LEAKS})
        if bare.status:
            continue  # this sanitizer does not bear such a program, or this machine not it
        done = case.ctp("--overflow=block", "-o", f"{kind}.data", path, "basic", env={**ENGINE, **LEAKS})
        equal((done.status, done.out), (0, bare.out), f"{kind}: status and stdout ({done})")
        need(not re.search("ERROR|WARNING|leak", done.err), f"{kind}: {done.err[:3000]}")
        seen(case, done.out, f"{kind}.data")
        tried += 1
    if not tried:
        raise Skip("none of the sanitizers bears such a program here")


def check_forks(name):
    def run(case):
        """The children of a patched program, and what they become."""
        program(case)
        path = built(case, "forks", "-pthread", sources=("fork.c", "fork_ways.c", *SOURCES))
        words = [path, name, *fork.CASES[name]]
        bare = case.run(*words, env=ENGINE)
        done = case.ctp(*words, env=ENGINE)
        fork.unharmed(bare, done, name)
        fork.same_count(case, fork.said(done.out, False))
        done = case.ctp("-o", "followed", "-f", *words, env=ENGINE)
        fork.unharmed(bare, done, name)
        trace = fork.same_count(case, fork.said(done.out, True), "followed")
        need(any(", patched" in x for x in trace["coverage"]), f"coverage: {trace['coverage']}")
    return run


LOW = """#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { BYTES = 256 << 10, GUARD = 4096 };
void sw_slot_back(void *to, void *from);
static uint64_t mine[8], apart[8], *memory, *other;
static int deep; // 1: nearly to the end; 2: beyond it
void co_body(void) {}
__attribute__((noinline)) static int down(void)
{
	volatile char frame[256];
	memset((void *)frame, 1, sizeof(frame));
	return deep == 2 || (deep && frame > (char *)memory + 3000) ? down() + frame[1] : frame[0];
}
static void body(void)
{
	for (;;) {
		down();
		sw_slot_back(mine, other);
	}
}
int main(int argc, char **argv)
{
	deep = atoi(argv[1]);
	memory = !strcmp(argv[2], "mapped")  ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
		 !strcmp(argv[2], "guarded") ? aligned_alloc(GUARD, BYTES) :
					       malloc(BYTES);
	other = strcmp(argv[2], "guarded") ? memory : apart;
	if (other == apart)
		mprotect(memory, GUARD, PROT_NONE);
	for (int i = 0; other == memory && i < 16; i++)
		other[i] = (uint64_t)&mine[i % 8];
	uint64_t *top = memory + BYTES / 8 - 2;
	top[0] = (uint64_t)body;
	other[0] = (uint64_t)top;
	for (int i = 0; i < 5; i++)
		sw_slot_back(other, mine);
	return 0;
}
"""


def check_low_end(case):
    """A library keeps a context at the lower end of the memory whose rest is its stack: that end was not reached, but for
    calls that do. The memory is a mapping of the program's, or malloc's, in a mapping of its own."""
    program(case)
    (case.dir / "low.c").write_text(LOW)
    path = built(case, "low", case.dir / "low.c", sources=("switchers.S",))
    for memory in ("mapped", "malloc"):
        for deep, rules in ((0, []), (1, ["CTP020"])):
            equal(case.ctp("-q", "-o", f"{memory}.{deep}", path, deep, memory).status, 0, "status")
            _, report = case.report(case.dir / f"{memory}.{deep}")
            equal((report["trace"]["switches"], [f["rule"] for f in report["findings"]]), (10, rules),
                  f"{memory}, {'to its end' if deep else 'one call'}")


CRASHES = 10  # a process that dies waits 5 ms for ctp-run: where it lost the CPU meanwhile, the stack's end is not known


def check_guard_in_block(case):
    """A stack in a block of malloc's whose lowest page is a guard: a coroutine that runs into it has run off its stack."""
    program(case)
    (case.dir / "low.c").write_text(LOW)
    path = built(case, "low", case.dir / "low.c", sources=("switchers.S",))
    for deep, found in ((0, []), (2, [("CTP021", "proven")])):
        for _ in range(CRASHES):
            equal(case.ctp("-q", "-o", f"guard.{deep}", path, deep, "guarded").status, -11 if deep else 0, "status")
            _, report = case.report(case.dir / f"guard.{deep}")
            if report["findings"] or not found:
                break
        equal([(f["rule"], f["verdict"]) for f in report["findings"]], found, "findings")


CHECKS = [("low_end", check_low_end), ("guard_in_block", check_guard_in_block), ("gdb_later", check_gdb_later), ("gdb_before", check_gdb_before), ("perf", check_perf), ("valgrind", check_valgrind),
          ("sanitizers", check_sanitizers)] + [
    (f"forks_{name}", check_forks(name)) for name in ("plain", "parallel", "inside", "goes_on", "unbegun", "exec", "vfork", "spawn")]
