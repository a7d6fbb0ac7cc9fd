# SPDX-License-Identifier: MIT
"""Very many coroutines: a million alive at once, and a hundred million one after the other."""
import re
import time

from figures import Missing, Row, median, missing, paired, short, told
from measures.engine import end_idle, idle_program
from stand import child_of, region_bytes, status_bytes


def look(stand, n):
    """One pair of runs: times, memory, and the tools' times, by name."""
    bare, bare_seconds = idle_program(stand, n)
    bare_bytes = status_bytes(bare.pid, "RssAnon")
    end_idle(bare)
    ours, seconds = idle_program(stand, n, *stand.ctp_for(n))
    time.sleep(stand.size(2, 0.2))
    child = child_of(ours.pid)
    region, engine = region_bytes(ours.pid), status_bytes(ours.pid, "RssAnon")
    ours_bytes = status_bytes(child, "RssAnon")
    listed = stand.run(stand.ps_tool, child)
    if not re.search(rf"\b{n} coroutines", listed.out):
        raise Missing(f"ctp-ps does not list them: {listed.out.strip()[-200:]}")
    began = time.monotonic()
    end_idle(ours)
    end = time.monotonic() - began
    analyzed = stand.run(stand.analyze_tool, "--lost-wakeup", "--exit-zero", stand.trace)
    if f"{n} coroutines" not in analyzed.out:
        raise Missing(f"ctp-analyze does not list them: {analyzed.out.strip()[-200:]}")
    stand.drop_traces()
    each = (ours_bytes + region + engine - bare_bytes) / n
    return {"bare": bare_seconds, "ctp": seconds, "each": each, "region": region / n, "ps": listed.seconds,
            "end": end, "analyze": analyzed.seconds}


def live(stand):
    """Very many coroutines alive"""
    n = stand.size(1000000, 10000)
    head = f"{n:,} live coroutines"
    try:
        looks = [look(stand, n) for _ in range(stand.few)]
    except Missing as why:
        return [missing(f"{head}: {x}", why) for x in ("time to make and run them", "memory", "ctp-ps", "ctp-analyze")]
    column = lambda name: [x[name] for x in looks]
    added, ratios = paired(column("bare"), column("ctp"))
    return [
        Row(f"{head}: made, and run once", f"{told(column('ctp'), 's')}, x{median(ratios):.2f}", told(column("bare"), "s"),
            f"{told([a / n * 1e9 for a in added], 'ns', plus=True)} for each"),
        Row(f"{head}: memory of ours for each", told(column("each"), "bytes"), "",
            f"{short(median(column('region')))} of it shared", "at most 1,200 bytes", column("each"), 1200),
        Row(f"{head}: ctp-ps PID", told(column("ps"), "s"), "", "", "at most 5 s", column("ps"), 5),
        Row(f"{head}: the program's end, last look and all", told(column("end"), "s")),
        Row(f"{head}: ctp-analyze --lost-wakeup", told(column("analyze"), "s"), "", "", "at most 5 s", column("analyze"), 5)]


def short_lived(stand):
    """Very many coroutines, one after the other"""
    n = stand.size(100000000, 200000)
    what = f"{short(n)} coroutines, each over at once"
    try:
        program = stand.program("bench-short", source="short.c")
        bare = float(stand.run(program, n // 10).out.split()[-1])
        process = stand.start(*stand.ctp(max_size="64M"), program, n)
        child, seen = child_of(process.pid), []
        for tenth in (2, 9):
            process.wait_for(f"done {n // 10 * tenth}")
            seen.append(region_bytes(process.pid) + status_bytes(process.pid, "RssAnon") + status_bytes(child, "RssAnon"))
        took = float(process.done().out.split()[-1])
    except Missing as why:
        return [missing(f"{what}: memory", why, "constant")]
    except (OSError, TypeError):
        return [missing(f"{what}: memory", "it ended before it was looked at", "constant")]
    finally:
        stand.drop_traces()
    early, late = (x / 2**20 for x in seen)
    return [Row(f"{what}: time of one", f"{took:.0f} ns, x{took / bare:.2f}", f"{bare:.0f} ns"),
            Row(f"{what}: memory at nine tenths against two tenths", f"{late:.1f} MiB against {early:.1f} MiB", "",
                "of the program, the region and the engine", "constant", late - early, 1)]


MEASURES = [live, short_lived]
