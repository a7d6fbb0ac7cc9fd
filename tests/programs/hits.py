# SPDX-License-Identifier: MIT
"""For gdb: counts how often functions are run by the program that ctp-run starts. The breakpoints are the processor's, set
once libctp.so has looked at the program: they change no code, and stand behind the piece that a patch overwrites.
HITS_IN: the file that the functions are in; HITS_AT: their addresses there, less that of its first byte; HITS_FILE gets
the process's number, and the counts when it has ended."""
import os
import re

import gdb

PATCHED = 20  # bytes: a landing pad, and the longest prefix of switchers.def


def settings(*lines):
    for line in lines:
        gdb.execute(line, to_string=True)


def write(*numbers):
    path = os.environ["HITS_FILE"]
    with open(path + ".new", "w") as f:
        print(*numbers, file=f)
    os.rename(path + ".new", path)


def entry():
    """Where the program begins: libctp.so's constructor has run."""
    return int(re.search(r"Entry point: (0x[0-9a-f]+)", gdb.execute("info files", to_string=True))[1], 16)


def base():
    """Where the file begins; None: it is not mapped yet."""
    with open(f"/proc/{pid}/maps") as maps:
        lines = [x.split() for x in maps]
    return next((int(x[0].split("-")[0], 16) for x in lines if x[-1] == os.environ["HITS_IN"] and x[2] == "00000000"), None)


def behind(at):
    """The first instruction that no patch reaches."""
    end = at + PATCHED
    while at < end:
        at += gdb.selected_frame().architecture().disassemble(at)[0]["length"]
    return at


settings("set confirm off", "set debuginfod enabled off", "set disable-randomization off", "set breakpoint always-inserted off",
         "set follow-fork-mode child", "handle all nostop noprint pass", "handle SIGTRAP stop noprint nopass", "catch exec", "run",
         "delete", "set follow-fork-mode parent")
pid = gdb.selected_inferior().pid
gdb.Breakpoint(f"*{entry()}", temporary=True)
settings("continue")
if base() is None:
    settings("catch load " + re.escape(os.path.basename(os.environ["HITS_IN"])))
    while base() is None:
        settings("continue")
    settings("delete")
counters = [gdb.Breakpoint(f"*{behind(base() + int(at))}", type=gdb.BP_HARDWARE_BREAKPOINT) for at in os.environ["HITS_AT"].split()]
for counter in counters:
    counter.ignore_count = 1 << 30
write(pid)
settings("continue")
write(pid, *[counter.hit_count for counter in counters])
