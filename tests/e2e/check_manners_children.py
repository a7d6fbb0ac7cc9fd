# SPDX-License-Identifier: MIT
"""A guest's manners towards the program's children: they inherit LD_PRELOAD, and some programs cannot bear it."""
import os
import re
import shutil

from check_manners_tools import built
from harness import Skip, equal, need, tool

KID = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	char line[4096], *preload = getenv("LD_PRELOAD");
	FILE *maps = fopen("/proc/self/maps", "r");
	int there = 0;
	while (fgets(line, sizeof(line), maps))
		there |= strstr(line, "libctp.so") != NULL;
	printf("%s, preload %s\\n", there ? "traced" : "bare", preload ? strstr(preload, "libctp") ? "ctp" : preload : "none");
	return 3;
}
"""


def kid(case, name, *words, compiler="gcc"):
    source = case.dir / "kid.c"
    source.write_text(KID)
    return built(case, name, *words, source, compiler=compiler)


def script(case, name, interpreter):
    path = case.dir / name
    path.write_text(f"#! {interpreter}\n")
    path.chmod(0o755)
    return path


def foreign(case):
    """A program whose loader is not the one of this system's glibc, though it would do."""
    own = case.run(tool("sh"), "-c", f"readelf -lW {case.target('execs')} | grep -o '/[^]]*ld-[^]]*'").out.strip()
    need(own, "no readelf, or no loader")
    loader = case.dir / "ld-musl-other.so.1"
    shutil.copy(os.path.realpath(own), loader)
    return kid(case, "foreign", f"-Wl,--dynamic-linker={loader}")


def runs(case, program, says, options=("-q",), bare_says="bare, preload none"):
    """In whichever way it is executed, it ends as ever, and says this."""
    bare = case.run(case.target("execs"), program)
    need(bare.out.count(": 3\n") == 14 and bare.out.count(bare_says) == 14, f"bare: {bare}")
    done = case.ctp(*options, case.target("execs"), program)
    equal((done.status, done.out, done.err), (bare.status, bare.out.replace(bare_says, says), bare.err), f"{program.name} {options}")


def check_children(case):
    """What can be traced keeps the library; a program of another C library does not get it, by a script neither."""
    for options in (("-q",), ("-q", "-f")):
        runs(case, kid(case, "own"), "traced, preload ctp", options)
        runs(case, foreign(case), "bare, preload none", options)
    first = script(case, "first", case.dir / "foreign")
    runs(case, script(case, "second", first), "bare, preload none")


def check_children_others(case):
    """The program's own LD_PRELOAD stays; the library alone does the same."""
    libm = case.run(tool("sh"), "-c", f"ldd {case.run_tool} | grep -o '/[^ ]*libelf[^ ]*'").out.split()[0]
    runs(case, foreign(case), f"bare, preload {libm}", ("-q", "-E", f"LD_PRELOAD={libm}"))
    done = case.run(case.target("execs"), case.dir / "foreign", env={"LD_PRELOAD": f"{case.lib} {libm}"})
    equal(done.out.count(f"bare, preload {libm}\n"), 14, f"with the library alone: {done}")


def check_children_musl(case):
    runs(case, kid(case, "musl", compiler="musl-gcc"), "bare, preload none")


def check_children_asan(case):
    """The sanitizer's library is the first in the child, as it wants to be."""
    runs(case, kid(case, "asan", "-fsanitize=address"), "bare, preload none")


def check_children_of_sanitized(case):
    """Where ctp-run has put that library first, the child finds it so."""
    program = kid(case, "asan", "-fsanitize=address")
    done = case.ctp("-q", tool("env"), program)
    equal((done.status, done.out, done.err), (3, "bare, preload none\n", ""), "a child")
    done = case.ctp("-q", program)
    equal((done.status, done.out, done.err), (3, "traced, preload ctp\n", ""), "the program itself")


def check_children_jail(case):
    """In a jail without the library's file, and after setuid, the loader and the library have nothing to say."""
    if os.geteuid():
        raise Skip("needs root")
    jail = case.dir / "jail"
    words = (tool("setpriv"), "--reuid=65534", "--clear-groups", tool("true"))
    done = case.ctp("-q", *words)
    equal((done.status, done.out, done.err), (0, "", ""), "after setuid")
    true = tool("true")
    libs = re.findall(r"(/\S+)", case.run(tool("ldd"), true).out)
    for path in (true, *libs):
        (jail / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, jail / path[1:])
    done = case.ctp("-q", tool("chroot"), jail, true)
    equal((done.status, done.out, done.err), (0, "", ""), "in a jail")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items())
          if name.startswith("check_") and callable(function) and function.__module__ == __name__]
