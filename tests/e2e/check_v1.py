# SPDX-License-Identifier: MIT
"""cTP version 1, both ways: a version-1 probe under ctp-run, and libctp.so
under a version-1 engine that knows nothing of our extension."""
import collections
import json
import mmap
import os
import socket
import struct
import subprocess
import threading

from check_counts import said
from harness import child_of, equal, need, tool, until

MAGIC, HEADER, STATION, SLOTS = 0x434F524F54524352, 1024, 1024, 8


def wrote(done):
    need(done.status == 0 and done.out.startswith("wrote "), f"the probe: {done}")
    words = done.out.split()
    return int(words[1]), int(words[3])


def stations_shown(case, trace="ctp.data"):
    done = case.run(tool("babeltrace2"), trace)
    equal((done.status, done.err), (0, ""), "babeltrace2")
    return sum("ctp:station" in line for line in done.out.splitlines())


def check_probe(case, *options):
    """Eight events or fewer a station: none can be overwritten before it is read."""
    done = case.ctp(*options, case.target("probe"), "200", "8")
    stations, events = wrote(done)
    equal(stations_shown(case), events, "ctp:station in babeltrace2")
    status, report = case.report()
    equal(report["findings"], [], "findings")
    equal(report["trace"]["lost"], 0, "lost")


def check_probe_lines(case):
    done = case.ctp("-o", "x.jsonl", case.target("probe"), "100", "8")
    _, events = wrote(done)
    lines = [json.loads(line) for line in (case.dir / "x.jsonl").read_text().splitlines()]
    equal(len(lines), events, "lines")
    seq, mine, theirs = collections.Counter(), set(), set()
    for line in lines:
        equal(line["seq"], seq[line["probe_id"]] + 2, f"seq of {line}")
        seq[line["probe_id"]] = line["seq"]
        mine.add(line["probe_id"])
        theirs.add(line["station_probe_id"])
        need(line["probe_id"] < 2**53, f"our own id: {line}")
        n = line["seq"] // 2 - 1
        equal((line["is_active"], int(line["addr"], 16)), (n % 2 == 1, 0 if n % 2 else 0x1000 + n), f"payload of {line}")
    equal((len(mine), len(theirs)), (100, 100), "ids")
    equal(theirs, {0x7f00000000000000 + i for i in range(100)}, "the probe's own ids")


def check_overwritten(case):
    """More than eight at full speed: what was overwritten is a gap, and counted."""
    done = case.ctp("-o", "x.jsonl", case.target("probe"), "4", "1000")
    _, events = wrote(done)
    lines = [json.loads(line) for line in (case.dir / "x.jsonl").read_text().splitlines()]
    last, gaps = {}, 0
    for line in lines:
        n, who = line["seq"] // 2, line["probe_id"]
        need(n > last.get(who, 0), f"n falls: {line}")
        gaps += n - last.get(who, 0) - 1
        last[who] = n
    equal(len(lines) + gaps, events, "lines and gaps against events")
    equal(sorted(last.values()), [1000] * 4, "each station's last event")
    status, report = case.report("x.jsonl")
    equal(report["trace"]["lost"], gaps, "lost against gaps")


def check_trace_overwritten(case):
    done = case.ctp(case.target("probe"), "4", "1000")
    _, events = wrote(done)
    shown = stations_shown(case)
    _, report = case.report()
    equal(shown + report["trace"]["lost"], events, "shown and lost against events")


class Engine:
    """A version-1 engine: a region without our descriptor, a listening socket, a scan of the slots."""

    def __init__(self, case, stations):
        self.stations = stations
        self.path, self.sock_path = case.dir / "region", case.dir / "sock"
        self.file = open(self.path, "w+b")
        self.file.truncate(HEADER + stations * STATION)
        self.map = mmap.mmap(self.file.fileno(), HEADER + stations * STATION)
        struct.pack_into("<QIII", self.map, 0, MAGIC, 1, stations, 0)
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.bind(str(self.sock_path))
        self.sock.listen(1)
        self.connected = threading.Event()
        self.woken = 0
        self.seen = collections.Counter()
        self.events = collections.defaultdict(dict)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def environment(self):
        return {"CTP_SHM_PATH": str(self.path), "CTP_SOCK_PATH": str(self.sock_path),
                "CTP_MAX_STATIONS": str(self.stations)}

    def _serve(self):
        try:
            peer, _ = self.sock.accept()
        except OSError:
            return
        self.connected.set()
        while True:
            try:
                data = peer.recv(4096)
            except OSError:
                return
            if not data:
                return
            self.woken += len(data)

    def sleep_flag(self, value):
        struct.pack_into("<I", self.map, 20, value)

    def scan(self):
        """Harvests what is new; returns how many events."""
        allocated = min(struct.unpack_from("<I", self.map, 16)[0], self.stations)
        new = 0
        for i in range(allocated):
            base = HEADER + i * STATION
            for k in range(SLOTS):
                at = base + 64 + k * 64
                ts, tid, addr, seq = struct.unpack_from("<QQQQ", self.map, at)
                active = self.map[at + 63]
                again = struct.unpack_from("<Q", self.map, at + 24)[0]
                if seq % 2 or seq != again or seq <= self.seen[i, k]:
                    continue
                self.seen[i, k] = seq
                n = (seq // 2 - 1) * SLOTS + k + 1
                self.events[i][n] = (ts, tid, addr, active)
                new += 1
        return new

    def probe_ids(self):
        return [struct.unpack_from("<Q", self.map, HEADER + i * STATION)[0] for i in sorted(self.events)]

    def close(self):
        self.sock.close()
        self.map.close()
        self.file.close()


def check_engine(case):
    """Few enough switches a coroutine that no slot is overwritten: every event is read, in order."""
    engine = Engine(case, 300)
    env = dict(engine.environment(), LD_PRELOAD=str(case.lib))
    done = case.run(case.target("counts"), "args", env=env)
    bare = case.run(case.target("counts"), "args")
    equal((done.status, done.out), (bare.status, bare.out), "the program")
    need(engine.connected.is_set(), "libctp.so did not connect")
    engine.scan()
    need(not (case.dir / "ctp.data").exists(), "a trace of ours beside the engine's")
    coroutines, switches = said(done.out)
    need(len(engine.events) >= coroutines, f"{len(engine.events)} stations for {coroutines} coroutines")
    for i, events in engine.events.items():
        equal(sorted(events), list(range(min(events), max(events) + 1)), f"numbers of station {i}")
        ordered = [events[n] for n in sorted(events)]
        need(all(a[0] <= b[0] for a, b in zip(ordered, ordered[1:])), f"time falls at station {i}")
        need(all(a[3] != b[3] for a, b in zip(ordered, ordered[1:])), f"left or entered twice at station {i}: {ordered}")
        need(all(e[1] > 0 for e in ordered), f"tid at station {i}")
    ended = [max(events) for events in engine.events.values()]
    equal(sum(ended), 2 * switches, "state changes, by lap and slot")
    equal(len(set(engine.probe_ids())), len(engine.events), "probe ids")
    engine.close()


def check_engine_polling(case):
    """An engine that scans while it runs, and sleeps as version 1 does: it is woken."""
    engine = Engine(case, 64)
    env = dict(engine.environment(), LD_PRELOAD=str(case.lib))
    engine.sleep_flag(1)
    process = case.start(case.target("misc"), "forever", env=env)
    process.wait_for("ready")
    until(lambda: engine.woken > 0, "a wake-up byte")
    until(lambda: engine.scan() and sum(map(len, engine.events.values())) > 50, "events")
    equal(struct.unpack_from("<I", engine.map, 20)[0], 0, "tracer_sleeping after the wake-up")
    engine.sleep_flag(1)
    woken = engine.woken
    until(lambda: engine.woken > woken, "another wake-up byte")
    process.popen.kill()
    engine.close()


def check_engine_dies(case):
    """The engine's end is no SIGPIPE for the program."""
    engine = Engine(case, 64)
    env = dict(engine.environment(), LD_PRELOAD=str(case.lib))
    process = case.start(case.target("counts"), "basic", "200000", env=env)
    until(engine.connected.is_set, "the connection")
    os.unlink(engine.sock_path)
    engine.sock.close()
    engine.sleep_flag(1)
    bare = case.run(case.target("counts"), "basic", "200000")
    done = process.done()
    equal((done.status, done.out), (bare.status, bare.out), "the program")


def check_hostile_region(case):
    """A region that is none: the program runs untraced."""
    (case.dir / "junk").write_bytes(b"no region" * 1000)
    env = {"LD_PRELOAD": str(case.lib), "CTP_SHM_PATH": str(case.dir / "junk"), "CTP_SOCK_PATH": "/no/socket",
           "CTP_MAX_STATIONS": "50", "CTP_OUTPUT": str(case.dir / "t")}
    bare = case.run(case.target("counts"), "basic")
    done = case.run(case.target("counts"), "basic", env=env)
    equal((done.status, done.out), (bare.status, bare.out), "the program")


def check_counts_agree(case):
    """Half of the stations are dead; four coroutines get none. The directory and JSON lines say the same."""
    said_of = {}
    for trace in ("x.data", "x.jsonl"):
        process = case.ctp_start("--no-preload", "-n", "16", "-o", trace, case.target("probe"), "20", "7", "hold",
                                 stdin=subprocess.PIPE)
        process.wait_for("wrote")
        process.popen.stdin.close()
        done = process.done()
        need("56 switches, 16 coroutines" in done.err, done.err)
        _, report = case.report(trace)
        t = report["trace"]
        states = [t["coroutines"][k] for k in ("total", "suspended", "running", "finished")]
        said_of[trace] = [t[k] for k in ("events", "switches", "threads")] + states

    equal(said_of["x.data"], said_of["x.jsonl"], "the directory's counts against JSON lines'")
    equal(said_of["x.data"], [112, 56, 1, 16, 8, 0, 8], "counts")
    text = case.analyze("x.data").out
    need("4 coroutines of version-1 probes got no station" in " ".join(text.split()), text)


def check_ps(case):
    """What lives is listed, what is dead is counted, who got no station is told."""
    process = case.ctp_start("--no-preload", "-n", "16", case.target("probe"), "20", "7", "hold", stdin=subprocess.PIPE)
    process.wait_for("wrote")
    pid = str(child_of(process.popen.pid))
    rows = [line.split() for line in case.run(case.build / "src/ps/ctp-ps").out.splitlines()]
    need([pid, "8", "8", "0"] in [row[:4] for row in rows], f"the list: {rows}")
    text = case.run(case.build / "src/ps/ctp-ps", pid).out
    need("ended: 8 finished" in text and "4 more got no station" in text, text)
    need('coroutine 1 probe 0x7f00000000000000 [suspended, ' in text, text)
    listed = json.loads(case.run(case.build / "src/ps/ctp-ps", "--json", "--all", pid).out)
    equal([c["id"] for c in sorted(listed["coroutines"], key=lambda c: c["id"])], list(range(1, 17, 2)), "ids")
    equal({c["switches"] for c in listed["coroutines"]}, {7}, "state changes")
    process.popen.stdin.close()
    process.done()


CHECKS = [
    ("counts_agree", check_counts_agree),
    ("ps", check_ps),
    ("probe", check_probe),
    ("probe_unpreloaded", lambda case: check_probe(case, "--no-preload")),
    ("probe_shm_file", lambda case: check_probe(case, "--shm-file=region")),
    ("probe_lines", check_probe_lines),
    ("overwritten", check_overwritten),
    ("overwritten_trace", check_trace_overwritten),
    ("engine", check_engine),
    ("engine_polling", check_engine_polling),
    ("engine_dies", check_engine_dies),
    ("hostile_region", check_hostile_region),
]
