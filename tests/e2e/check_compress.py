# SPDX-License-Identifier: MIT
"""--compress: the same history in less room, which ctp-analyze reads and makes plain again."""
import json
import random
import re
import signal
import struct
import subprocess

from harness import equal, need, until

HEADER = struct.Struct("<II5QII4QII")  # spec/trace.md
MOST = 1 << 20
WAY = 2


def streams(trace):
    return sorted(p for p in trace.iterdir() if p.name[0] in "tpv")


def size(trace):
    return sum(p.stat().st_size for p in streams(trace))


def packets(path):
    """(offset, header) of each."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        found.append((at, HEADER.unpack_from(data, at)))
        at += found[-1][1][5] // 8
    return found


def written(case, *words, output="c"):
    done = case.ctp("--compress", "--overflow=block", "-o", output, *words)
    equal(done.status, 0, f"status of {done}")
    return done


def is_plain(case, trace):
    """Other readers find no trace there, until it is expanded; then it is as if it had never been compressed."""
    need(not (case.dir / trace / "metadata").exists(), "it calls itself CTF")
    equal(json.loads((case.dir / trace / "ctp/trace.json").read_text())["compressed"], WAY, "what the manifest says")
    plain = trace + ".plain"
    done = case.analyze(trace, "--expand=" + plain)
    equal((done.status, done.out, done.err), (0, "", ""), "--expand")
    need("compressed" not in json.loads((case.dir / plain / "ctp/trace.json").read_text()), "the manifest still says so")
    return plain


def check_same(case):
    """The program's switches, its records and its findings are those of a trace that is not compressed."""
    done = written(case, case.target("counts"), "basic", "20000")
    switches = int(re.search(r"switches (\d+)", done.out)[1])
    plain = is_plain(case, "c")
    reports = [case.report(trace)[1] for trace in ("c", plain)]
    for r in reports:
        equal((r["trace"]["switches"], r["trace"]["lost"]), (switches, 0), "switches and lost")
        r["trace"].pop("path")
    equal(reports[0], reports[1], "the reports")
    equal(case.analyze("c", "--format=jsonl").out, case.analyze(plain, "--format=jsonl").out, "the JSON lines")
    equal(case.switches(plain), switches, "what babeltrace2 reads")
    need(size(case.dir / "c") <= 2 * switches, f"{size(case.dir / 'c')} bytes for {switches} switches")
    for path in streams(case.dir / plain):
        bits = [h[4] for _, h in packets(case.dir / "c" / path.name)]
        equal([h[4] for _, h in packets(path)], bits, f"packets of {path.name}")


def check_finding(case):
    """A lost wakeup is told as ever."""
    case.found("--compress", "-q", "-o", "c", case.target("lost"), trace="c")
    status, report = case.report("c")
    equal((status, [f["rule"] for f in report["findings"]]), (1, ["CTP001"]), "findings")


def check_threads(case):
    """Many threads, children and images, each in streams of its own; and --flight, with what it writes meanwhile."""
    written(case, case.target("counts"), "migrate", "5000")
    equal(case.switches(is_plain(case, "c")), case.report("c")[1]["trace"]["switches"], "switches of threads")
    done = case.ctp("--compress", "-q", "-f", "-o", "e", case.target("misc"), "execs", "2")
    equal(done.status, case.run(case.target("misc"), "execs", "2").status, "status")
    equal(case.switches(is_plain(case, "e")), case.report("e")[1]["trace"]["switches"], "switches of images")
    process = case.ctp_start("--compress", "--flight=1M", "-o", "f", case.target("records"), "2", "100000", stdin=subprocess.PIPE)
    process.wait_for("ready")
    process.popen.stdin.write(b"\n")
    process.popen.stdin.flush()
    process.wait_for("done")
    process.signal(signal.SIGUSR2)
    until(lambda: "SIGUSR2" in process.err(), "the snapshot")
    process.popen.stdin.write(b"\n")
    process.popen.stdin.close()
    equal(process.done().status, 0, "status")
    for trace in ("f", "f.1"):
        kept = json.loads((case.dir / trace / "ctp/trace.json").read_text())["flight"]["kept"]
        need(kept > 1000, f"{trace} keeps {kept}")
        equal(case.switches(is_plain(case, trace)), kept, f"switches of {trace}")


def check_max_size(case):
    """What counts is what is written: the same room holds more history."""
    kept = {}
    for name, words in (("c", ["--compress"]), ("p", [])):
        case.ctp(*words, "--overflow=block", "--max-size=512K", "-q", "-o", name, case.target("counts"), "basic", "60000")
        need(size(case.dir / name) <= 512 << 10, f"{size(case.dir / name)} bytes")
        kept[name] = case.report(name)[1]["trace"]["events"]
    need(kept["c"] > 2 * kept["p"], f"events kept: {kept}")


def check_damaged(case):
    """Cut anywhere, changed anywhere, with headers that claim anything: read up to there, and one line says so."""
    written(case, case.target("counts"), "basic", "7000")  # more records than two packets of MOST bytes can have
    path = max(streams(case.dir / "c"), key=lambda p: p.stat().st_size)
    chance = random.Random(4)
    whole = path.read_bytes()
    found = packets(path)
    at = [(n, h) for n, h in found if h[-1] == WAY]
    need(at, "no packed packet")

    def looked_at(data, what, says="was cut off: read up to its last whole packet"):
        path.write_bytes(data)
        done = case.analyze("c", "--format=jsonl")
        need(done.status in (0, 3), f"{what}: {done}")
        need(len(done.err.splitlines()) == 1 and says in done.err, f"{what}: {done.err}")
        return len(done.out.splitlines())

    def as_written(data):
        """zstd ignores some bits, which do not change what comes out, nor its checksum: that is no damage."""
        path.write_bytes(data)
        done = case.analyze("c", "--format=jsonl")
        return (done.status, done.out, done.err) == (0, text, "")
    within = sorted(set(range(1, len(whole))) - {n for n, _ in found})
    lines = [looked_at(whole[:cut], f"cut at {cut}") for cut in sorted(chance.sample(within, 12))]
    equal(lines, sorted(lines), "lines that are left")
    need(len(found) > 2 and at[0][0] == found[0][0], f"packets {found}")
    damaged = "1 packet lost"
    path.write_bytes(whole)
    text = case.analyze("c", "--format=jsonl").out
    full, said = len(text.splitlines()), 0
    offset, h = at[0]
    for place in chance.sample(range(offset + HEADER.size, offset + h[5] // 8), 50):
        data = bytearray(whole)
        data[place] ^= 1 + chance.randrange(255)
        if not as_written(data):
            rest = looked_at(data, f"changed at {place}", damaged)
            need(rest < full and (len(at) == 1 or rest > 0), f"changed at {place}: {rest} lines of {full}")
            said += 1
        if said == 12:
            break
    equal(said, 12, "changes that were told")
    need("shortened" not in case.analyze("c", "--repair").err and path.stat().st_size == len(whole), "nothing is cut off")
    for content, says in ((2**63, "passed over"), (8 * (HEADER.size + MOST + 16), "passed over"), (8 * (HEADER.size + MOST), "lost;"),
                          (h[4] + 128, "lost;"), (h[4] - 128, "lost;"), (h[4] + 8, "passed over"), (8 * HEADER.size, "lost;"),
                          (0, "passed over")):
        data = bytearray(whole)
        struct.pack_into("<Q", data, offset + 24, content)
        need(looked_at(data, f"claims {content} bits", f"is damaged at byte {offset}: {damaged}") > 0, "the rest")
        need(says in case.analyze("c").err, f"claims {content} bits: {says}")
    for packed in (1, 3, 2**32 - 1):
        data = bytearray(whole)
        struct.pack_into("<I", data, offset + 92, packed)
        looked_at(data, f"packed {packed}", damaged)
    path.write_bytes(whole[:-1])
    need("shortened" in case.analyze("c", "--repair").err, "--repair")
    equal(case.analyze("c").err, "", "afterwards")


def check_other_way(case):
    """What another version has packed is refused by its name, never read as what it is not."""
    written(case, case.target("counts"), "basic", "10")
    path = case.dir / "c/ctp/trace.json"
    text = path.read_text()
    for said, whose in (("true", "an older"), (str(WAY + 1), "a newer")):
        path.write_text(re.sub(r'"compressed":\d+', f'"compressed":{said}', text, count=1))
        done = case.analyze("c")
        equal((done.status, done.out, done.err.count("\n")), (2, "", 1), f"{done}")
        need(f"compressed in a way of {whose} ctp" in done.err, done.err)
        done = case.analyze("c", "--expand=y")
        equal((done.status, done.err.count("\n"), (case.dir / "y").exists()), (2, 1, False), f"{done}")
        need("compressed in a way of another ctp" in done.err, done.err)


def check_refused(case):
    done = case.ctp("--compress", "-o", "x.jsonl", "true")
    equal((done.status, done.err.count("\n")), (125, 1), f"{done}")
    need("--compress" in done.err, done.err)
    written(case, case.target("counts"), "basic", "10")
    for words, why in ((("--expand=c", "c"), "give --expand another name"), (("--expand=y", "nowhere"), "not a trace directory"),
                       (("--expand=no/such/place", "c"), "No such file")):
        done = case.run(case.analyze_tool, *words)
        equal((done.status, done.err.count("\n")), (2, 1), f"{done}")
        need(why in done.err, done.err)


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
