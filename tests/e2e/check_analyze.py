# SPDX-License-Identifier: MIT
"""ctp-analyze on its own: exit status, forms, rules, damaged input."""
import errno
import json
import os
import pty
import random
import re
import select
import shutil
import struct
import subprocess

from check_engines import TARGETS, built, packages
from harness import equal, need, proven_by_witness, seen_by_witness, tool, until


def clean_trace(case):
    case.ctp(case.target("counts"), "basic")


def lost_trace(case, *words):
    count = next((int(w[2:]) for w in words if w.startswith("n=")), 1)
    enough = seen_by_witness if "keep=table" in words else proven_by_witness
    case.found(case.target("lost"), *words, count=count, enough=enough)


def check_status(case):
    clean_trace(case)
    equal(case.analyze().status, 0, "clean")
    shutil.rmtree(case.dir / "ctp.data")
    lost_trace(case, "n=4")
    equal(case.analyze().status, 1, "a finding")
    equal(case.analyze("ctp.data", "--exit-zero").status, 0, "--exit-zero")
    equal(case.analyze("ctp.data", "--min-verdict=proven").status, 1, "--min-verdict=proven")
    equal(case.analyze("ctp.data", "--rule=CTP002").status, 0, "--rule=CTP002")
    equal(case.analyze("ctp.data", "--rule=CTP001", "--rule=CTP002").status, 1, "both")
    equal(case.analyze("ctp.data", "--lost-wakeup").status, 1, "--lost-wakeup")
    equal(case.run(case.analyze_tool).status, 1, "the default is ctp.data")
    for words in (["--no-such-option"], ["--rule=CTP999"], ["--format=smoke"], ["--min-verdict=maybe"]):
        done = case.analyze("ctp.data", *words)
        equal((done.status, done.out), (2, ""), " ".join(words))
        need(done.err.startswith("ctp"), done.err)
    done = case.analyze("no-such-trace")
    equal((done.status, done.out), (2, ""), "no trace")


def check_min_verdict(case):
    lost_trace(case, "keep=table", "n=2")
    equal(case.analyze().status, 1, "likely is above suspect")
    done = case.analyze("ctp.data", "--min-verdict=proven")
    equal(done.status, 0, f"likely is below proven ({done})")


def check_output_file(case):
    lost_trace(case)
    done = case.analyze("ctp.data", "--format=json", "-o", "report.json")
    equal((done.status, done.out), (1, ""), "-o")
    equal(json.loads((case.dir / "report.json").read_text())["version"], 1, "the file")


def check_rules(case):
    done = case.run(case.analyze_tool, "--list-rules")
    equal(done.status, 0, "--list-rules")
    need("CTP001" in done.out, done.out)
    rules = re.findall(r"^ *(CTP\d{3})", done.out, re.M)
    need(len(rules) > 25, done.out)
    for rule in rules:
        done = case.run(case.analyze_tool, "--explain", rule)
        equal(done.status, 0, "--explain")
        need(rule in done.out and len(done.out) > 200, done.out)
        need(len(re.findall(r"^Repair: ", done.out, re.M)) == 1, f"one way to repair it: {done.out}")
        equal([line for line in done.out.splitlines() if len(line) > 100], [], "lines that do not fit")
    equal(case.run(case.analyze_tool, "--explain", "CTP999").status, 2, "--explain of no rule")
    equal(case.run(case.analyze_tool, "--help").status, 0, "--help")
    need("ctp-analyze" in case.run(case.analyze_tool, "--version").out, "--version")


def check_ended_names(case):
    """A coroutine of Boost's that has ended is called by what the program gave it, not by the library's template."""
    packages.want("g++", "libboost-context1.74-dev")
    program = built(case, "t-ended", tool("g++"), "-O1", "-g", "-w", TARGETS / "ended.cpp", "-lboost_context")
    case.ctp(program)
    _, report = case.report()
    who = [f["message"].split(" closed a descriptor")[0].split(" ", 2)[2] for f in report["findings"] if f["rule"] == "CTP024"]
    equal(sorted(who), ["at_once", "handler", "main()::<lambda>", "main()::<lambda>", "producer", "session::operator()"], "names")


def check_steering(case):
    """A program's name cannot steer a terminal, nor is it passed on where it is no UTF-8."""
    program = os.fsencode(case.dir) + b"/n\x1b[2J\nCTP001 forged [PROVEN]\nfacts\xff;x"
    with open(program, "wb") as f:
        f.write(case.target("counts").read_bytes())
    os.chmod(program, 0o755)
    case.ctp(os.fsdecode(program), "basic")
    for words in ((), ("--format=markdown",), ("--color=always",)):
        text = case.analyze("ctp.data", *words).out
        need("n?" in text and ";x" in text and "\udcff" not in text and "\ufffd" not in text, f"{words}: {text!r}")
        need(not any(x.startswith(("CTP001", "facts?")) for x in text.splitlines()), f"a forged line, {words}: {text!r}")
        need("\x1b[2J" not in text and ("\x1b" not in text or "always" in str(words)), f"{words}: {text!r}")


def check_colors(case):
    lost_trace(case)
    need("\x1b" not in case.analyze().out, "colour in a file")
    need("\x1b[" in case.analyze("ctp.data", "--color=always").out, "--color=always")
    done = case.run(case.analyze_tool, "--color=auto", "ctp.data", env={"NO_COLOR": "1"})
    need("\x1b" not in done.out, "NO_COLOR")


def check_baseline(case):
    lost_trace(case, "n=3")
    done = case.analyze("ctp.data", "--format=json", "-o", "old.json")
    done = case.analyze("ctp.data", "--baseline=old.json")
    equal(done.status, 0, f"a finding that the baseline knows ({done})")


def check_lines(case):
    case.ctp("-o", "x.jsonl", case.target("counts"), "basic")
    whole = case.analyze("x.jsonl")
    equal(whole.status, 0, f"a finished run: {whole}")
    with open(case.dir / "x.jsonl") as stdin:
        equal(case.run(case.analyze_tool, "-", stdin=stdin).status, whole.status, "from standard input")
    text = (case.dir / "x.jsonl").read_text()
    lines = text.splitlines(keepends=True)
    (case.dir / "cut.jsonl").write_text("".join(lines[:-1]) + lines[-1][:40])
    done = case.analyze("cut.jsonl")
    need(done.status in (0, 3), f"a cut-off last line ({done})")
    need(done.err != "" or "cut" in done.out, f"drops the line without a word ({done})")
    (case.dir / "junk.jsonl").write_text("".join(lines[:5]) + "this is no line\n" + "".join(lines[5:]))
    equal(case.analyze("junk.jsonl").status, 2, "a line that is none")
    for key, value in (("probe_id", 1 << 53), ("tid", -1), ("addr", "0x12345678901234567"), ("addr", "0xg"), ("addr", "")):
        (case.dir / "wrong.jsonl").write_text("".join(lines) + json.dumps(json.loads(lines[0]) | {key: value}) + "\n")
        equal(case.analyze("wrong.jsonl").status, 2, f"{key}: {value}")
    (case.dir / "part.jsonl").write_text("".join(lines[: len(lines) // 2]))
    equal(case.analyze("part.jsonl").status, 3, "coroutines still suspended")
    _, report = case.report("part.jsonl")
    equal(report["findings"], [], "findings")
    (case.dir / "empty.jsonl").write_text("")
    equal(case.analyze("empty.jsonl").status, 0, "without a switch")


def check_convert(case):
    clean_trace(case)
    done = case.analyze("ctp.data", "--format=jsonl")
    need(done.status == 0 and len(done.out.splitlines()) == 4040, f"--format=jsonl: {done}")
    (case.dir / "x.jsonl").write_text(done.out)
    done = case.analyze("x.jsonl", "--format=jsonl")
    need(done.status == 2 and done.out == "" and "already" in done.err, f"lines of lines: {done}")


def check_together(case):
    """Options that do not go together are refused in one line; those about findings are named where there are none."""
    clean_trace(case)
    refused = (("--weight=count",), ("--all-time",), ("--weight=running", "--format=html", "-o", "x"), ("--group-by=name", "--format=sarif"),
               ("--group-by=creator", "--format=folded"), ("--full", "--format=markdown"), ("--expand=x", "--format=json"),
               ("--expand=x", "-o", "y"), ("--diff", "ctp.data", "--group-by=name"), ("--diff", "ctp.data", "--full"),
               ("--diff", "ctp.data", "--weight=count"))
    for words in refused:
        done = case.analyze("ctp.data", *words)
        need(done.status == 2 and done.out == "" and done.err.count("\n") == 1, f"{words}: {done}")
        option = words[2] if words[0] == "--diff" else words[0]
        need(option.split("=")[0] in done.err and re.search(r"leave |choose ", done.err), f"the way out: {done.err}")
        need(not (case.dir / "x").exists() and not (case.dir / "y").exists(), f"{words} wrote something")
    for words in (("--full",), ("--full", "--format=json"), ("--group-by=entry", "--format=json"), ("--weight=count", "--format=folded"),
                  ("--group-by=name", "--format=speedscope", "--all-time"), ("--group-by=site", "--format=html", "-o", "x")):
        done = case.analyze("ctp.data", *words)
        equal((done.status, done.err), (0, ""), f"{words}")
    (case.dir / "old.json").write_text(case.analyze("ctp.data", "--format=json").out)
    (case.dir / "none").write_text("")
    for words in (("--lost-wakeup",), ("--rule=CTP001",), ("--min-verdict=proven",), ("--baseline=old.json",),
                  ("--suppress=none",)):
        done = case.analyze("ctp.data", "--format=folded", "--all-time", *words)
        need(done.status == 0 and done.out != "", f"{words}: {done}")
        need(done.err.count("\n") == 1 and words[0].split("=")[0] in done.err and "folded" in done.err, done.err)
    for words in (("--list-rules",), ("--explain", "CTP001")):
        done = case.analyze("more", *words)
        need(done.status == 2 and done.out == "" and "'more'" in done.err, f"{words}: {done}")
    done = case.analyze("ctp.data", "--expand=ctp.data")
    need(done.status == 2 and "ctp.data exists; give" in done.err, f"{done}")


def check_full_disk(case):
    """Every format says that it is full."""
    clean_trace(case)
    for kind in ("text", "json", "sarif", "markdown", "html", "jsonl", "folded", "speedscope", "pprof", "perfetto", "chrome"):
        done = case.analyze("ctp.data", f"--format={kind}", "-o", "/dev/full")
        need(done.status == 2 and "cannot write /dev/full: No space left on device" in done.err, f"{kind}: {done}")
    done = case.analyze("ctp.data", "--diff=ctp.data", "--format=json", "-o", "/dev/full")
    need(done.status == 2 and "No space left on device" in done.err, f"{done}")


def check_progress(case):
    """A terminal on stderr is told how far reading has got, and shows nothing of it at the end; the report stays as it is."""
    case.ctp("-o", "x.jsonl", case.target("counts"), "basic")
    line = (case.dir / "x.jsonl").read_text().splitlines(keepends=True)[-1].encode()
    terminal, slave = pty.openpty()
    with open(case.dir / "report", "wb") as out:
        reader = subprocess.Popen([case.analyze_tool, "-"], stdin=subprocess.PIPE, stdout=out, stderr=slave, cwd=case.dir,
                                  env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    fed, shown = 0, b""

    def feed():
        nonlocal fed, shown
        reader.stdin.write(line * 1024)
        reader.stdin.flush()
        fed += 1024
        while select.select([terminal], [], [], 0)[0]:
            shown += os.read(terminal, 4096)
        return b"reading" in shown
    try:
        until(feed, "a bar on the terminal")
        reader.stdin.close()
        status = reader.wait()
        while select.select([terminal], [], [], 0)[0]:
            shown += os.read(terminal, 4096)
    except OSError as error:  # the other end is closed
        equal(error.errno, errno.EIO, "the terminal")
    finally:
        reader.kill()
        reader.wait()
        os.close(terminal)
    need(shown.startswith(b"\rreading ") and shown.endswith(b"\r\x1b[K"), f"what the terminal got: {shown}")
    (case.dir / "same.jsonl").write_bytes(line * fed)
    done = case.analyze("same.jsonl")
    equal((status, (case.dir / "report").read_text()), (done.status, done.out), "the report without a terminal")
    equal(done.err, "", "stderr without a terminal")


def streams(case):
    return sorted((case.dir / "ctp.data").glob("t*"))


def check_cut_stream(case):
    """A stream cut anywhere reads up to its last whole packet; babeltrace2 reads what is left after --repair or not at all."""
    case.ctp(case.target("counts"), "basic", "20000")
    stream = streams(case)[0]
    whole = stream.read_bytes()
    need(len(whole) > 200000, f"only {len(whole)} bytes")
    chance = random.Random(1)
    for at in [0, 1, 63, 64, 65, 100, len(whole) - 1] + [chance.randrange(len(whole)) for _ in range(8)]:
        stream.write_bytes(whole[:at])
        done = case.analyze()
        need(done.status in (0, 2, 3), f"cut at {at}: {done}")
        need(done.err + done.out != "", f"cut at {at}: not a word")


def check_damaged_stream(case):
    """What is damaged costs itself alone: zeros between packets, a header, a packet twice, one that is gone. All readers agree."""
    case.ctp("--overflow=block", case.target("counts"), "basic", "20000")
    stream = max(streams(case), key=lambda p: p.stat().st_size)
    whole, at = stream.read_bytes(), [0]
    while at[-1] < len(whole):
        at.append(at[-1] + struct.unpack_from("<Q", whole, at[-1] + 32)[0] // 8)
    need(len(at) > 4, f"packets at {at}")
    second, third, fourth = at[1:4]
    size = third - second

    def folded():
        done = case.analyze("ctp.data", "--format=folded", "--weight=count")
        return sum(int(line.rsplit(" ", 1)[1]) for line in done.out.splitlines() if not line.startswith("[lost]"))
    switches = folded()
    held = (size - 96) // 16
    for data, said, lost in ((whole[:third] + bytes(4096) + whole[third:], f"at byte {third}: 4096 bytes passed over", 0),
                             (whole[:second] + bytes(96) + whole[second + 96:], f"at byte {second}: 1 packet lost, {size} bytes", held),
                             (whole[:third] + whole[second:], f"at byte {third}: 1 packet that had been there before left out", 0),
                             (whole[:second] + whole[third:], f"at byte {second}: 1 packet lost;", held),
                             (whole[:second] + whole[second + 48:], f"at byte {second}: 1 packet lost,", held)):
        stream.write_bytes(data)
        done = case.analyze("ctp.data", "--repair")
        need(done.status in (0, 3) and done.err.count("\n") == 1 and said in done.err, f"{said}: {done}")
        equal(stream.read_bytes(), data, "--repair cuts only an end")
        need(said in " ".join(done.out.split()), f"in the report: {done.out}")
        need(switches - lost <= folded() <= switches - lost // 2, f"{said}: {folded()} of {switches} switches, {lost} lost")
        lines = case.analyze("ctp.data", "--format=jsonl").out.splitlines()
        equal(len(lines), 2 * folded(), f"lines: {said}")
    stream.write_bytes(whole[:fourth] + bytes(100))
    need("cut off" in case.analyze("ctp.data", "--repair").err and stream.read_bytes() == whole[:fourth], "an end is cut")


def check_hostile(case):
    """Any byte of any file turned round: an answer or an error, never a crash or a hang."""
    lost_trace(case, "n=3")
    base = case.dir / "ctp.data"
    chance = random.Random(2)
    files = sorted(p for p in base.rglob("*") if p.is_file() and p.stat().st_size)
    for path in files:
        whole = path.read_bytes()
        for _ in range(3):  # many more: fuzz-trace
            broken = bytearray(whole)
            at = chance.randrange(min(len(broken), 4096))
            broken[at:at + 8] = struct.pack("<Q", chance.choice([0, 2**64 - 1, 2**63, 2**31, chance.getrandbits(64)]))
            path.write_bytes(broken)
            done = case.analyze("ctp.data", "--format=json")
            need(done.status in (0, 1, 2, 3), f"{path.name} at {at}: {done}")
        path.write_bytes(whole)
    for path in files:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        done = case.analyze()
        need(done.status in (0, 1, 2, 3), f"{path.name} halved: {done}")
        path.unlink()
        done = case.analyze()
        need(done.status in (0, 1, 2, 3), f"{path.name} gone: {done}")
        path.write_bytes(whole)
    equal(case.analyze().status, 1, "all of it back in place")


def check_no_last_tables(case):
    """Without its last tables a trace decides nothing."""
    lost_trace(case)
    manifest = case.dir / "ctp.data/ctp/trace.json"
    manifest.write_text(manifest.read_text().replace('"complete":true', '"complete":false', 1))
    for image in (case.dir / "ctp.data/ctp").glob("image*"):
        shutil.rmtree(image)
    done = case.analyze()
    equal(done.status, 3, f"{done}")


def check_stripped(case):
    """No symbols: module and offset stand for the function, and the verdict stays."""
    stripped = case.dir / "lost"
    case.run("strip", "-o", stripped, case.target("lost"))
    case.found(stripped, "n=2", count=2)
    status, report = case.report()
    equal([(f["verdict"], f["count"]) for f in report["findings"]], [("proven", 2)], "findings")
    frame = report["findings"][0]["waiter_stack"][1]
    need(frame["module"].endswith("/lost") and frame["file"] is None, f"{frame}")


def check_moved(case):
    """Symbols come from --symfs when the program has moved."""
    shutil.copy(case.target("lost"), case.dir / "lost")
    case.found(case.dir / "lost")
    there = case.dir / "symfs" / str(case.dir / "lost").lstrip("/")
    there.parent.mkdir(parents=True)
    os.rename(case.dir / "lost", there)
    _, report = case.report("ctp.data", f"--symfs={case.dir / 'symfs'}")
    symbols = [f["symbol"] for f in report["findings"][0]["waiter_stack"]]
    need("waiter" in symbols, f"{symbols}")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
