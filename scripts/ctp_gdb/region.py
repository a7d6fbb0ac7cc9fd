# SPDX-License-Identifier: MIT
"""The tables of the selected process, as libctp.so shares them with ctp-run (spec/cTP.md).

They are read through gdb, so it is the same for a process and for a core, and no debug information of libctp.so
is needed. The region is sparse and has gigabytes: only rows in use are read. What it says is the program's:
every offset, count and index is bounded before it is used.
"""
import re
import struct
import time

import gdb

LAYOUTS = (5, 6)  # ext.version: those that are read
HEADER_BYTES, STATE_BYTES, THREAD_BYTES, FD_BYTES, MODULE_BYTES = 1024, 448, 512, 256, 512
MAGIC, EXT_MAGIC = 0x434F524F54524352, b"CTPEXT1\0"
STATIONS_MOST, THREADS_MOST, MODULES_MOST, FRAMES_MOST, REGION_MOST = 2097150 + 16384, 16384, 4096, 96, 1 << 42
OWNER_GUEST, TSC = 0x47, 2
COROUTINE, NATIVE = 1, 2
SOURCE_PROGRAM = 2
CREATED, SUSPENDED, RUNNING = 1, 2, 3
SHARED_STACK, TRUNCATED = 0x100, 0x2
THREAD_LIVE, FD_CLOSED = 2, 2
PIECE, PAGE = 256, 4096
NAME_BYTES, NAMES_EACH, NAMES_MAP_BYTES = 64, 64, 8192


class Entity:
    """A coroutine, or a thread's own stack, as its station says."""

    def __init__(self, piece, at):
        (turn, self.id, self.since, _, _, self.stack, bits, self.slot, self.station, _,
         *self.regs) = struct.unpack_from("<5Q4IQ8Q", piece, at)
        self.life, self.changes = turn >> 8 & 0xff, turn >> 16
        self.how, self.flags, self.kind = bits & 0xff, bits >> 8 & 0xffff, bits >> 24
        waits = min(turn >> 5 & 7, 4) if self.life == SUSPENDED else 0
        self.waits = [struct.unpack_from("<iII", piece, at + 0x80 + 32 * i) for i in range(waits)]
        self.lo, self.hi, self.entry, _, _, self.made_at = struct.unpack_from("<5QI", piece, at + 0x100)
        self.frame = self.lo if self.kind == COROUTINE and piece[at + 0x1ac] == SOURCE_PROGRAM else 0
        self.at = at


class Thread:
    def __init__(self, rows, at):
        self.life, self.tid, self.native, self.current = struct.unpack_from("<IIQQ", rows, at)


def mappings():
    """(address, what is mapped there) of all that begins a file or a segment."""
    try:
        text = gdb.execute("info proc mappings", to_string=True)
        found = re.findall(r"^ *(0x[0-9a-f]+) +0x[0-9a-f]+ +0x[0-9a-f]+ +0x0+ +(?:[-r][-w][-x][-ps] +)?(\S.*)$", text, re.M)
        if found:
            return [(int(at, 16), name.strip()) for at, name in found]
    except gdb.error:
        pass
    text = gdb.execute("info files", to_string=True)  # a core without a list of its files
    return [(int(at, 16), "") for at in re.findall(r"^\s*(0x[0-9a-f]+) - 0x[0-9a-f]+ is load", text, re.M)]


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def connection(inferior):
    """"native", "core", ..."""
    found = getattr(inferior, "connection", None)
    return found.type if found is not None else ""


class Region:
    """Raises LookupError where there is none, GdbError for one that cannot be used."""

    def __init__(self, base):
        self.inferior, self.base = gdb.selected_inferior(), base
        self.is_core, self.is_here = (connection(self.inferior) == kind for kind in ("core", "native"))
        try:
            header = bytes(self.inferior.read_memory(base, HEADER_BYTES))
        except gdb.error:
            raise LookupError
        ext = header[0x40:]
        if u64(header, 0) != MAGIC or ext[:8] != EXT_MAGIC:
            raise LookupError
        if u64(ext, 0x1c0) != base:
            raise LookupError("this process has the tables of another one: attach to the program, not to its ctp-run")
        if u32(ext, 8) not in LAYOUTS:
            raise gdb.GdbError("ctp's tables in this process have layout %d, and this ctp-gdb.py reads layout %d: "
                               "source the one that came with the libctp.so in it" % (u32(ext, 8), LAYOUTS[-1]))
        self.bytes, self.ext = u64(ext, 0x10), ext
        self.threads_off, self.fds_off, self.index_off, self.words_off, self.states_off = (
            u64(ext, at) for at in (0x18, 0x20, 0x40, 0x48, 0xa8))
        self.fds_max, self.stacks_max, self.words_max = u32(ext, 0x70), u32(ext, 0x7c), u32(ext, 0x80)
        self.own = range(u64(ext, 0x1d8), u64(ext, 0x1e0))  # libctp.so's addresses
        stations, threads = u32(ext, 0x38), u32(ext, 0x6c)
        self.stations = min(u32(header, 0x10), stations)
        self.thread_count = min(u32(ext, 0x15c), threads)
        parts = [(self.states_off, stations, STATE_BYTES), (self.threads_off, threads, THREAD_BYTES),
                 (self.fds_off, self.fds_max, FD_BYTES), (self.index_off, self.stacks_max, 4), (self.words_off, self.words_max, 8)]
        if self.bytes > REGION_MOST or stations > STATIONS_MOST or threads > THREADS_MOST or any(
                off < HEADER_BYTES or off > self.bytes or n * each > self.bytes - off for off, n, each in parts):
            self.damaged()
        self.stacks, self.modules, self.names = {}, None, None

    def damaged(self):
        raise gdb.GdbError("ctp's tables at 0x%x in this process are damaged" % self.base)

    def read(self, off, count):
        try:
            return bytes(self.inferior.read_memory(self.base + off, count)) if count else b""
        except gdb.error:
            pass
        if not self.is_core:
            self.damaged()
        # What a core leaves out was not in use.
        out = bytearray(count)
        for at in range(0, count, PAGE):
            size = min(PAGE, count - at)
            try:
                out[at:at + size] = bytes(self.inferior.read_memory(self.base + off + at, size))
            except gdb.error:
                pass
        return bytes(out)

    def entities(self, kind):
        """Those that live, by their numbers."""
        found = []
        for first in range(0, self.stations, PIECE):
            rows = min(PIECE, self.stations - first)
            piece = self.read(self.states_off + first * STATE_BYTES, rows * STATE_BYTES)
            for at in range(0, rows * STATE_BYTES, STATE_BYTES):
                if u32(piece, at + 0x12c) != OWNER_GUEST or piece[at + 0x2f] != kind:
                    continue
                e = Entity(piece, at)
                e.at = self.states_off + first * STATE_BYTES + at
                if e.life in (CREATED, SUSPENDED, RUNNING) and e.id:
                    found.append(e)
        return sorted(found, key=lambda e: e.id)

    def given_name(self, e):
        """What the program calls it, or None."""
        if self.names is None:
            self.names = self.read_names(u64(self.ext, 0x1f0))
        who, text = self.names.get((e.at - self.states_off) // STATE_BYTES, (0, ""))
        return text if who == e.id and text else None

    def read_names(self, off):
        """Station -> (whose, text). Only what the map has a bit for is looked at: the rest is memory that is not there."""
        names = {}
        end = off + NAMES_MAP_BYTES + self.stations * NAME_BYTES
        if off < HEADER_BYTES or end > self.bytes:
            return names
        bits = int.from_bytes(self.read(off, NAMES_MAP_BYTES), "little")
        for first in range(0, self.stations, NAMES_EACH):
            if not bits >> first // NAMES_EACH & 1:
                continue
            rows = min(NAMES_EACH, self.stations - first)
            piece = self.read(off + NAMES_MAP_BYTES + first * NAME_BYTES, rows * NAME_BYTES)
            for i in range(rows):
                text = piece[i * NAME_BYTES + 0x10:(i + 1) * NAME_BYTES].split(b"\0")[0]
                names[first + i] = u64(piece, i * NAME_BYTES + 8), text.decode(errors="replace")
        return names

    def again(self, e):
        """The same one, as its station says now; None if that is another's."""
        now = Entity(self.read(e.at, STATE_BYTES), 0)
        now.at = e.at
        return now if now.id == e.id else None

    def threads(self):
        """Slot -> thread, of those that live."""
        rows = self.read(self.threads_off, self.thread_count * THREAD_BYTES)
        all_of = ((i, Thread(rows, i * THREAD_BYTES)) for i in range(self.thread_count))
        return {i: t for i, t in all_of if t.life == THREAD_LIVE}

    def is_closed(self, fd, gen):
        """Is this thing that was called fd no more? What is not known is taken to be open."""
        if not 0 <= fd < self.fds_max:
            return False
        row = self.read(self.fds_off + fd * FD_BYTES, 16)
        return u32(row, 4) > gen or (u32(row, 4) == gen and row[8] == FD_CLOSED)

    def stack(self, number):
        """(return addresses, innermost first; whether that is all) as it was recorded; none: ([], False)."""
        if number not in self.stacks:
            self.stacks[number] = self.read_stack(number)
        return self.stacks[number]

    def read_stack(self, number):
        if not 0 < number < self.stacks_max:
            return [], False
        at = u32(self.read(self.index_off + 4 * number, 4), 0)
        if not 0 < at < self.words_max:
            return [], False
        count, flags = struct.unpack("<II", self.read(self.words_off + 8 * (at - 1), 8))
        if not 0 < count <= min(FRAMES_MOST, self.words_max - at):
            return [], False
        return list(struct.unpack("<%dQ" % count, self.read(self.words_off + 8 * at, 8 * count))), not flags & TRUNCATED

    def told(self, number):
        """A stack in places, where it is not one of calls; None."""
        return None

    def module(self, pc):
        """(path, offset in the file) of an address, from the modules that were noted; None."""
        if self.modules is None:
            off, count = u64(self.ext, 0x30), min(u32(self.ext, 0x154), u32(self.ext, 0x78), MODULES_MOST)
            rows = self.read(off, count * MODULE_BYTES) if HEADER_BYTES <= off <= self.bytes - count * MODULE_BYTES else b""
            self.modules = [struct.unpack_from("<I4x3Q", rows, at) + (rows[at + 0x40:at + 0x1f8].split(b"\0")[0].decode(errors="replace"),)
                            for at in range(0, len(rows), MODULE_BYTES)]
        return next(((path, pc - base) for ready, base, start, end, path in reversed(self.modules) if ready and start <= pc < end), None)

    def nanoseconds(self, ticks):
        """On CLOCK_MONOTONIC; None while nothing says how fast the ticks are."""
        if u32(self.ext, 0x84) != TSC:
            return ticks
        ticks0, ns0 = u64(self.ext, 0x90), u64(self.ext, 0x98)
        ticks1, ns1 = u64(self.ext, 0xd8), u64(self.ext, 0xe0)
        if ticks1 <= ticks0 or ns1 <= ns0:
            return None
        return ns0 + (ticks - ticks0) * (ns1 - ns0) // (ticks1 - ticks0)

    def ages(self, entities):
        """How long each has been as it is, in nanoseconds, None if unknown. In a core: up to its last word."""
        since = [self.nanoseconds(e.since) if e.since else None for e in entities]
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) if self.is_here else max([u64(self.ext, 0xe0)] + [s for s in since if s])
        return [max(0, now - s) if s is not None else None for s in since]


NOWHERE = "no coroutines are known here: run the program with ctp-run, or with LD_PRELOAD=libctp.so, up to its main"
NO_CORE = ("no coroutines are in this core: its program was not run with ctp-run, or the core leaves shared memory out "
           "(bit 1 of /proc/PID/coredump_filter)")
_bases = {}  # where the region of a process was found last


def find():
    """The region of the selected process."""
    inferior = gdb.selected_inferior()
    if not inferior.pid:
        raise gdb.GdbError("no process: attach to one that runs under ctp-run (gdb -p PID), or give a core of one")
    key, why = (inferior.num, inferior.pid), ""
    if key in _bases:
        try:
            return Region(_bases[key])
        except LookupError:
            del _bases[key]
    for base, _ in sorted(mappings(), key=lambda m: not m[1].startswith("/memfd:ctp")):
        try:
            region = Region(base)
            _bases[key] = base
            return region
        except LookupError as said:
            why = why or str(said)
    if not why:
        from ctp_gdb import searched  # which speaks of what is here
        found = searched.find()
        if found is not None:
            return found
    raise gdb.GdbError(why or (NO_CORE if connection(inferior) == "core" else NOWHERE))


def current(region, tid):
    """Who runs on the thread: the number of a coroutine, 0 on its own stack."""
    for thread in region.threads().values():
        if thread.tid == tid:
            return 0 if thread.current == thread.native else thread.current
    return 0
