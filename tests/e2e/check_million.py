# SPDX-License-Identifier: MIT
"""A great many coroutines: what they cost, and that they are listed and judged.

COROUTINES in the environment says how many (100,000; 1,000,000 needs 6 GB)."""
import contextlib
import json
import os
import pathlib
import resource
import signal
import time

from harness import child_of, equal, need, Skip, tool, until

N = int(os.environ.get("COROUTINES", "100000"))
STACK = "16384"
EACH = 1229  # bytes of ours for each, 1.2 KiB


def status(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"{key} of {pid}")


def start(case, *words, options=()):
    process = case.ctp_start("-q", *options, case.target("million"), *words)
    process.wait_for("ready")
    return process, child_of(process.pid, "t-million")


def end(process):
    process.signal(signal.SIGTERM)
    equal(process.done().status, -signal.SIGTERM, "status")


def counted(case, n):
    code, report = case.report()
    equal(report["trace"]["coroutines"]["suspended"], n, "suspended")
    equal([f for f in report["facts"] if f["rule"] == "CTP030" and "station" in f["message"]], [], "stations")
    return code, report


def check_suspended(case):
    """All are in the tables, and in both listings; the engine lets go of what it looked at."""
    process, program = start(case, "plain", N, STACK)
    fixed = 8 << 20  # a thread's ring, and what is there once
    need(status(program, "RssShmem") < N * EACH + fixed, f"{status(program, 'RssShmem')} bytes of ours for {N}")
    until(lambda: status(process.pid, "VmRSS") < 64 << 20, "a small engine")
    listing = json.loads(case.run(case.build / "src/ps/ctp-ps", "--json", program).out)
    equal(sum(g["count"] for g in listing["groups"]), N, "listed")
    equal(len({c["id"] for g in listing["groups"] for c in g["coroutines"]}), N, "ids")
    end(process)
    code, report = counted(case, N)
    equal((code, report["findings"]), (0, []), "findings")


def check_all_stations(case):
    """As many as -n says, and as many stacks of threads besides as there is room for; one more than all of these is said."""
    for more in (0, 4096):
        process, _ = start(case, "plain", 3000 + more, STACK, options=("-n", "3000"))
        end(process)
        _, report = case.report()
        said = [f for f in report["facts"] if "no station was left" in f["message"]]
        equal(len(said), more != 0, f"{3000 + more} in 3000: {report['facts']}")


def check_idle(case):
    """They wait on descriptors that are open: healthy, each of them."""
    process, _ = start(case, "epoll", 10000, STACK, 10000) if files() > 10100 else start(case, "epoll", 900, STACK, 900)
    end(process)
    code, report = case.report()
    equal((code, report["findings"]), (0, []), "findings")
    equal(report["trace"]["healthy_waiters"], report["trace"]["coroutines"]["suspended"], "healthy")


def files():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def check_many_lost(case):
    """Ten thousand lost wakeups among as many rows: all are told, and SIGTERM goes on to the program."""
    if files() < 18000:
        raise Skip(f"only {files()} descriptors are allowed")
    process, _ = start(case, "lost", 17000, STACK, 17000, 10000)
    end(process)
    code, report = case.report()
    need(code in (1, 3), f"status {code}")  # 3: a machine so busy that there was no time to look
    equal(sum(f["count"] for f in report["findings"] if f["rule"] == "CTP001"), 10000, "CTP001")
    equal({f["rule"] for f in report["findings"]}, {"CTP001"}, "rules")


def peak(done):
    equal(done.status, 0, f"{done}")
    return int(next(x for x in done.out.splitlines() if x.startswith("peak ")).split()[1])


def engine_peak(process):
    """How much ctp-run had resident at most, in bytes, as long as it lives."""
    most = 0
    while process.popen.poll() is None:
        with contextlib.suppress(AssertionError, OSError): # a zombie has none
            most = status(process.pid, "VmHWM")
        time.sleep(0.02)
    return most


def check_one_after_the_other(case):
    """Ten times as many that are short-lived need no more memory, neither in the program nor in ctp-run, nor disk."""
    sizes, engine = [], []
    for n in (N, 10 * N):
        process = case.ctp_start("-q", "--max-size=1M", case.target("million"), "short", n, STACK)
        engine.append(engine_peak(process))
        done = process.done()
        disk = sum(f.stat().st_size for f in (case.dir / "ctp.data").rglob("*") if f.is_file())
        sizes.append((peak(done), disk))
        _, report = case.report()
        equal(report["trace"]["coroutines"]["finished"], n, "finished")
    need(sizes[1][0] < sizes[0][0] + 10240, f"KiB of memory: {sizes}")  # the queue of dead stations, all the way round
    need(sizes[1][1] < sizes[0][1] + (1 << 20), f"bytes on disk: {sizes}")
    need(0 < engine[1] < engine[0] + (10 << 20), f"bytes of ctp-run: {engine}")


def check_waves(case):
    """All are made, all end, three times: stations are used again."""
    done = case.ctp("-q", "-n", N // 10 + 5000, case.target("million"), "waves", N // 10, STACK, 3)
    peak(done)
    _, report = case.report()
    equal(report["trace"]["coroutines"]["finished"], 3 * (N // 10), "finished")
    equal([f for f in report["facts"] if f["rule"] == "CTP030" and "station" in f["message"]], [], "stations")


def calls(case, switches):
    """System calls of the program, by name."""
    log = case.dir / f"calls.{switches}"
    done = case.run(tool("strace"), "-f", "-o", log, case.run_tool, "-q", case.target("million"), "switch", 100, STACK, switches)
    if "ptrace" in done.err.lower() and done.status:
        raise Skip("strace may not be used here")
    peak(done)
    lines = [line.split(None, 1) for line in log.read_text(errors="replace").splitlines()]
    program = next(pid for pid, what in lines if what.startswith("execve(") and "t-million" in what.split(",")[0])
    found = {}
    for pid, what in lines:
        name = what.split("(")[0]
        if pid == program and name.isidentifier():
            found[name] = found.get(name, 0) + 1
    return found


def check_no_calls(case):
    """A switch makes no system call; a ring that is half full wakes the engine, each half once."""
    own = 2 * 40000  # swapcontext's own: the signal mask
    few, many = calls(case, 1000), calls(case, 41000)
    more = {name: many.get(name, 0) - few.get(name, 0) for name in set(few) | set(many)}
    equal(more.pop("rt_sigprocmask"), own, "the program's own")
    wakes = more.pop("futex", 0)
    need(wakes <= own // 65536 + 1, f"{wakes} wakes")
    equal({k: v for k, v in more.items() if v > 5}, {}, "others")  # the last look is waited for in steps


CHECKS = [
    ("suspended", check_suspended),
    ("all_stations", check_all_stations),
    ("idle", check_idle),
    ("many_lost", check_many_lost),
    ("one_after_the_other", check_one_after_the_other),
    ("waves", check_waves),
    ("no_calls", check_no_calls),
]
