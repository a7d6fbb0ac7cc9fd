#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills at random: kills.py [--build=DIR] [--rounds=N] [--seed=S] [--only=ROUND] [-v]

Each round runs tests/targets/killed.c under ctp-run, or with libctp.so preloaded alone, and sends SIGKILL to the
program, to ctp-run, or to both, at an instant that the seed chooses: after the start, after the program says that it
runs, or after it says that it is done, plus some microseconds. Then it looks at what must hold whoever is killed:

- counts: between the switches that the program began and those that it finished, both counted by itself in a file;
- the trace: ctp-analyze ends as documented, before and after --repair;
- leftovers: none in TMPDIR, no process, and no name that keeps the next run from starting;
- the program, if it was not killed: its output, its signals and its exit status are those of a bare run.

Prints what failed, with the words to repeat it, and last `N rounds, N failed`.
"""
import argparse
import ctypes
import functools
import json
import mmap
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
BOUND = 120  # seconds for anything that ought to happen
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: the program's status is ours to collect when ctp-run is gone
PER_ROUND, CHILD_ROUNDS = 4 * 51 * 2, 5  # switches, as in killed.c
until = functools.partial(harness.until, bound=BOUND, every=0.001)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def children_of(pid):
    try:
        return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def engine_of(pid):
    """The engine of a program that was preloaded alone."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if len(words) > 1 and words[1].startswith(b"--serve=") and words[1].endswith(b",%d" % pid):
                return int(entry.name)
    return None


class Plan:
    """What a round is: all of it follows from the seed and the round's number."""

    def __init__(self, seed, number):
        r = random.Random(f"{seed}/{number}")
        self.random = r
        self.alone = r.random() < 0.15
        self.threads = r.choice([1, 1, 2, 2, 16])
        self.follow = not self.alone and r.random() < 0.3
        self.forks = r.choice([0, 2]) if not self.alone else 0
        self.lost = r.choice([0, 0, 2])
        self.rounds = r.choice([20, 200, 1000])
        self.lines = r.random() < 0.15
        self.options = []
        if self.follow:
            self.options += ["-f"]
        if not self.alone and not self.lines:
            self.options += r.choice([[], ["--flight"], ["--flight=256K"], ["--compress"]])
            self.options += ["--prove"] if self.lost else []
        if not self.alone:
            self.options += r.choice([[], ["--overflow=block"]])
        self.who = r.choice(["program", "engine", "engine", "both"])
        self.when = r.choice(["start", "run", "run", "exit"])
        self.delay = r.random() * {"start": 0.03, "run": 0.03, "exit": 0.01}[self.when]
        self.together = r.random() < 0.5  # "both": by one call for the group, or one after the other
        self.first = r.choice(["program", "engine"])

    def __str__(self):
        way = "alone" if self.alone else " ".join(["ctp-run", *self.options])
        return (f"{way}{' to lines' if self.lines else ''}: {self.threads} threads, {self.rounds} rounds, {self.forks} forks, {self.lost} lost; "
                f"kill {self.who} at {self.when} + {self.delay * 1e6:.0f} us")


class Round:
    def __init__(self, build, plan, place):
        self.build, self.plan, self.place = build, plan, place
        self.tmp = place / "tmp"
        self.tmp.mkdir()
        self.trace = place / ("t.jsonl" if plan.lines else "t")
        (place / "page").write_bytes(bytes(4096))
        with open(place / "page", "r+b") as f:
            self.page = mmap.mmap(f.fileno(), 4096)
        self.program_pid = self.engine_pid = None
        self.status = {}
        self.killed = set()
        self.run_tool = build / "src/engine/ctp-run"

    # ---- under way

    def phase(self):
        return struct.unpack_from("<I", self.page, 0)[0]

    def said_pid(self):
        return struct.unpack_from("<I", self.page, 4)[0]

    def counts(self):
        pairs = [struct.unpack_from("<QQ", self.page, 64 + 64 * i) for i in range(16)]
        return sum(p[0] for p in pairs), sum(p[1] for p in pairs)

    def start(self):
        p = self.plan
        target = [self.build / "tests/targets/t-killed", self.place / "page", p.threads, p.rounds, p.forks, p.lost]
        env = {k: v for k, v in os.environ.items() if not k.startswith("CTP_") and k not in ("LD_PRELOAD", "XDG_RUNTIME_DIR")}
        env["TMPDIR"] = str(self.tmp)
        words = target
        if p.alone:
            env.update(LD_PRELOAD=str(self.build / "src/preload/libctp.so"), CTP_OUTPUT=str(self.trace))
        else:
            words = [self.run_tool, "-o", self.trace, *p.options, *target]
        with open(self.place / "out", "wb") as out, open(self.place / "err", "wb") as err:
            self.popen = subprocess.Popen([str(w) for w in words], cwd=self.place, env=env, stdin=subprocess.DEVNULL,
                                          stdout=out, stderr=err, start_new_session=True)
        if p.alone:
            self.program_pid = self.popen.pid
        else:
            self.engine_pid = self.popen.pid

    def find(self):
        """Who is there by now."""
        if self.plan.alone:
            self.engine_pid = self.engine_pid or engine_of(self.program_pid)
        else:
            self.program_pid = self.program_pid or self.said_pid() or next(iter(children_of(self.engine_pid)), None)

    def over(self):
        self.reap(block=False)
        return self.popen.pid in self.status

    def kill_somebody(self):
        p = self.plan
        least = {"start": 0, "run": 1, "exit": 2}[p.when]
        until(lambda: self.phase() >= least or self.over(), f"phase {least}")
        self.find()
        end = time.monotonic() + p.delay
        while time.monotonic() < end:
            pass
        self.find()
        pids = {"program": self.program_pid, "engine": self.engine_pid}
        names = ["program", "engine"] if p.who == "both" else [p.who]
        if p.who == "both" and p.first == "engine":
            names.reverse()
        if p.who == "both" and p.together and not p.alone:
            os.killpg(self.popen.pid, signal.SIGKILL)
        for name in names:
            if pids[name]:
                if pids[name] not in self.status: # once it is reaped, its number may be another's
                    kill(pids[name])
                self.killed.add(name)
        if p.who == "both" and p.together and not p.alone:
            self.killed = {"program", "engine"}

    def reap(self, block):
        """Collects whoever has ended: ctp-run, and what it left to us."""
        while True:
            try:
                pid, status = os.waitpid(-1, (0 if block else os.WNOHANG) | 0x40000000)
            except ChildProcessError:
                return True
            if not pid:
                return False
            self.status[pid] = os.waitstatus_to_exitcode(status)

    def wait(self):
        """Until nobody of this round lives."""
        try:
            until(lambda: self.reap(block=False), "the end of all processes")
        except Failed as wrong:
            raise Failed(f"{wrong}: {self.left()}") from None
        self.popen.returncode = self.status.get(self.popen.pid)

    def left(self):
        found = []
        for pid in children_of(os.getpid()):
            try:
                tasks = [(t / "stat").read_text().rsplit(")", 1)[1].split()[0] + " " + (t / "wchan").read_text()
                         for t in pathlib.Path(f"/proc/{pid}/task").iterdir()]
                found.append(f"{pid} {pathlib.Path(f'/proc/{pid}/cmdline').read_bytes()[:200]} {tasks}")
            except OSError:
                pass
        return found

    def end(self):
        """Whatever went wrong, nothing stays."""
        for _ in range(100):
            for pid in children_of(os.getpid()):
                kill(pid)
            if self.reap(block=False):
                break
            time.sleep(0.05)
        self.page.close()

    # ---- what must hold

    def check_program(self):
        out, p = (self.place / "out").read_text(), self.plan
        if "program" in self.killed and not out:
            return
        if self.program_pid is None and not self.phase():
            need(out == "", f"output without a program: {out}")
            return
        if "engine" in self.killed and not self.phase() and self.status.get(self.program_pid) in (125, None):
            return # it had not been started
        want = f"switches {p.rounds // p.threads * p.threads * PER_ROUND}\n"
        want += f"signal {int(signal.SIGCHLD)}: {p.forks}\n" if p.forks else ""
        need(out == want, f"the program said {out!r}, bare {want!r}")
        # ctp-run has the program's status; without it, we have, unless it had it already
        status = self.status.get(self.program_pid, self.status.get(self.popen.pid) if "engine" not in self.killed else 7)
        need(status == 7 or "program" in self.killed, f"the program's status is {status}, bare 7 ({self.status})")

    def check_own_status(self):
        if self.plan.alone or "engine" in self.killed:
            return
        status = self.status[self.popen.pid]
        need(status == 7 or ("program" in self.killed and status == -signal.SIGKILL), f"ctp-run's status is {status}")
        err = (self.place / "err").read_text()
        found = re.search(r"(\d+) switches, \d+ coroutines.*, (\d+) lost", err)
        need(found, f"ctp-run said {err!r}")
        self.check_counts(int(found[1]), int(found[2]), "ctp-run's last line")

    def check_counts(self, switches, lost, what):
        begun, done = self.counts()
        children = self.plan.forks * CHILD_ROUNDS * PER_ROUND if self.plan.follow else 0
        need(switches <= begun + children, f"{what}: {switches} switches, the program began {begun}")
        if "engine" not in self.killed:
            need(switches + lost >= done, f"{what}: {switches} switches and {lost} lost, the program did {done}")
        if "engine" not in self.killed and "program" not in self.killed and not lost:
            need(switches == begun + children, f"{what}: {switches} switches, the program did {begun} + {children}")

    def analyze(self, *words):
        done = subprocess.run([str(self.build / "src/analyze/ctp-analyze"), *words, str(self.trace)], cwd=self.place,
                              capture_output=True, timeout=BOUND)
        need(done.returncode in (0, 1, 3), f"ctp-analyze {' '.join(words)} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
        return done.stdout, done.stderr.decode()

    def check_trace(self):
        whole = "engine" not in self.killed
        if not self.trace.exists():
            need(not whole, "there is no trace")
            return
        flight = any(o.startswith("--flight") for o in self.plan.options)
        before = json.loads(self.analyze("--format=json")[0])["trace"]
        if flight:
            need(before["switches"] <= self.counts()[0] + 10000, "more switches than there were")
        else:
            self.check_counts(before["switches"], before["lost"], "ctp-analyze")
        if self.trace.is_dir():
            self.analyze("--repair", "--format=json")
            after, err = self.analyze("--format=json")
            need("cut" not in err and "damage" not in err, f"after --repair: {err}")
            after = json.loads(after)["trace"]
            need(after["switches"] == before["switches"], f"{before['switches']} switches before --repair, {after['switches']} after")

    def check_leftovers(self):
        need(not list(self.tmp.iterdir()), f"in TMPDIR: {list(self.tmp.iterdir())}")
        mine = {"tmp", "page", "out", "err", self.trace.name}
        others = [n for n in os.listdir(self.place) if n not in mine and not re.fullmatch(re.escape(self.trace.name) + r"\.\d+", n)]
        if "engine" in self.killed:
            others = [n for n in others if not n.startswith(".ctp-new-")]
        need(not others, f"beside the trace: {others}")
        if "engine" in self.killed:
            done = subprocess.run([str(self.run_tool), "-q", "--no-preload", "-o", str(self.trace), "true"], cwd=self.place, capture_output=True,
                                  env=dict(os.environ, TMPDIR=str(self.tmp)), timeout=BOUND)
            need(done.returncode == 0, f"the next run ended with {done.returncode}: {done.stderr.decode()}")
            hidden = [n for n in os.listdir(self.place) if n.startswith(".")]
            need(not hidden and not list(self.tmp.iterdir()), f"after the next run: {hidden}, {list(self.tmp.iterdir())}")


def one(build, seed, number, keep):
    """None, or what went wrong."""
    plan = Plan(seed, number)
    place = pathlib.Path(tempfile.mkdtemp(prefix="ctp-kills-"))
    r = Round(build, plan, place)
    try:
        r.start()
        r.kill_somebody()
        r.wait()
        r.check_program()
        r.check_own_status()
        r.check_trace()
        r.check_leftovers()
    except (Failed, subprocess.TimeoutExpired) as wrong:
        return f"round {number} ({plan}): {wrong}" + (f"; see {place}" if keep else "")
    finally:
        r.end()
        if not keep:
            shutil.rmtree(place, ignore_errors=True)
    if keep:
        shutil.rmtree(place, ignore_errors=True)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", default=None)
    parser.add_argument("--only", type=int, help="this round alone, of that seed")
    parser.add_argument("--keep", action="store_true", help="keep the folders of rounds that fail")
    parser.add_argument("-v", action="store_true", dest="verbose")
    args = parser.parse_args()
    seed = args.seed or str(random.randrange(1 << 32))
    if ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0):
        sys.exit("kills.py: cannot become a subreaper")
    numbers = range(args.rounds) if args.only is None else [args.only]
    failed = 0
    for number in numbers:
        if args.verbose:
            print(f"{number}: {Plan(seed, number)}", flush=True)
        wrong = one(pathlib.Path(args.build).resolve(), seed, number, args.keep)
        if wrong:
            failed += 1
            print(f"FAIL --seed={seed} --only={number}: {wrong}", flush=True)
    print(f"{len(numbers)} rounds, {failed} failed (seed {seed})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
