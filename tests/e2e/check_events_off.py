# SPDX-License-Identifier: MIT
"""What an event costs where nobody listens (data/events_off.c): two instructions, and no argument is evaluated."""
import platform
import re
import shutil

from harness import ROOT, Skip, equal, need, tool

OFF_LEVELS = ("-O0",), ("-O1",), ("-O2",), ("-O3",), ("-O2", "-flto")
OFF_PLACES = "here", "header", "library", "opened"


def off_costs(case, compiler, std, words):
    """{place: instructions of an event that is off}: what a loop with it takes more than the same loop without."""
    data = ROOT / "tests/e2e/data"
    language = ["-x", "c++" if "++" in compiler else "c", f"-std={std}", *words, f"-I{ROOT}/include"]
    for argv in (["-shared", "-fPIC", "-DPLACE=library", data / "events_off_library.c", "-o", "liboff.so"],
                 ["-shared", "-fPIC", "-DPLACE=opened", data / "events_off_library.c", "-o", "opened.so"],
                 [data / "events_off.c", data / "events_off_other.c", "-o", "off", "-x", "none", "liboff.so", "-Wl,-rpath,$ORIGIN", "-ldl"]):
        built = case.run(compiler, *language, *argv)
        equal((built.status, built.err), (0, ""), f"{compiler} {std} {words}")
    ran = case.run(tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=out", "./off", 10_000)
    equal(ran.status, 0, f"{compiler} {std} {words}: {ran}")
    told = case.run(tool("callgrind_annotate"), "--inclusive=yes", "--threshold=100", "out").out
    loops = {name: int(n.replace(",", "")) for n, name in re.findall(r"^ *([\d,]+) .*?:((?:bare|event)_\w+)", told, re.M)}
    return {place: (loops[f"event_{place}"] - loops[f"bare_{place}"]) / 10_000 for place in OFF_PLACES}


def check_instructions(case):
    """Off: two instructions, at every level of optimisation: in the program itself, in inline functions of a header that two
    files include, in libraries that are linked and that are opened and closed."""
    if platform.machine() != "x86_64":
        raise Skip("two instructions are those of x86_64")
    for compiler, std in (("gcc", "c11"), ("clang", "c11"), ("g++", "c++20"), ("clang++", "c++11")):
        if not shutil.which(compiler):
            continue
        for words in OFF_LEVELS if std == "c11" else OFF_LEVELS[::3]:
            if "-flto" in words and "clang" in compiler and not shutil.which("ld.lld"):
                continue
            for place, added in off_costs(case, compiler, std, words).items():
                need(0 < added <= 2.01, f"{compiler} {std} {words}, {place}: an event that is off takes {added} instructions")


CHECKS = [("instructions", check_instructions)]
