#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attaches and detaches, again and again: attaches.py [--build=DIR] [--rounds=N] [--threads=N] [--seed=S] [-v]

One program, tests/targets/attach_busy.c, whose threads switch, wait, sleep and are signalled as fast as they can, and count
what an interruption would show them. Each round attaches with options that the seed chooses, for some time, and ends that in
one of the ways there are: --timeout, SIGINT, SIGTERM, ctp-ctl detach, or SIGKILL to ctp-run. Then the program must be as it
was: its code byte for byte, the words by which its objects call each other, descriptors, threads, the signals that each
thread blocks, catches and ignores; and it must go on, with nothing gone wrong in it. From one round to the next neither
mappings nor memory may grow.

Prints what failed, with the round, and last `N rounds, N failed`. SIGINT and SIGTERM end it after the present round.
"""
import argparse
import functools
import hashlib
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import harness
from harness import Failed, need

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOUND = 300  # seconds for anything that ought to happen
SETTLED = 10  # rounds after which nothing grows any more
MORE_MAPS, MORE_KB = 4, 16 << 10  # as much as threads' own allocations may differ
KINDS = ([], ["--overflow=block"], ["--flight"], ["--no-patch"], ["--compress"])
WENT = re.compile(r"^went:(.*)$", re.M)
until = functools.partial(harness.until, bound=BOUND, every=0.002)


def mappings(pid):
    """(from, to, rights, path) of each."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            fields = line.split(None, 5)
            lo, hi = (int(x, 16) for x in fields[0].split("-"))
            yield lo, hi, fields[1], fields[5].strip() if len(fields) > 5 else ""


def status(pid, what):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return int(re.search(rf"^{what}:\s+(\d+)", lines.read(), re.M)[1])


class Program:
    def __init__(self, build, place, threads):
        self.place = place
        read, self.to = os.pipe()
        with open(place / "program", "wb") as out:
            self.popen = subprocess.Popen([str(build / "tests/targets/t-attach-busy"), str(threads)], cwd=place, stdin=read, stdout=out,
                                          start_new_session=True)
        os.close(read)
        self.pid = self.popen.pid
        self.asked = 0
        until(lambda: "ready" in self.out(), "the program")

    def out(self):
        return (self.place / "program").read_text()

    def goes_on(self):
        """Each of its threads has had its turn, and none has seen anything."""
        self.asked += 1
        os.write(self.to, b"g")
        until(lambda: len(WENT.findall(self.out())) == self.asked or self.popen.poll() is not None, "a turn of each thread")
        need(self.popen.poll() is None, f"the program has ended with {self.popen.returncode}")
        said = WENT.findall(self.out())[-1]
        need(not re.search(r"\b[1-9]", said), f"the program has seen{said}")

    def state(self):
        """What must be the same afterwards. The loader's own code keeps what lies behind its first byte (patch/loaded.c)."""
        code, into = {}, 0
        all_ = list(mappings(self.pid))
        own = [(lo, hi) for lo, hi, _, path in all_ if "libctp.so" in path]
        with open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
            for lo, hi, rights, path in all_:
                if not path.startswith("/") or "memfd:" in path or "libctp.so" in path or "ld-linux" in path or rights[0] != "r":
                    continue
                memory.seek(lo)
                blob = memory.read(hi - lo)
                if "x" in rights:  # a mapping of which a page was written stays divided
                    code.setdefault(path, hashlib.sha256()).update(blob)
                else:
                    into += sum(any(a <= word < b for a, b in own) for word, in struct.iter_unpack("<Q", blob[:len(blob) & ~7]))
        tasks = sorted(os.listdir(f"/proc/{self.pid}/task"))
        signals = []
        for task in tasks:
            text = pathlib.Path(f"/proc/{self.pid}/task/{task}/status").read_text()
            signals.append(re.findall(r"^(?:SigBlk|SigIgn|SigCgt|TracerPid):.*$", text, re.M))
        descriptors = {fd: os.readlink(f"/proc/{self.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{self.pid}/fd")}
        return {"code": {path: digest.hexdigest() for path, digest in code.items()}, "words that lead to libctp.so": into, "threads": tasks, "signals": signals, "descriptors": descriptors}

    def steady(self):
        """What is seen three times in a row, with turns of all threads between: signals that the C library blocks for an instant are not."""
        seen = []
        while len(seen) < 3:
            now = self.state()
            seen = [*seen, now] if now in seen else [now]
            self.goes_on()
        return now

    def sizes(self):
        return {"maps": sum(1 for _ in mappings(self.pid)), "KB of address space": status(self.pid, "VmSize"),
                "KB of its own": status(self.pid, "RssAnon")}

    def end(self):
        os.write(self.to, b"q")
        os.close(self.to)
        until(lambda: self.popen.poll() is not None, "the program's end")
        need(self.popen.returncode == 0, f"the program's status is {self.popen.returncode}")


class Plan:
    """What a round is: all of it follows from the seed and the round's number."""

    def __init__(self, seed, number):
        r = random.Random(f"{seed}/{number}")
        self.how = r.choice(["timeout", "timeout", "SIGINT", "SIGINT", "SIGTERM", "detach", "SIGKILL"])
        self.seconds = r.choice([0.01, 0.02, 0.05, 0.2])
        self.options = KINDS[number] if number < len(KINDS) else r.choice(KINDS)  # first one of each, which differ in size
        self.lines = not self.options and r.random() < 0.1

    def __str__(self):
        return f"{' '.join(self.options)}{' to lines' if self.lines else ''} for {self.seconds} s, ended by {self.how}"


class Round:
    def __init__(self, build, place, program, plan):
        self.build, self.place, self.program, self.plan = build, place, program, plan
        self.patched = False

    def start(self):
        p = self.plan
        words = [self.build / "src/engine/ctp-run", "-v", "-o", "t.jsonl" if p.lines else "t", "-p", self.program.pid, *p.options]
        if p.how == "timeout":
            words.append(f"--timeout={p.seconds}")
        with open(self.place / "err", "wb") as err:
            self.popen = subprocess.Popen([str(w) for w in words], cwd=self.place, stdin=subprocess.DEVNULL, stdout=err, stderr=err)

    def err(self):
        return (self.place / "err").read_text()

    def attached(self):
        until(lambda: "attached to" in self.err() or self.popen.poll() is not None, "the attach")

    def stop(self):
        if self.plan.how == "timeout":
            return
        time.sleep(self.plan.seconds)
        if self.plan.how == "detach":
            done = subprocess.run([str(self.build / "src/ctl/ctp-ctl"), str(self.program.pid), "detach"], capture_output=True, text=True,
                                  timeout=BOUND)
            need(done.returncode == 0, f"ctp-ctl ended with {done.returncode}: {done.stderr}")
        else:
            self.popen.send_signal(getattr(signal, self.plan.how))

    def check_end(self):
        until(lambda: self.popen.poll() is not None, "ctp-run's end")
        want = -signal.SIGKILL if self.plan.how == "SIGKILL" else 0
        need(self.popen.returncode == want, f"ctp-run's status is {self.popen.returncode}: {self.err()[-500:]}")

    def differs(self, was):
        now = self.program.state()
        return {what: (now[what], value) for what, value in was.items() if now[what] != value}

    def run(self, was):
        self.start()
        self.attached()
        if self.plan.how != "timeout":
            self.patched = self.program.state()["code"] != was["code"]
            need(not self.patched or "--no-patch" not in self.plan.options, "patched in spite of --no-patch")
        self.stop()
        self.check_end()
        wrong, end = self.differs(was), time.monotonic() + harness.patience(BOUND)
        # a keeper puts things back; the C library blocks signals for an instant
        while wrong and (self.plan.how == "SIGKILL" or set(wrong) == {"signals"}) and time.monotonic() < end:
            time.sleep(0.01)
            wrong = self.differs(was)
        for what, (now, value) in wrong.items():
            raise Failed(f"{what}: now {now!r:.1000}, before {value!r:.1000}")
        self.program.goes_on()


def clean(place):
    for name in place.glob("t*"):
        shutil.rmtree(name) if name.is_dir() else name.unlink()


class Sizes:
    """Nothing grows, once there has been one of each kind."""

    def __init__(self):
        self.most = {}

    def check(self, number, now):
        for what, value in now.items():
            room = MORE_MAPS if what == "maps" else MORE_KB
            if number < SETTLED:
                self.most[what] = max(value, self.most.get(what, 0))
            else:
                need(value <= self.most[what] + room, f"{what}: now {value}, {self.most[what]} in the first {SETTLED} rounds")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--seed", default=None)
    parser.add_argument("-v", action="store_true", dest="verbose")
    args = parser.parse_args()
    seed = args.seed or str(random.randrange(1 << 32))
    over = []
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: over.append(1))
    place = pathlib.Path(tempfile.mkdtemp(prefix="ctp-attaches-"))
    program = Program(pathlib.Path(args.build).resolve(), place, args.threads)
    done = failed = patched = 0
    try:
        sizes, was = Sizes(), program.steady()
        for number in range(args.rounds):
            plan = Plan(seed, number)
            r = Round(pathlib.Path(args.build).resolve(), place, program, plan)
            began = time.monotonic()
            try:
                r.run(was)
                sizes.check(number, program.sizes())
            except (Failed, OSError, subprocess.TimeoutExpired) as wrong:
                failed += 1
                print(f"FAIL round {number} of seed {seed} ({plan}): {wrong}", flush=True)
                if program.popen.poll() is not None:
                    break
            done += 1
            patched += r.patched
            if args.verbose:
                print(f"{number}: {plan}: {time.monotonic() - began:.1f} s, patched {r.patched}, {program.sizes()}", flush=True)
            clean(place)
            if over:
                break
        if program.popen.poll() is None:
            program.end()
    except Failed as wrong:
        failed += 1
        print(f"FAIL at the end: {wrong}")
    finally:
        program.popen.kill()
        program.popen.wait()
        shutil.rmtree(place, ignore_errors=True)
    print(f"{done} rounds, {failed} failed (seed {seed}; {args.threads} threads; seen to be patched in {patched} rounds)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
