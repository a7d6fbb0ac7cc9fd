# SPDX-License-Identifier: MIT
"""What addresses are called. A coroutine is shown at its innermost function that is the program's own."""
import re

import gdb

from ctp_gdb import cxx

LIBRARIES = ("libc.so", "libc-", "libpthread", "ld-linux", "ld-musl", "libstdc++", "libgcc_s", "libasan", "libtsan",
             "libboost_", "linux-vdso", "system-supplied DSO")
HEADERS = ("/usr/include/", "/usr/lib/gcc/")
EVENTS = ((0x1, "EPOLLIN"), (0x4, "EPOLLOUT"), (0x2000, "EPOLLRDHUP"), (0x2, "EPOLLPRI"), (1 << 31, "EPOLLET"),
          (1 << 30, "EPOLLONESHOT"))
WIDTH = 64

_known = {}


def forget(*_):
    """Other files are loaded now."""
    _known.clear()


def clean(text):
    """Names come from the program: none of them steers the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def short(name):
    """As reports have it, and of a length that leaves room for others."""
    name = clean(cxx.short(name))
    return name if len(name) <= WIDTH else name[:WIDTH - 3] + "..."


def outside(block):
    """The function into which what is there of ctp/coroutine.hpp was inlined."""
    while block is not None and (block.function is None or block.function.print_name.startswith("ctp::")):
        block = block.superblock
    return block


class Place:
    def __init__(self, region, pc, is_return):
        look = pc - 1 if is_return else pc
        self.function, self.at, path = None, "", ""
        try:
            block = gdb.block_for_pc(look)
            while block is not None and (block.function is None or (not is_return and block.superblock.function)):
                block = block.superblock  # of a function that begins here: not what is inlined into it
            block = outside(block)
            if block is not None:
                self.function = short(block.function.print_name)
            line = gdb.find_pc_line(look)
            if self.function and line.symtab is not None:
                path = line.symtab.filename
                self.at = "at %s:%d" % (clean(path.rsplit("/", 1)[-1]), line.line)
        except (gdb.error, RuntimeError):
            pass
        module = (gdb.solib_name(look) or "").rsplit("/", 1)[-1]
        if not self.function:
            said = gdb.execute("info symbol 0x%x" % look, to_string=True)
            found, noted = re.match(r"(.*?)(?: \+ \d+)? in section ", said), region.module(look)
            unnamed = "%s+0x%x" % (noted[0].rsplit("/", 1)[-1], noted[1] + pc - look) if noted else "0x%x" % pc
            self.function = short(found[1] if found else unnamed)
        if not self.at and module:
            self.at = "from " + clean(module)
        self.is_library = module.startswith(LIBRARIES) or path.startswith(HEADERS)

    def __str__(self):
        return (self.function + " () " + self.at).rstrip()


class Told(Place):
    """A place as ctp-ps tells it: where a C++20 coroutine is suspended, which its code alone does not say."""

    def __init__(self, frame):
        self.function, self.is_library = short(frame["symbol"] or frame["pc"]), False
        self.at = "at %s:%d" % (clean(frame["file"].rsplit("/", 1)[-1]), frame["line"]) if frame["file"] else ""


def place(region, pc, is_return=True):
    key = region.inferior.num, pc, is_return
    if key not in _known:
        _known[key] = Place(region, pc, is_return)
    return _known[key]


def places(region, stack):
    """Of a recorded stack, innermost first, without what is libctp.so's."""
    return region.told(stack) or [place(region, pc) for pc in region.stack(stack)[0] if pc not in region.own]


def own(found):
    """The innermost that is the program's."""
    return next((p for p in found if not p.is_library), found[0] if found else None)


def name(region, e):
    """The function that it was made with; where that is a library's, the program's that this one called."""
    first = place(region, e.entry, False) if e.entry else None
    if first is None or first.is_library:
        inner = [p for p in places(region, e.stack) if not p.is_library]
        first = inner[-1] if inner else first
    return first.function if first else "?"


def duration(ns):
    for limit, unit, text in ((10**3, 1, "%d ns"), (10**6, 10**3, "%.1f us"), (10**9, 10**6, "%.1f ms"), (60 * 10**9, 10**9, "%.1f s")):
        if ns < limit:
            return text % (ns / unit)
    s = ns // 10**9
    if s < 3600:
        return "%dm%02ds" % (s // 60, s % 60)
    if s < 86400:
        return "%dh%02dm" % (s // 3600, s % 3600 // 60)
    return "%dd%02dh" % (s // 86400, s % 86400 // 3600)


def wait(region, fd, gen, events):
    words = "|".join(word for bit, word in EVENTS if events & bit)
    number = "%d#%d" % (fd, gen) if gen else "%d" % fd  # of a program without tables: which one is not known
    return ("fd %s %s" % (number, words)).rstrip() + (" (closed)" if region.is_closed(fd, gen) else "")
