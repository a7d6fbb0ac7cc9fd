# SPDX-License-Identifier: MIT
"""Programs whose switch function is patched: as many switches as a second counter sees in the same run, gdb with the
processor's breakpoints in that function. What else they must do, check_programs.py says."""
import glob
import os
import re
import shutil

import catalogue
import packages
import patched
import stage
from check_programs import rules
from harness import Failed, Skip, equal, need, tool, until

ROWS = {row.name: row for row in catalogue.ROWS}
REFUSED = re.compile(r"\"Python\" language|hardware breakpoint|debug registers|Operation not permitted|ptrace:", re.I)


def one(pattern):
    found = sorted(glob.glob(pattern))
    need(found, f"no {pattern}")
    return os.path.realpath(found[0])


# Each gives the file that runs, and the same with its symbols.
def library(name):
    return lambda run: [one(f"/usr/lib/*/{name}")] * 2


def program(name):
    return lambda run: [os.path.realpath(shutil.which(name))] * 2


def static_server(run):
    return run.dir / "server", patched.static_server(run)


def places(run, path, names):
    """Where these functions are in the file, counted from its first byte."""
    segments = run.tool(tool("readelf"), "-lW", path)
    first = int(re.search(r"LOAD +0x0+ (0x[0-9a-f]+)", segments)[1], 16)
    symbols = run.tool(tool("nm"), path) + run.tool(tool("nm"), "-D", path)
    found = [re.search(rf"^([0-9a-f]+) . {name}$", symbols, re.M) for name in names]
    need(all(found), f"{names} are not in {path}")
    return [int(x[1], 16) - first for x in found]


class Watched(stage.Run):
    """ctp-run, which gdb has started."""

    def __init__(self, case, row, where, names, **kw):
        super().__init__(case, row, "traced", traced=True, **kw)
        self.where, self.names, self.hits = where, names, self.dir / "hits"

    def start(self, *argv, **kw):
        path, named = self.where(self)
        env = {"HITS_FILE": str(self.hits), "HITS_IN": str(path), "HITS_AT": " ".join(map(str, places(self, named, self.names)))}
        return self.case.start(tool("gdb"), "-nx", "-q", "-batch", "-x", stage.HERE / "hits.py", "--args", self.case.run_tool, "-o",
                               self.trace, "--overflow=block", *self.row.words, *argv, env=env, cwd=self.dir, **kw)

    def numbers(self, process, least):
        """What gdb has written, once that is so many numbers; None: it is under way."""
        found = self.hits.read_text().split() if self.hits.exists() else []
        if len(found) >= least:
            return [int(x) for x in found]
        if process.popen.poll() is None:
            return None
        if REFUSED.search(process.err()):
            raise Skip(f"gdb cannot count here: {process.err()[-300:]}")
        raise Failed(f"gdb has not counted: {process.done()}")

    def finish(self, process, number=None):
        pid = until(lambda: self.numbers(process, 1), "gdb's breakpoints")[0]
        if number:
            os.kill(pid, number)
        done = process.done()
        self.counts = self.numbers(process, 2)[1:]
        until(lambda: "ctp-run: run: " in process.err(), "the end of ctp-run")
        return done


def check(name, where, names, made=()):
    """`names` are its functions that switch, `made` those that make a coroutine."""
    def run(case):
        row = ROWS[name]
        if not stage.COUNTED:
            raise Skip("functions are patched on x86_64 only")
        packages.want(*row.packages, "gdb", "binutils")
        traced = Watched(case, row, where, (*names, *made))
        row.work(traced)
        hits = traced.counts
        _, report = case.report(traced.trace)
        trace = report["trace"]
        equal((trace["switches"], trace["lost"], rules(report, row)), (sum(hits[:len(names)]), 0, []), "switches, lost, findings")
        need(trace["switches"] > 0, "no switch")
        if made:
            equal(trace["coroutines"]["total"], sum(hits[len(names):]), "coroutines")
    return run


CHECKS = [(f"hits_{name}", check(name, *how)) for name, *how in (
    ("perl_coro", library("perl5/*/auto/Coro/State/State.so"), ["coro_transfer"]),
    ("tarantool", program("tarantool"), ["coro_transfer"]),
    ("ruby_fiber", library("libruby-*.so.*"), ["coroutine_transfer"]),
    ("php_fiber", program("php8.2"), ["jump_fcontext"], ["make_fcontext"]),
    ("ruby_scheduler", library("libruby-*.so.*"), ["coroutine_transfer"]),
    *[(row.name, library("libsystemc-*.so"), ["qt_block"]) for row in catalogue.ROWS if row.name.startswith("systemc")],
    ("asio_static", static_server, ["jump_fcontext"], ["make_fcontext"]),
)]
