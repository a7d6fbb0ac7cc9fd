# SPDX-License-Identifier: MIT
"""Runs inside gdb (check_aarch64.py): steps t-walked, under an emulator, through
everything that must not gain a frame. At each instruction gdb must find, by the
library's unwind tables alone, the caller with all the registers that it had;
in the stubs between which a coroutine runs the walk must end. Prints each place
where it does not, then `calls N steps N` and the functions that were stepped.
Environment: STEPS_LIB, the library; STEPS_NM, its nm; STEPS_SOCKET, the emulator's."""
import collections
import os
import subprocess

import gdb

FUNCTIONS = ["getcontext", "makecontext", "setcontext", "swapcontext", "setjmp", "_setjmp", "__sigsetjmp", "longjmp",
             "_longjmp", "siglongjmp", "vfork"]
STUBS = ["ctp_coroutine_begin", "ctp_coroutine_returned"]
KEPT = ["sp", "x29"] + [f"x{i}" for i in range(19, 29)]
TIMES = 2  # a function is stepped so often, and then passed
calls = collections.Counter()
steps = 0


def run(command):
    return gdb.execute(command, to_string=True)


def register(name, frame=None):
    value = frame.read_register(name) if frame else gdb.parse_and_eval("$" + name)
    return int(value) & (1 << 64) - 1


def symbols():
    """Where the functions lie in the library's file: name -> (address, size)."""
    found = {}
    for line in subprocess.run([os.environ["STEPS_NM"], "-S", os.environ["STEPS_LIB"]], capture_output=True,
                               text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[3] in FUNCTIONS + STUBS:
            found[words[3]] = int(words[0], 16), int(words[1], 16)
    return found


def look(name, want):
    """Compares the caller's frame; `want` is None where there must be none."""
    older = gdb.newest_frame().older()
    at = f"{name}+{register('pc') - entry[name]}"
    if want is None or older is None:
        if want is not None or older is not None:
            print(f"WRONG {at}: {'no caller' if older is None else 'a caller'}")
        return
    for what, is_ in [("pc", older.pc()), *[(r, register(r, older)) for r in KEPT]]:
        if is_ != want[what]:
            print(f"WRONG {at}: {what} {is_:#x}, not {want[what]:#x}")
            return


def step_through(name):
    global steps
    want = None if name in STUBS else {"pc": register("x30"), **{r: register(r) for r in KEPT}}
    known = True
    while entry[name] <= register("pc") < entry[name] + size[name]:
        at = register("pc")
        word = int(gdb.parse_and_eval(f"*(unsigned int *){at}"))
        calls_on = word >> 26 == 0x25 or word & 0xfffffc1f == 0xd63f0000  # bl, blr
        # vfork's return address is where no table can say from its call on, until it is loaded again
        known = known and not (calls_on and name == "vfork")
        if known:
            look(name, want)
            steps += 1
        if calls_on:
            run(f"tbreak *{at + 4}")
            run("continue")
        else:
            run("stepi")
        known = known or word & 0xffc0001f == 0xf940001e  # ldr x30


def alive():
    return gdb.selected_inferior().pid != 0


for setting in ("pagination off", "confirm off", "height 0", "debuginfod enabled off"):
    run(f"set {setting}")
run(f"target remote {os.environ['STEPS_SOCKET']}")
run("break main")
run("continue")
found = symbols()
origin = int(gdb.parse_and_eval(f"(long)&{STUBS[0]}")) - found[STUBS[0]][0]
entry = {name: origin + at for name, (at, _) in found.items()}
size = {name: n for name, (_, n) in found.items()}
names = {at: name for name, at in entry.items()}
for address in names:
    run(f"break *{address}")
run("continue")
while alive():
    name = names.get(register("pc"))
    if name:
        calls[name] += 1
        if calls[name] <= TIMES:
            step_through(name)
    if alive() and (name is None or calls[name] > TIMES or register("pc") not in names):
        run("continue")
print(f"calls {sum(calls.values())} steps {steps}")
print("stepped", *sorted(calls))
