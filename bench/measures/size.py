# SPDX-License-Identifier: MIT
"""Bytes of a switch in the trace, and how fast traces are read: by ctp-analyze, and by babeltrace2."""
import peers
from figures import Missing, Row, missing, short, told
from stand import closing, tool


def history_bytes(trace):
    """The streams alone: what lies in ctp/ does not grow with the switches."""
    return sum(p.stat().st_size for p in trace.iterdir() if p.is_file() and p.name != "metadata")


def recorded(stand):
    """A trace that several measures read: (directory, switches)."""
    if "recorded" not in stand.kept:
        place = stand.dir / "recorded"
        done = stand.run(*stand.ctp("--overflow=block", max_size="4G", trace=place),
                         stand.switcher("ucontext"), 100, stand.size(10000000, 300000))
        stand.kept["recorded"] = place, closing(done)[0]
    return stand.kept["recorded"]


def recorded_lines(stand):
    """The same as JSON lines: (file, lines, CPU seconds of the one who wrote them)."""
    if "lines" not in stand.kept:
        place = stand.dir / "recorded.jsonl"
        done = stand.run(*stand.ctp("--overflow=block", max_size="4G", trace=place),
                         stand.switcher("ucontext"), 100, stand.size(2000000, 100000))
        stand.kept["lines"] = place, 2 * closing(done)[0], done.own
    return stand.kept["lines"]


def lttng_bytes(stand):
    switches = stand.size(1000000, 100000)
    try:
        program = stand.switcher("ucontext", "-lttng", peers.lttng_words())
        with peers.Lttng(stand) as session:
            stand.run(program, 100, switches)
            events = switches + 200
            return f"LTTng-UST {session.bytes() / (events - session.stop(events)):.1f}"
    except Missing as why:
        return f"LTTng-UST: not measured: {why}"


def trace_size(stand):
    """Bytes of a switch"""
    place, switches = recorded(stand)
    each = history_bytes(place) / switches
    rows = [Row(f"bytes a switch, of {switches:,}", f"{each:.2f}", "", lttng_bytes(stand), "at most 16", round(each, 1), 16)]
    goal = "at most 4"
    if stand.ctp_has("--compress"):
        trace = stand.dir / "trace"
        done = stand.run(*stand.ctp("--overflow=block", "--compress", max_size="4G"),
                         stand.switcher("ucontext"), 100, stand.size(10000000, 300000))
        packed = history_bytes(trace) / closing(done)[0]
        rows.append(Row("bytes a switch with --compress", f"{packed:.2f}", "", "", goal, round(packed, 1), 4))
        stand.drop_traces()
    else:
        rows.append(missing("bytes a switch with --compress", "this version has no --compress", goal))
    place, lines, _ = recorded_lines(stand)
    rows.append(Row("bytes a switch as JSON lines", f"{2 * place.stat().st_size / lines:.0f}", "", "two lines"))
    return rows


def rate_row(stand, what, units, argv, limit=None, good=(0,), others=""):
    """Units a second of CPU time that a reader takes."""
    goal = f"at least {short(limit)}/s" if limit else ""
    try:
        rates = [units / max(stand.run(*argv, good=good).cpu, 1e-3) for _ in range(stand.few)]
    except Missing as why:
        return missing(what, why, goal)
    return Row(what, f"{told(rates)}/s", "", others, goal, rates, limit, least=True)


def quiet(*words):
    """Whose output goes nowhere: it is large, and what a file costs is no matter here."""
    return ["sh", "-c", 'exec "$@" >/dev/null', "sh", *words]


def babeltrace(stand, place, switches, *words):
    what = f"babeltrace2, {'counting alone' if words else 'as text'}: switches"
    try:
        return rate_row(stand, what, switches, quiet(tool("babeltrace2"), place, *words))
    except Missing as why:
        return missing(what, why)


def reading(stand):
    """Reading a trace: per second of CPU time"""
    place, switches = recorded(stand)
    analyze = [stand.analyze_tool, "--exit-zero"]
    rows = [rate_row(stand, "ctp-analyze --lost-wakeup: switches", switches, [*analyze, "--lost-wakeup", place], 30e6),
            rate_row(stand, "ctp-analyze --all: switches", switches, [*analyze, "--all", place], 10e6),
            babeltrace(stand, place, switches),
            babeltrace(stand, place, switches, "-c", "sink.utils.counter", "-p", "step=+0"),
            rate_row(stand, "ctp-analyze --format=jsonl: lines written", 2 * switches,
                     quiet(*analyze, "--format=jsonl", place), 3e6)]
    lines_file, lines, writer_cpu = recorded_lines(stand)
    rate = lines / max(writer_cpu, 1e-3)
    rows.append(Row("ctp-run -o x.jsonl: lines written", f"{short(rate)}/s", goal="at least 3 M/s", value=rate, limit=3e6,
                    least=True))
    rows.append(rate_row(stand, "ctp-analyze x.jsonl: lines read", lines, [*analyze, lines_file], 0.4e6))
    return rows


MEASURES = [trace_size, reading]
