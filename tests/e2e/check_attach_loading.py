# SPDX-License-Identifier: MIT
"""ctp-run -p while other threads load and unload libraries: what is half loaded is left alone."""
import os
import platform
import re

from check_attach import may_attach
from harness import Skip, equal, need, until

ROUNDS, LIBRARIES = 10, ("libz.so.1", "libbz2.so.1.0") * 2


class Loads:
    """The target, which says how often it has loaded one."""

    def __init__(self, case, libraries):
        if platform.machine() != "x86_64":
            raise Skip("attaching is made for x86_64")
        read, self.to = os.pipe()
        self.process = case.start(case.target("loading"), *libraries, stdin=read)
        os.close(read)
        self.asked = 0

    def loaded(self):
        self.asked += 1
        os.write(self.to, b"\n")
        says = lambda: re.findall(r"loaded (\d+)", self.process.out())
        until(lambda: len(says()) == self.asked or self.process.popen.poll() is not None, "an answer")
        need(self.process.popen.poll() is None, f"the program has ended: {self.process.popen.poll()} (2: it has not these libraries)")
        return int(says()[-1])

    def end(self):
        os.close(self.to)
        equal(self.process.done().status, 0, "the program's status")


def attaches(case, libraries, *options):
    may_attach(case)
    program = Loads(case, libraries)
    until(lambda: program.loaded() > 10, "libraries that were loaded")
    for i in range(ROUNDS):
        done = case.ctp("-q", "-o", f"trace{i}", "-p", program.process.pid, "--timeout=0.05", *options)
        equal(done.status, 0, f"round {i}: {done}")
        was = program.loaded()
        until(lambda: program.loaded() > was + 10, f"libraries that are loaded after round {i}")
    program.end()


def check_loading(case):
    """Ten attaches beside four threads that do nothing else."""
    attaches(case, LIBRARIES)


def check_loading_unpatched(case):
    """The same if the loader is not followed."""
    attaches(case, LIBRARIES, "--no-patch")


def slow(case):
    return [case.target(f"loading-{name}.so") for name in "abcd"]


def check_loading_slowly(case):
    """They are relocated most of the time, and what the hooks would write is closed at its end."""
    attaches(case, slow(case))


def check_loading_slowly_unpatched(case):
    """The same if the loader is not followed."""
    attaches(case, slow(case), "--no-patch")


CHECKS = [("loading", check_loading), ("loading_unpatched", check_loading_unpatched), ("loading_slowly", check_loading_slowly),
          ("loading_slowly_unpatched", check_loading_slowly_unpatched)]
