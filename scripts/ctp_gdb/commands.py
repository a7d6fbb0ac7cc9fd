# SPDX-License-Identifier: MIT
"""info coroutines, coroutine ..., $_coroutine()."""
import re

import gdb

from ctp_gdb import chosen, names, region
from ctp_gdb.region import CREATED, RUNNING, SHARED_STACK
from ctp_gdb.view import LIVES, View, expression, filtered, finds, groups, id_range, marked, number, one_line, singles, table

SHOWN = 200


# ---- the list

class Info(gdb.Command):
    """List the coroutines of the program, with what they wait for and where they are.
Usage: info coroutines [-g] [-n COUNT|all] [FILTER]...

-g groups those that are suspended at the same place; -n shows so many lines (200 without it).
A filter is a number or a range of numbers (7, 10-19), a state (created, suspended, running), fd N, thread N,
or a regular expression that is looked for in the functions of their stacks. "native" lists the threads' own stacks.
An asterisk marks the coroutine whose frames gdb shows. C++20 coroutines are found by ctp-ps, and come last. Of a program that did not run under ctp-run ctp-ps searches the
coroutines: their numbers are those of this stop, and since when each waits is not known."""

    def __init__(self):
        super().__init__("info coroutines", gdb.COMMAND_STATUS)

    def invoke(self, text, from_tty):
        words, grouped, most, native = gdb.string_to_argv(text), False, SHOWN, False
        rest = []
        while words:
            word = words.pop(0)
            if word == "-g":
                grouped = True
            elif word == "native":
                native = True
            elif word == "-n":
                value = words.pop(0) if words else ""
                most = 1 << 40 if value == "all" else number(value)
                if most is None:
                    raise gdb.GdbError("-n wants a number, or all")
            else:
                rest.append(word)
        v = View(region.NATIVE if native else region.COROUTINE)
        found = filtered(v, rest)
        rows = groups(v, found) if grouped else singles(v, found)
        table(rows, most)
        counts = ", ".join("%d %s" % (sum(e.life == life for e in found), word) for life, word in LIVES.items())
        of = "%d of %d" % (len(found), len(v.all)) if rest else str(len(found))
        print("%s %s: %s" % (of, "threads' own stacks" if native else "coroutines", counts))

    def complete(self, text, word):
        return complete(["-g", "-n", "created", "fd", "native", "running", "suspended", "thread"], text, word)


def complete(words, text, word):
    last = re.split(r"\s", text)[-1]
    return [w[len(last) - len(word):] for w in words if w.startswith(last)]


# ---- one of them

def by_id(v, wanted):
    e = next((e for e in v.all if e.id == wanted), None)
    if e is None:
        e = next((e for e in v.region.entities(region.NATIVE) if e.id == wanted), None)
        if e is not None:
            v.age[e.id] = v.region.ages([e])[0]
    if e is None:
        raise gdb.GdbError("no coroutine %d lives now: see info coroutines" % wanted)
    return e


def show(v, e):
    """Makes gdb's frames those of e."""
    if e.life == RUNNING:
        thread = v.thread(e)
        if thread is None:
            raise chosen.NoStack("coroutine %d runs on %s, which gdb does not have" % (e.id, v.on(e)))
        chosen.leave()
        thread.switch()
        gdb.newest_frame().select()
        return
    if e.frame:
        chosen.leave()
        raise chosen.AsyncStack(awaits(v, e))
    if gdb.selected_thread() is None:
        raise gdb.GdbError("no thread is selected")
    if e.life == CREATED:
        raise chosen.NoStack("coroutine %d has not run yet; it begins in %s" % (e.id, names.place(v.region, e.entry, False)))
    if e.flags & SHARED_STACK:
        raise chosen.NoStack("coroutine %d shares its stack with others by copying, so its frames are not there; it left from\n%s"
                             % (e.id, recorded(v, e)))
    chosen.choose(v.region, e)


def awaits(v, e):
    """Where it is, and below that who awaits it."""
    lines = ["#%-2d %s" % (i, p) for i, p in enumerate(names.places(v.region, e.stack))]
    if e.life == CREATED or not lines:
        lines = ["it was never started; it begins in %s" % names.place(v.region, e.entry, False)] if e.entry else []
    return "\n".join(lines + ["(its frame lies at 0x%x)" % e.frame])


def recorded(v, e):
    return "\n".join("  %s" % p for p in names.places(v.region, e.stack)) or "  (not recorded)"


class Coroutine(gdb.Command):
    """Show which coroutine is chosen, or choose one by its number.
Usage: coroutine [N|none]

backtrace, frame, up, down, info locals, print and so on then show the frames of coroutine N, from frame 1 on;
frame 0 remains the thread's. For a coroutine that runs, its thread is selected. "coroutine none" or 0 goes back to
the thread's frames, and so does every command that lets the program go on. Nothing is written into the program.
Of a C++20 coroutine, which has no stack of calls, the stack of its awaits is shown, and nothing is chosen."""

    def __init__(self):
        super().__init__("coroutine", gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)

    def invoke(self, text, from_tty):
        words = gdb.string_to_argv(text)
        if not words:
            return tell()
        wanted = 0 if words[0] == "none" else number(words[0])
        if len(words) > 1 or wanted is None:
            raise gdb.GdbError("coroutine wants a number (see info coroutines), none, apply or find, not \"%s\"" % names.clean(text))
        if not wanted:
            chosen.leave()
            return tell()
        v = View()
        e = by_id(v, wanted)
        try:
            show(v, e)
        except chosen.AsyncStack as stack:
            print("Coroutine %s\n%s" % (one_line(v, e), stack))
            return
        print("[Switching to coroutine %s]" % one_line(v, e))
        gdb.execute("frame")


def tell():
    thread = gdb.selected_thread()
    if thread is None:
        raise gdb.GdbError("no thread is selected")
    mark = marked()
    if mark:
        v = View()
        print("[Current coroutine is %s]" % one_line(v, by_id(v, mark)))
    else:
        print("[Thread %d (LWP %d) is on its own stack]" % (thread.num, thread.ptid[1] or thread.ptid[2]))


class None_(gdb.Command):
    """Go back from the coroutine that was chosen to the frames of the thread.
Usage: coroutine none"""

    def __init__(self):
        super().__init__("coroutine none", gdb.COMMAND_STACK, gdb.COMPLETE_NONE)

    def invoke(self, text, from_tty):
        chosen.leave()
        tell()


class Find(gdb.Command):
    """Find coroutines whose function, or a function in whose stack, matches a regular expression.
Usage: coroutine find REGEX"""

    def __init__(self):
        super().__init__("coroutine find", gdb.COMMAND_STACK, gdb.COMPLETE_SYMBOL)

    def invoke(self, text, from_tty):
        if not text.strip():
            raise gdb.GdbError("coroutine find wants a regular expression")
        v, pattern = View(), expression(text.strip())
        found = [(e, finds(v, e, pattern)) for e in v.all]
        for e, said in found:
            if said:
                print("Coroutine %d %s" % (e.id, said))
        if not any(said for _, said in found):
            print("No coroutine matches '%s'" % names.clean(text.strip()))


class Apply(gdb.Command):
    """Do a command for each of some coroutines.
Usage: coroutine apply [all|N|N-M]... [-q] [-c|-s] COMMAND

-q leaves out the line that says which one it is; -c goes on after an error, -s also says nothing of it."""

    def __init__(self):
        super().__init__("coroutine apply", gdb.COMMAND_STACK)

    def invoke(self, text, from_tty):
        who, flags, command = parse(text)
        v = View()
        if who == "all":
            found = v.all
        else:
            found = [e for lo, hi in who for e in ([by_id(v, lo)] if lo == hi else [e for e in v.all if lo <= e.id <= hi])]
        with Kept():
            for e in found:
                self.one(v, e, flags, command)

    @staticmethod
    def one(v, e, flags, command):
        header = "\nCoroutine %s:" % one_line(v, e)
        try:
            show(v, e)
            said = gdb.execute(command, to_string=True)
        except chosen.NoStack as why:
            said = "%s\n" % why
        except (gdb.error, gdb.GdbError) as error:
            if "s" in flags:
                return
            if "c" not in flags:
                raise
            said = "%s\n" % error
        if "q" not in flags:
            print(header)
        gdb.write(said)

    def complete(self, text, word):
        done = re.match(r"(?:(?:all|\d+(?:-\d+)?|-[qcs]+)\s+)*", text)[0]
        command = text[len(done):]
        if not done.strip():
            return complete(["all"], text, word)
        lines = gdb.execute("complete " + command, to_string=True).splitlines() if command else []
        return [line[len(command) - len(word):] for line in lines]


def parse(text):
    who, flags, rest = [], "", text.strip()
    while rest:
        word, _, more = rest.partition(" ")
        if word == "all":
            who = "all"
        elif id_range(word) and who != "all":
            who.append(id_range(word))
        elif re.fullmatch("-[qcs]+", word):
            flags += word[1:]
        else:
            break
        rest = more.strip()
    if not who:
        raise gdb.GdbError("coroutine apply wants coroutines: all, or numbers (see info coroutines)")
    if not rest:
        raise gdb.GdbError("coroutine apply wants a command behind the coroutines")
    return who, flags, rest


class Kept:
    """What was selected before is so again behind it."""

    def __enter__(self):
        self.thread, self.choice = gdb.selected_thread(), chosen.unwinder.choice
        self.level = gdb.selected_frame().level() if self.thread else 0

    def __exit__(self, *_):
        chosen.leave()
        if self.thread is None or not self.thread.is_valid():
            return
        self.thread.switch()
        if self.choice is not None:
            chosen.choose(self.choice.region, self.choice.who)
        frame = gdb.newest_frame()
        while frame is not None and frame.level() < self.level:
            frame = frame.older()
        if frame is not None:
            frame.select()


class Current(gdb.Function):
    """$_coroutine(): the number of the coroutine that the selected thread runs, 0 if it is on its own stack.
Whether or not another one is chosen: break f if $_coroutine() == 41."""

    def __init__(self):
        super().__init__("_coroutine")

    def invoke(self):
        thread = gdb.selected_thread()
        try:
            return region.current(region.find(), thread.ptid[1] or thread.ptid[2]) if thread else 0
        except (gdb.error, gdb.GdbError):
            return 0  # nobody is traced yet


gdb.events.new_objfile.connect(names.forget)
gdb.events.clear_objfiles.connect(names.forget)
for command in (Info, Coroutine, None_, Find, Apply, Current):
    command()
