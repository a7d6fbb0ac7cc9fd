#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the golden regions of this folder from the words of spec/cTP.md alone,
without ctp.h: so that header and text cannot part unseen. The expectations
stand beside them as JSON; tests/unit/test_vectors.c reads both."""
import json
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
MAGIC = 0x434F524F54524352


def header(stations, allocated, ext=b""):
    h = struct.pack("<QIIII", MAGIC, 1, stations, allocated, 0)
    h = h.ljust(0x40, b"\0") + ext
    return h.ljust(1024, b"\0")


def slot(ts, tid, addr, seq, active):
    return struct.pack("<QQQQ31sB", ts, tid, addr, seq, b"", active)


def station(probe_id, birth, dead, slots):
    s = struct.pack("<QQB", probe_id, birth, dead).ljust(64, b"\0")
    s += b"".join(slots).ljust(512, b"\0")
    return s.ljust(1024, b"\0")


def state(seq, ident, entity, life, how, thread, changes, since, stack, waits, regs, lo, hi, entry, source=0, function=0):
    turn = seq | len(waits) << 5 | life << 8 | changes << 16
    s = struct.pack("<QQQQQIBHBIIQ", turn, ident, since, 0x7000, 0, stack, how, 0x402, entity, thread, 0, 0)
    s += struct.pack("<8Q", *regs)
    for w in waits:
        s += struct.pack("<iIIIQiI", *w)
    s = s.ljust(0x100, b"\0")
    s = (s + struct.pack("<QQQQQII", lo, hi, entry, 0, 0, 0, 0x47)).ljust(0x1ac, b"\0")
    return (s + struct.pack("<BBH", source, 0, function)).ljust(448, b"\0")


def write(name, blob, expect):
    with open(os.path.join(HERE, name + ".bin"), "wb") as f:
        f.write(blob)
    with open(os.path.join(HERE, name + ".json"), "w") as f:
        json.dump(expect, f, indent=1)
        f.write("\n")


def version1():
    """Two stations: one in its second lap with a slot being written, one dead with one event."""
    lap = [slot(1000 + n, 7, 0x4000 + n, 2, n & 1) for n in range(8)]
    lap[0] = slot(1008, 8, 0x5000, 4, 0)       # n = 9
    lap[1] = slot(1009, 8, 0x5001, 3, 1)       # torn: being written
    blob = header(4, 2)
    blob += station(0xABC, 900, 0, lap)
    blob += station(0xDEF, 950, 1, [slot(960, 9, 0, 2, 1)])
    blob += bytes(2048)
    events = [[0, n, 1000 + n - 1, 7, 0x4000 + n - 1, (n - 1) & 1] for n in range(3, 9)]
    events += [[0, 9, 1008, 8, 0x5000, 0], [1, 1, 960, 9, 0, 1]]
    write("version1", blob, {"allocated": 2, "events": sorted(events),
                             "columns": ["station", "n", "timestamp_ns", "tid", "addr", "is_active"]})


def present_state():
    """Two rows of the table of states: a suspended coroutine that waits, and one whose state is torn."""
    regs = [0x401000, 0x7FFF0010, 0x7FFF0020, 1, 2, 3, 4, 5]
    wait = (7, 3, 1, 1, 0xFEED, 4, 0)
    good = state(6, 41, 1, 2, 1, 0, 12, 5555, 9, [wait], regs, 0x7FFF0000, 0x7FFF8000, 0x401234, 1, 300)
    torn = state(7, 42, 1, 3, 1, 1, 13, 6666, 0, [], regs, 0, 0, 0)
    write("state", good + torn, {"readable": [True, False], "id": 41, "entity": 1, "life": 2, "how": 1, "flags": 0x402, "changes": 12,
                          "since": 5555, "stack": 9, "nwaits": 1, "slot": 0x7000, "regs": regs, "lo": 0x7FFF0000,
                          "hi": 0x7FFF8000, "entry": 0x401234, "source": 1, "function": 300,
                          "wait": {"fd": 7, "gen": 3, "events": 1, "how": 1, "data": 0xFEED, "epfd": 4}})


def records():
    """Slots as the ring and the CTF stream hold them, and what a reader makes of them that has
    read a packet's context saying: near 0, native 2, current 5 with the number 2."""
    def long(time, kind, how, a, b, stack, last, mark=0):
        return struct.pack("<QQQQ", kind | time % 2**56 << 8, b | stack << 40, 32 | how << 8 | a << 16 | mark << 56, last)

    def short(time, how, to, stack, to_n):
        return struct.pack("<QQ", 16 + how | time % 2**56 << 8, to | stack << 22 | to_n << 42)

    top = 2**22 - 1
    far = 10**9
    near = far // 2**21 * 2**21 - 2**21
    slots = [
        short(10, 1, 6, 77, 4),                                    # 5 leaves, 6 goes on
        short(11, 7, top, 2**20 - 1, top),                         # 6 to the thread's own stack, fields at their largest
        long(2**55, 1, 4, 2**40 - 1, 1, 2**24 - 1, 2**63 - 1),     # a switch, every field at its largest
        long(2**56 - 1, 2, 0, 6, 5, 1, 0x401000),                  # create; the time goes on past 56 bits
        long(2**56 + 1, 6, 16, 5, 0, 2, 7 | 3 << 32),              # fd_close of 7#3
        long(2**56 + 1, 1, 1, 1, far, 3, 9 | 2**32 * 100, 1),      # a switch after which ids count from near
        short(2**56 + 2, 6, 5, 4, 50),                             # to near + 5
        long(2**56 + 3, 3, 4, near + 5, 0, 0, 0),                  # which ends
        short(2**56 + 4, 2, far - near, 0, 102),                   # and leaves all the same
        long(2**56 + 5, 10, 0, near + 6, far, 0, 7 | 3 << 32),     # an event of 7#3 for near + 6
        long(2**56 + 6, 11, 0, far, 0, 0, 2**40),                  # slept for so long
        long(2**56 + 7, 200, 9, 3, far, 5, 2**64 - 1, 2),          # an event of the program's own: four slots in all
        struct.pack("<QQ", 32 | 2**64 - 256, 2**64 - 1),
        struct.pack("<QQ", 32, 1 | 1 << 8),                        # which hold what looks like records
        long(2**56 + 8, 40, 0, 0, 0, 0, 0),                        # of another one: two
        short(2**56 + 9, 1, far - near, 7, 105),
    ]
    rows = [
        [10, 1, 1, 5, 6, 77, 3, 4],
        [11, 1, 7, 6, 2, 2**20 - 1, 5, top],
        [2**55, 1, 4, 2**40 - 1, 1, 2**24 - 1, 2**32 - 1, 2**31 - 1],
        [2**56 - 1, 2, 0, 6, 5, 1, 0, 0],
        [2**56 + 1, 6, 16, 5, 0, 2, 0, 0],
        [2**56 + 1, 1, 1, 1, far, 3, 9, 100],
        [2**56 + 2, 1, 6, far, near + 5, 4, 101, 50],
        [2**56 + 3, 3, 4, near + 5, 0, 0, 0, 0],
        [2**56 + 4, 1, 2, near + 5, far, 0, 52, 102],
        [2**56 + 5, 10, 0, near + 6, far, 0, 0, 0],
        [2**56 + 6, 11, 0, far, 0, 0, 0, 0],
        [2**56 + 7, 128, 0, 3, 0, 0, 0, 0],
        [2**56 + 8, 40, 0, 0, 0, 0, 0, 0],
        [2**56 + 9, 1, 1, far, far, 7, 103, 105],
    ]
    values = [None, None, None, 0x401000, 7 | 3 << 32, None, None, 0, None, 7 | 3 << 32, 2**40, 72 << 8 | 9, 0, None]
    write("records", b"".join(slots),
          {"records": rows, "values": values, "columns": ["time", "kind", "how", "a", "b", "stack", "a_n", "b_n"]})


def incident():
    """An entry of the incident table, each field with a value of its own."""
    rows = [["ready", 1], ["rule", 24], ["flags", 2], ["time", 1000], ["last", 3000], ["count", 5], ["who", 41],
            ["stack", 9], ["thread", 3], ["other", 42], ["other_stack", 10], ["call", 4], ["fd", -1], ["gen", 7],
            ["other_time", 900]]
    values = [11, 2**64 - 1, 13, 14]
    blob = struct.pack("<IHHQQQQIIQII", *[v for _, v in rows[:12]]) + struct.pack("<iIQ", *[v for _, v in rows[12:]])
    blob += struct.pack("<4Q", *values)
    write("incident", blob.ljust(128, b"\0"), dict(rows, value=[str(v) for v in values]))


def crash():
    """The note of a process that a signal ended."""
    rows = [["ready", 1], ["signal", 11], ["code", 2], ["tid", 77], ["addr", 0x7FFF0008], ["time", 5000], ["who", 41],
            ["stack", 9], ["thread", 3]]
    regs = [0x401000, 0x7FFF0010, 0x7FFF0020, 1, 2, 3, 4, 5]
    tail = [["armed", 6], ["steps", 12], ["time_ns", 123456]]
    blob = struct.pack("<IiiIQQQII", *[v for _, v in rows]) + struct.pack("<8Q", *regs)
    blob += struct.pack("<IIQ", *[v for _, v in tail])
    write("crash", blob, dict(rows + tail, regs=regs))


def names():
    """The map and the names of 130 stations: one by its coroutine, one whose row is text to its end, one torn,
    one that has been taken back; and one in a row for which the map has no bit."""
    def row(seq, ident, text):
        return struct.pack("<IIQ", seq, 0, ident) + text.ljust(48, b"\0")

    rows = {1: row(2, 41, b"conn 41"), 63: row(4, 42, b"x" * 48), 128: row(3, 43, b"torn"), 129: row(6, 44, b""),
            70: row(2, 45, b"not in the map")}
    blob = struct.pack("<Q", 1 | 1 << 2).ljust(8192, b"\0") + b"".join(rows.get(i, bytes(64)) for i in range(130))
    write("names", blob, {"stations": 130, "names": [[1, 41, "conn 41"], [63, 42, "x" * 47], [129, 44, ""]]})


def events():
    """The list of what is chosen and two rows of the table of events, the second not there yet; and the record of the
    first as slots, with what it says: a number of eight bytes, one of four, a text that was cut, nine bytes of thirty."""
    def row(ready, line, fields, kinds, sizes, text):
        head = struct.pack("<IIHBBI", ready, line, len(text), fields, 1, 0) + bytes(kinds).ljust(12, b"\0") + bytes(sizes).ljust(12, b"\0")
        return (head.ljust(64, b"\0") + text).ljust(1024, b"\0")

    text = b"http\0request\0web.c\0long\0size\0int\0status\0const char *\0path\0ctp_bytes\0data\0"
    choice = b"http:*,!http:debug"
    blob = (struct.pack("<IIQ", 0, len(choice), 0) + choice).ljust(4096, b"\0")
    blob += row(1, 41, 4, [1, 1, 5, 6], [8, 4, 8, 16], text) + row(0, 0, 0, [], [], b"")
    says = struct.pack("<qi", -2, 404) + struct.pack("<H", 0x8000 | 3) + b"/in" + struct.pack("<HI", 0x8000 | 9, 30) + bytes(range(9))
    rest = says[16:]
    more = [rest[i:i + 15].ljust(15, b"\0") for i in range(0, len(rest), 15)]
    blob += struct.pack("<Q", 128 | 77 << 8) + says[:8] + struct.pack("<Q", 32 | 0 << 8 | 41 << 16 | len(more) << 56) + says[8:16]
    blob += b"".join(b"\x20" + m for m in more)
    write("events", blob, {"choice": choice.decode(), "rows": [True, False], "provider": "http", "name": "request", "file": "web.c",
                           "line": 41, "fields": [["size", 1, 8], ["status", 1, 4], ["path", 5, 8], ["data", 6, 16]],
                           "slots": 2 + len(more), "time": 77, "coroutine": 41, "size": -2, "status": 404, "path": "/in",
                           "data": list(range(9)), "data_whole": 30})


version1()
present_state()
events()
records()
incident()
crash()
names()
