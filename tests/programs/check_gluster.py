# SPDX-License-Identifier: MIT
"""A GlusterFS brick that is stopped while it heals. Its threads go on while exit
handlers run, and one of the handlers is libcrypto's: a thread that then wants
a checksum dies by SIGSEGV. The brick loses this race now and then without ctp
(2 in 40 under load), so one run proves nothing: what counts is how most end."""
import collections
import os
import signal

import bricks
import packages
from harness import Skip, child_of, equal, free_port, need, until
from stage import listening

FILES = 40  # written for each run while the second brick is down: more, where all are healed before it can be stopped
MOST = 1000
SOME = 2    # healed, when it is stopped


class Stops:
    """The second brick, started and stopped again and again; the daemon, which heals it, with it."""

    def __init__(self, case):
        self.case, self.runs, self.count = case, 0, FILES
        self.volume = bricks.Volume(case.dir, (free_port(), free_port()))
        self.first = case.start(*self.volume.brick(0))
        listening(self.first, self.volume.ports[0])

    def start(self, traced, name, words):
        """(process, pid of the program itself)"""
        if not traced:
            process = self.case.start(*words)
            return process, process.pid
        process = self.case.ctp_start("-o", self.case.dir / f"{name}.data", *words)
        return process, child_of(process.pid)

    def once(self, traced):
        """One run: the brick's status and the daemon's; None if all was healed before the brick could be stopped."""
        self.runs += 1
        wrote = self.case.run(*self.volume.writer(f"f{self.runs}-", self.count))
        equal(wrote.status, 0, f"the client's status ({wrote})")
        before, _ = self.volume.files(1)
        brick, pid = self.start(traced, f"brick-{self.runs}", self.volume.brick(1))
        listening(brick, self.volume.ports[1])
        daemon, daemon_pid = self.start(traced, f"daemon-{self.runs}", self.volume.daemon())
        until(lambda: self.volume.files(1)[0] >= before + SOME or brick.popen.poll() is not None, "healed files")
        healed_all = self.volume.files(1)[0] == self.volume.files(0)[1]
        os.kill(pid, signal.SIGTERM)
        done = brick.done()
        os.kill(daemon_pid, signal.SIGTERM)
        status = done.status, daemon.done().status
        return None if healed_all else status

    def usual(self, traced, times):
        """What so many runs end with."""
        seen = collections.Counter()
        while True:
            status = self.once(traced)
            if status is None:
                self.count *= 2
                need(self.count <= MOST, "all was healed before the brick could be stopped")
                continue
            if traced:
                self.check_traced(status)
            seen[status] += 1
            if seen[status] == times:
                return status

    def check_traced(self, status):
        if status[0] == -signal.SIGSEGV:
            log = (self.case.dir / "brick1.log").read_text(errors="replace")
            need("(SHA256" in log.rpartition("signal received: 11")[2], f"crashed elsewhere: {log[-3000:]}")
        for name, least in (("brick", 1), ("daemon", 20)):
            _, report = self.case.report(self.case.dir / f"{name}-{self.runs}.data")
            equal(report["findings"], [], f"findings of the {name}")
            trace = report["trace"]
            need(trace["switches"] >= least and trace["coroutines"]["total"], f"the {name}'s switches: {trace}")


def check_stop(case):
    packages.want("glusterfs-server", "libgfapi0")
    if os.geteuid() != 0:
        raise Skip("bricks need root")
    refused = bricks.refuses_xattrs(case.dir)
    if refused:
        raise Skip(refused)
    stops = Stops(case)
    bare = stops.usual(False, 3)
    equal(stops.usual(True, 3), bare, "status of most runs, brick and daemon")


CHECKS = [("stop", check_stop)]
