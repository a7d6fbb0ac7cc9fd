# SPDX-License-Identifier: MIT
"""What the other process costs, ctp-run: CPU time for each switch, and when nothing happens; its memory."""
import subprocess
import time

from figures import Missing, Row, missing, short, told
from stand import available_bytes, closing, exact_cpu_seconds, status_bytes

BYTES_EACH = 14000  # of memory for a coroutine, its stack, and ours: to see beforehand that there is enough


def idle_program(stand, n, *words):
    """A process under ctp-run whose n coroutines are all suspended, and have been made just now."""
    if available_bytes() < n * BYTES_EACH:
        raise Missing(f"it takes {n * BYTES_EACH >> 30} GiB of free memory")
    process = stand.start(*words, stand.program("bench-idle", source="idle.c"), n, stdin=subprocess.PIPE)
    return process, float(process.wait_for("ready ").split()[1])


def end_idle(process, good=(0,)):
    process.popen.stdin.close()
    return process.done(good)


def drain(stand):
    what, goal = "switches written a second of the engine's CPU time", "at least 20 M/s"
    switches = stand.size(20000000, 300000)
    program = [stand.switcher("ucontext"), 100, switches]
    rates = []
    for _ in range(stand.few):
        done = stand.run(*stand.ctp("--overflow=block"), *program)
        rates.append(closing(done)[0] / max(done.own, 0.01))
        stand.drop_traces()
    return Row(what, f"{told(rates)}/s", "", "while the other core switches at full speed", goal, rates, 20e6, least=True)


def busy_memory(stand):
    seconds = stand.size(3, 0.5)
    process = stand.start(*stand.ctp(max_size="64M"), stand.program("bench-spin-ucontext", source="spin.c"), 2, seconds)
    peak = 0
    while not process.over():
        try:
            peak = max(peak, status_bytes(process.pid, "VmRSS"))
        except TypeError:
            break  # it has ended just now
        time.sleep(0.02)
    process.done()
    stand.drop_traces()
    return Row("the engine's memory at full speed on two threads", f"{peak / 2**20:.1f} MiB", "", "", "under 64 MiB",
               peak / 2**20, 64)


def idle(stand, n):
    what = f"the engine with {n:,} idle coroutines"
    try:
        process, _ = idle_program(stand, n, *stand.ctp_for(n))
        time.sleep(stand.size(3, 0.3))
        seconds = stand.size(10, 1)
        began, before = time.monotonic(), exact_cpu_seconds(process.pid)
        time.sleep(seconds)
        share = 100 * (exact_cpu_seconds(process.pid) - before) / (time.monotonic() - began)
        whole = status_bytes(process.pid, "VmRSS") / 2**20
        own = status_bytes(process.pid, "RssAnon") / 2**20
        end_idle(process)
    except Missing as why:
        return [missing(f"{what}: CPU", why, "at most 0.1 % of a core"), missing(f"{what}: memory", why, "under 64 MiB")]
    finally:
        stand.drop_traces()
    return [Row(f"{what}: CPU", f"{share:.2f} % of a core", "", f"over {seconds} s", "at most 0.1 % of a core", share, 0.1),
            Row(f"{what}: memory", f"{whole:.1f} MiB", "", f"of its own {own:.1f} MiB, the rest is the program's as well",
                "under 64 MiB", whole, 64)]


def engine(stand):
    """The engine"""
    rows = [drain(stand), busy_memory(stand)]
    for n in stand.size((1, 100000, 1000000), (1, 5000)):
        rows += idle(stand, n)
    return rows


MEASURES = [engine]
