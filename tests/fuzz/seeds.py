#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Inputs for the fuzz targets, out of the golden tests' synthetic traces: seeds.py MAKE_TRACE CTP_ANALYZE MAKE_CORE MODULE MODULE_EVENTS TO STAMP.

A trace is one input: its files one after the other, each headed by a mark (archive.h).
"""
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SPEC = HERE.parent.parent / "spec/trace.md"
SCENARIOS = ("lost", "healthy", "cut", "unfinished", "empty", "several", "ending", "history", "gap")
PLACES = re.findall(r'"([^" ]+)"', re.search(r"places\[\] = \{(.*?)\};", (HERE / "archive.c").read_text(), re.S).group(1))


TEXTS = ("7f0000001000-7f0000003000 r-xp 00002000 fd:01 1234    /lib/a b.so (deleted)\n", "Name:\tx\nSigCgt:\t00000001800004ec\n",
         "_ZZN12_GLOBAL__N_14mainERKSt6vectorIiSaIiEEENKUlvE_clEv", "auto std::f<int, g<char> >::h(int (*)(char), a<b<(1>2)>>) const",
         "boost::context::detail::fiber_entry<boost::context::detail::fiber_record<boost::context::fiber, x, main()::<lambda()> > >(t)",
         "(anonymous namespace)::f::operator()(int) const [clone .isra.0]", "/a/./b/../../c//d/", "x\033[2J\u009b1m\u202e\xff")


def with_files(files):
    return b"".join(b"#CTPFILE" + bytes([65 + PLACES.index(place)]) + b"\n" + data for place, data in files.items())


def archive(trace):
    return with_files({place: (trace / place).read_bytes() for place in PLACES if (trace / place).is_file()})


def spec_lines(section):
    """The examples of JSON lines in a section of spec/trace.md, with values where it has letters and choices."""
    text = re.search(rf"^## {re.escape(section)}[^\n]*\n(.*?)(?=^## |\Z)", SPEC.read_text(), re.S | re.M).group(1)
    lines = []
    for block in re.findall(r"^    (\{.*?)(?=\n    \{|\n\n)", text, re.S | re.M):
        line = re.sub(r"\s*\n\s*", "", block)
        line = re.sub(r'("[^"]*"|true|false|null)(\|("[^"]*"|true|false|null|\{\}))+', r"\1", line)
        lines.append(line.replace("0x...", "0x401136").replace(",...", "").replace("...", "").replace(":N", ":3").replace("[N", "[3"))
    return "".join(line + "\n" for line in lines).encode()


def with_engine_lines(data):
    """The same trace with all that the engine may write beside its tables."""
    for section in ("sets.jsonl", "slices.jsonl", "highwater.jsonl", "descriptors.jsonl"):
        lines = spec_lines("slices.jsonl" if section == "highwater.jsonl" else section)
        data += with_files({"ctp/image0/" + section: lines})
    return data


KINDS = (("signed", 4), ("unsigned", 1), ("float", 8), ("pointer", 8), ("text", 8), ("bytes", 16))
TASK = ("task_begin", (("task", "unsigned", 8), ("type", "text", 8))), ("task_enter", (("task", "unsigned", 8),)), \
    ("task_end", (("task", "unsigned", 8),)), ("region_begin", (("name", "text", 8),)), ("region_end", ())


def event_classes():
    """ctp/events.jsonl: one with a field of every kind, and those of tasks."""
    every = [(f"f{i}", kind, size) for i, (kind, size) in enumerate(KINDS)]
    rows = [("http", "request", every), *(("ctp", name, fields) for name, fields in TASK)]
    return "".join(json.dumps({"v": 1, "id": i, "provider": provider, "name": name, "file": "a.h", "line": i,
                               "fields": [{"name": f, "type": "int", "kind": kind, "size": size} for f, kind, size in fields]}) + "\n"
                   for i, (provider, name, fields) in enumerate(rows)).encode()


def event_packet(begin):
    """A packet of stream 2 (spec/trace.md) with an event of each class: a task that begins, goes on and ends."""
    task = struct.pack("<Q", 7)
    says = [struct.pack("<iBdQ", -3, 200, 0.5, 0x7F0000001000) + b"/x...\0" + struct.pack("<IH", 300, 3) + b"\1\2\xff",
            task + b"request\0", task, task, b"parse\0", b""]
    order = (1, 4, 0, 2, 5, 3)
    content = b"".join(struct.pack("<IQQ", i, begin + n, n) + says[i] for n, i in enumerate(order))
    bits = (96 + len(content)) * 8
    return struct.pack("<IIQQQQQIIQQQQII", 0xC1FC1FC1, 2, begin, begin + len(order), bits, bits, 0, 41, 0, 0, 0, 0, 0, 0, 0) + content


def main():
    make_trace, analyze, make_core, module, module_events, to, stamp = sys.argv[1:8]
    to = pathlib.Path(to)
    shutil.rmtree(to, ignore_errors=True)

    def put(target, name, data):
        (to / target).mkdir(parents=True, exist_ok=True)
        (to / target / name).write_bytes(data)
    with tempfile.TemporaryDirectory() as tmp:
        for name in SCENARIOS:
            trace = pathlib.Path(tmp) / name
            subprocess.run([make_trace, name, trace], check=True)
            put("trace", name, archive(trace))
            for stream in trace.glob("t*"):
                put("stream", f"{name}-{stream.name}", b"t" + stream.read_bytes())
            done = subprocess.run([analyze, "--format=jsonl", trace], capture_output=True)
            if done.returncode in (0, 1, 3) and done.stdout:
                put("lines", name, done.stdout)
            done = subprocess.run([analyze, "--format=json", trace], capture_output=True)
            put("filter", f"{name}.json", b"b" + done.stdout)
    lost = (to / "trace/lost").read_bytes()
    packets = event_packet(10**9) + event_packet(2 * 10**9)
    put("events", "every-kind", event_classes() + b"\0" + packets)
    put("trace", "events", lost + with_files({"ctp/events.jsonl": event_classes(), "e0.0": packets}))
    put("trace", "engine-lines", with_engine_lines(lost))
    for target in ("core", "core_ps"):
        put(target, "core", subprocess.run([make_core], check=True, capture_output=True).stdout)
    for target in ("elf", "pairs", "switch_signatures"):
        put(target, "module", pathlib.Path(module).read_bytes())
    records = (to / "stream/history-t0.0").read_bytes()[1 + 96:]
    put("elf_events", "module", pathlib.Path(module_events).read_bytes())
    put("pack", "records", b"\x03\0\x01\x09\0\x80\x01\0" + records)
    put("predict", "records", bytes(24) + records)
    put("filter", "suppress", b"s# known\nCTP001 people_wait_readable\n* x\nCTP002 *\n0123456789abcdef\n")
    put("options", "words", b"-f\n-o\npath\n--ring-size=64K\n--max-size=1G\n--timeout=1.5\n--flight=5s\n--events=http:*,!http:debug\n-E\nA=b\n-n\n100\n--\nprogram\n")
    put("settings", "words", b"--format=json\n--rule=CTP001,CTP002\n--min-verdict=likely\n--weight=count\n--group-by=name\ntrace\n")
    for i, text in enumerate(TEXTS):
        put("text", f"text{i}", text.encode())
    pathlib.Path(stamp).touch()


main()
