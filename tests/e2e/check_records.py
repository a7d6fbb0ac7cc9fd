# SPDX-License-Identifier: MIT
"""Records: how large they are, what is left of them when some were lost or are gone, and by which version they were made."""
import collections
import datetime
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import tarfile
import time
import uuid

from harness import Skip, child_of, equal, need, proc_state, tool, until

HERE = pathlib.Path(__file__).parent
RING = 1 << 18  # switches that a thread's ring holds
SMALL = 1 << 12 # if that has 64 KiB
SWITCHES = 400000


def written(output):
    return output.stat().st_size if output.is_file() else sum(p.stat().st_size for p in output.glob("t[0-9]*"))


def held_up(case, output, threads):
    """A run to `output`. If that is called stopped, ctp-run stands still while all switches but the first and last are made."""
    process = case.ctp_start("-o", output, case.target("records"), threads, SWITCHES, stdin=subprocess.PIPE)
    stops = "stopped" in output
    process.wait_for("ready")
    if stops:
        process.signal(signal.SIGSTOP)
    process.popen.stdin.write(b"\n")
    process.popen.stdin.flush()
    process.wait_for("done")
    if stops:
        process.signal(signal.SIGCONT)
        until(lambda: written(case.dir / output) > threads * RING * (150 if "jsonl" in output else 15), "the rings are empty")
    process.popen.stdin.write(b"\n")
    process.popen.stdin.close()
    done = process.done()
    equal(done.status, 0, "exit status")
    return int(re.search(r"switches (\d+)$", done.out, re.M)[1])


def numbered(text):
    """Lines, and changes that are missing between them; each coroutine's numbers and times rise."""
    seq, ts, lines, missing = collections.Counter(), collections.Counter(), 0, 0
    for line in map(json.loads, text.splitlines()):
        who = line["probe_id"]
        need(line["seq"] > seq[who] and line["seq"] % 2 == 0, f"seq after {seq[who]}: {line}")
        need(line["ts"] >= ts[who], f"ts falls: {line}")
        missing += line["seq"] // 2 - seq[who] // 2 - 1
        seq[who], ts[who] = line["seq"], line["ts"]
        lines += 1
    return lines, missing


def check_lost(case):
    """What a full ring drops is counted, and of what is left it is known who left whom, with which number."""
    for threads in (1, 2):
        switches = held_up(case, "whole", threads)
        whole = case.report("whole")[1]["trace"]
        equal((whole["switches"], whole["lost"]), (switches, 0), "of the whole trace")
        held_up(case, "stopped", threads)
        cut = case.report("stopped")[1]["trace"]
        need(cut["lost"] >= (SWITCHES - RING) * threads // 2, f"only {cut['lost']} lost")
        equal(cut["switches"], switches, "switches by the tables")
        equal(cut["events"] + cut["lost"], whole["events"], "events and lost")
        need(not any("contradict" in text for text in cut["coverage"]), f"{cut['coverage']}")
        shown = case.run(tool("babeltrace2"), "stopped").out.count("ctp:switch") # it warns of what was discarded
        lines, missing = numbered(case.analyze("stopped", "--format=jsonl").out)
        equal(lines, 2 * shown, "lines")
        equal(lines + missing, 2 * switches, "lines, and what is missing between them")
        by = [text for text in cut["coverage"] if text.startswith("records were lost by thread ")]
        each = [int(n) for n in re.findall(r" \d+ \((\d+)\)", by[0])]
        equal((len(by), len(each), sum(each)), (1, threads, cut["lost"]), "threads that lost records, and how many each")
        need("records were lost by thread" in case.analyze("stopped").out.replace("\n         ", " "), "not in the text")


def check_block(case):
    """Both cores switch as fast as they can, four times what the rings hold: with --overflow=block nothing is lost."""
    process = case.ctp_start("--overflow=block", case.target("records"), 2, 4 * RING, stdin=subprocess.PIPE)
    for word in ("ready", "done"):
        process.wait_for(word)
        process.popen.stdin.write(b"\n")
        process.popen.stdin.flush()
    done = process.done()
    equal(done.status, 0, "exit status")
    switches = int(re.search(r"switches (\d+)$", done.out, re.M)[1])
    told = case.report()[1]["trace"]
    equal((told["switches"], told["lost"]), (switches, 0), "by the tables, and lost")
    equal(case.switches(), switches, "in the trace")


def check_small(case):
    """Rings of 64 KiB: one that nobody empties holds that much; one that is emptied in time loses nothing."""
    def run(*words, while_stopped):
        process = case.ctp_start("--ring-size=64K", *words, case.target("records"), 2, SWITCHES, stdin=subprocess.PIPE)
        process.wait_for("ready")
        if while_stopped:
            process.signal(signal.SIGSTOP)
        for word in ("done", None):
            process.popen.stdin.write(b"\n")
            process.popen.stdin.flush()
            if word:
                process.wait_for(word)
                process.signal(signal.SIGCONT)
        done = process.done()
        equal(done.status, 0, "exit status")
        trace = case.report()[1]["trace"]
        equal(trace["switches"], int(re.search(r"switches (\d+)$", done.out, re.M)[1]), "switches by the tables")
        return trace

    whole = run("--overflow=block", while_stopped=False)
    equal((whole["lost"], case.switches()), (0, whole["switches"]), "lost, and in the trace")
    cut = run("--overflow=drop", while_stopped=True)
    equal(cut["events"] + cut["lost"], whole["events"], "events and lost")
    need(cut["lost"] > 2 * (SWITCHES - SMALL - 100), f"only {cut['lost']} lost")


def check_full(case):
    """Whose ring is full makes no system call for what it drops, however long ctp-run does not run."""
    process = case.ctp_start("--ring-size=4K", case.target("records"), 1, 20000, stdin=subprocess.PIPE)
    process.wait_for("ready")
    process.signal(signal.SIGSTOP)
    until(lambda: proc_state(process.pid) == "T", "ctp-run to stand still")
    strace = case.start(tool("strace"), "-f", "-e", "trace=futex", "-o", case.dir / "calls", "-p", child_of(process.pid))
    until(lambda: "attached" in strace.err() or strace.popen.poll() is not None, "strace to be there")
    if strace.popen.poll() is not None:
        raise Skip("strace may not be used here")
    process.popen.stdin.write(b"\n")
    process.popen.stdin.flush()
    process.wait_for("done")
    process.signal(signal.SIGCONT)
    process.popen.stdin.close()
    equal((process.done().status, strace.done().status), (0, 0), "status")
    need(case.report()[1]["trace"]["lost"] > 19000, "little was lost")
    wakes = sum("FUTEX_WAKE," in line for line in (case.dir / "calls").read_text().splitlines())
    need(0 < wakes < 20, f"{wakes} wakes")


def check_lost_lines(case):
    switches = held_up(case, "stopped.jsonl", 2)
    lines, missing = numbered((case.dir / "stopped.jsonl").read_text())
    need(missing > 100000, f"only {missing} missing")
    equal(lines + missing, 2 * switches, "lines, and what is missing between them")


def check_size(case):
    switches = held_up(case, "ctp.data", 2)
    size = sum(path.stat().st_size for path in (case.dir / "ctp.data").glob("t*"))
    need(size < 16.5 * switches, f"{size} bytes for {switches} switches")


def check_suffix(case):
    """Only the newest packets are kept: they say the same as they would with all the others."""
    case.ctp("-o", "all", case.target("counts"), "migrate", "2000")
    case.ctp("--max-size=128K", "-o", "some", case.target("counts"), "migrate", "2000")
    for trace in ("all", "some"):
        report = case.report(trace)[1]["trace"]
        need(not any("contradict" in text for text in report["coverage"]), f"{report['coverage']}")
        done = case.analyze(trace, "--format=jsonl")
        equal(done.err, "", "stderr")
        lines = [json.loads(line) for line in done.out.splitlines()]
        equal(len(lines), 2 * case.switches(trace), "lines")
        seq = {}
        for line in lines:
            who = line["probe_id"]
            need(seq.get(who, 0) < line["seq"] < 2 * report["switches"] + 2, f"{line}")
            seq[who] = line["seq"]
        if trace == "all":
            equal(numbered(done.out), (2 * report["switches"], 0), "lines and missing")


def check_other_version(case):
    case.ctp(case.target("counts"), "basic")
    path = case.dir / "ctp.data/ctp/trace.json"
    text = path.read_text()
    path.write_text(re.sub(r'"layout":\d+', '"layout":2', text, count=1))
    done = case.analyze()
    equal((done.status, done.out), (2, ""), "status and report")
    need("made by an older ctp" in done.err and len(done.err.splitlines()) == 1, done.err)
    need("damaged" not in done.err, done.err)


def check_older_layout(case):
    """A trace of the layout before, recorded by the ctp-run of its time: what it finds is as it was. (Without the
    program's file a function is an offset in it, and the three closes are at three of them.)"""
    with tarfile.open(HERE / "data/layout5.tar.xz") as old:
        old.extractall(case.dir)
    report = case.report(case.dir / "layout5")[1]
    equal({(f["rule"], f["verdict"]) for f in report["findings"]}, {("CTP001", "likely")}, "findings")
    equal(sum(f["count"] for f in report["findings"]), 3, "coroutines in findings")
    equal((report["trace"]["switches"], report["trace"]["events"]), (6, 23), "switches, events")
    need(not any("does not know" in c for c in report["trace"]["coverage"]), report["trace"]["coverage"])


def check_reserved(case):
    """Records of kinds that a later ctp may write are passed over wherever they stand, and counted."""
    case.ctp("-o", "t", case.target("counts"), "basic", "3000")
    stream, = case.dir.glob("t/t0.0")
    was = case.report(case.dir / "t")[1]
    blob, at, packets, added = stream.read_bytes(), 0, [], 0
    while at < len(blob):
        bits, = struct.unpack_from("<Q", blob, at + 32)
        packet, at = blob[at:at + bits // 8], at + bits // 8
        time, = struct.unpack_from("<Q", packet, 16)
        body = packet[96:]
        for more in (0, 1, 255):  # so that the reader's buffer ends in each part of one
            body += struct.pack("<QQQQ", 130 | time % 2**56 << 8, 1, 32 | more << 56, 1) + struct.pack("<QQ", 32, 1) * more
            added += 1
        size = 8 * (96 + len(body))
        packets.append(packet[:24] + struct.pack("<QQ", size, size) + packet[40:96] + body)
    stream.write_bytes(b"".join(packets))
    now = case.report(case.dir / "t")[1]
    equal(now["trace"]["switches"], was["trace"]["switches"], "switches")
    equal(now["trace"]["events"], was["trace"]["events"] + added, "events")
    need(f"{added} records of kinds that this version does not know" in now["trace"]["coverage"], now["trace"]["coverage"])
    for form in ("jsonl", "html", "chrome", "perfetto", "folded", "text"):
        equal(case.analyze("--format=" + form, "t").status, 0, form)
    lines = [len(case.analyze("--format=jsonl", case.dir / "t").out.splitlines())]
    equal(lines, [2 * was["trace"]["switches"]], "lines")


def check_identity(case):
    """Each run has a uuid of its own, which its manifest, its regions and its children's regions have in common."""
    seen = set()
    for output in ("one", "two"):
        before = time.time_ns()
        case.ctp("-f", "-o", output, "sh", "-c", f"{case.target('counts')} basic; {case.target('counts')} basic")
        after = time.time_ns()
        ctp = case.dir / output / "ctp"
        manifest = json.loads((ctp / "trace.json").read_text())
        run = uuid.UUID(manifest["uuid"])
        equal((run.version, run.variant), (4, uuid.RFC_4122), "uuid")
        regions = [p.read_bytes()[64 + 768:64 + 792] for p in ctp.glob("image*/ext")]
        need(len(regions) > 1, f"{len(regions)} images")
        wall = manifest["clock"]["wall_ns0"]
        equal(set(regions), {run.bytes + struct.pack("<Q", wall)}, "uuid and time of the regions")
        need(before <= wall <= after, f"started at {wall}, not between {before} and {after}")
        started = datetime.datetime.fromisoformat(manifest["started"])
        equal(started.timestamp() // 1, wall // 10**9, "started")
        equal(manifest["host"], os.uname().nodename, "host")
        equal(manifest["boot_id"], open("/proc/sys/kernel/random/boot_id").read().strip(), "boot id")
        seen.add(run)
    equal(len(seen), 2, "uuids")


CHECKS = [("lost", check_lost), ("lost_lines", check_lost_lines), ("block", check_block), ("small", check_small), ("full", check_full),
          ("size", check_size), ("suffix", check_suffix),
          ("other_version", check_other_version), ("older_layout", check_older_layout), ("reserved", check_reserved), ("identity", check_identity)]
