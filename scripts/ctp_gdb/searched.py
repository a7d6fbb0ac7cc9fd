# SPDX-License-Identifier: MIT
"""The coroutines of a process or a core that was never traced, as ctp-ps finds them by search.

It stands in for the tables (region.Region) wherever these are asked: numbers are those of this listing, from 1 on,
by address. A live process is searched anew when it has gone on since. What only tables know is None, 0 or empty.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile

import gdb

from ctp_gdb import names, region

BESIDE = ("../../build/src/ps", "../../src/ps", "../../../bin", "../../bin", "../bin")
STATES = {"created": region.CREATED, "initial": region.CREATED, "suspended": region.SUSPENDED, "running": region.RUNNING}
_known = {}   # by inferior: what was found, until the process goes on
_beside = {}  # the same of one that has tables


def command():
    """The ctp-ps beside this script, in a build tree or installed; else the first in PATH."""
    here = os.path.dirname(os.path.realpath(__file__))
    for folder in [os.environ.get("CTP_BIN", "")] + [os.path.join(here, b) for b in BESIDE]:
        path = os.path.join(folder, "ctp-ps")
        if folder and os.access(path, os.X_OK):
            return path
    return shutil.which("ctp-ps")


class Entity:
    """As region.Entity, from a row of the listing."""

    def __init__(self, number, row):
        self.id, self.address = number, row["id"]
        self.life, self.changes, self.kind = STATES[row["state"]], 0, region.COROUTINE
        self.how = self.flags = self.since = self.at = self.made_at = 0
        self.stack, self.pcs = number, [int(f["pc"], 16) for f in row["stack"] or [] if not f["inlined"]]
        self.told = [names.Told(f) for f in row["stack"] or []] if row["kind"] == "stackless" else None
        self.slot, self.entry = row["thread"] or 0, int(row["entry"]["pc"], 16) if row["entry"] else 0
        self.frame = row["id"] if row["kind"] == "stackless" else 0
        self.regs = [] if self.frame else [int(x, 16) for x in row["registers"]]
        self.waits = [(w["fd"], 0, w["events"]) for w in row["waits"] if w["fd"] >= 0]


def entities(listing, first):
    """Those that were found, from this number on. One that has ended, or may have, does not live."""
    rows = sorted((c for c in listing["coroutines"] if c["source"] == "search" and c["state"] in STATES), key=lambda c: c["id"])
    return [Entity(i, row) for i, row in enumerate(rows, first)]


class Thread:
    def __init__(self, tid, running):
        self.tid, self.native, self.current = tid, 0, running


class Searched:
    own = range(0)

    def __init__(self, listing):
        self.inferior = gdb.selected_inferior()
        self.all = entities(listing, 1)
        self.rows = listing["threads"]

    def entities(self, kind):
        return self.all if kind == region.COROUTINE else []

    def threads(self):
        runs = {e.slot: e.id for e in self.all if e.life == region.RUNNING}
        return {t["os_tid"]: Thread(t["os_tid"], runs.get(t["os_tid"], 0)) for t in self.rows}

    def given_name(self, e):
        return None

    def again(self, e):
        return e

    def is_closed(self, fd, gen):
        return False

    def stack(self, number):
        return (self.all[number - 1].pcs, True) if 0 < number <= len(self.all) else ([], False)

    def told(self, number):
        return self.all[number - 1].told if 0 < number <= len(self.all) else None

    def module(self, pc):
        return None

    def ages(self, entities):
        return [None for _ in entities]


class Beside:
    """The C++20 coroutines of a program that was traced: the tables have the others."""

    def __init__(self, tables, listing):
        self.tables = tables
        named = tables.entities(region.COROUTINE)
        self.found = entities(listing, named[-1].id + 1 if named else 1)
        for e in self.found:
            e.stack = -e.id  # not one of the tables'
        self.stacks = {e.id: e for e in self.found}
        # Of those that the program tells of, ctp-ps knows the lines: gdb has those of ctp's header, which was inlined.
        rows = {c["id"]: c["stack"] for c in listing["coroutines"] if c["source"] == "table"}
        self.announced = {e.stack: [names.Told(f) for f in rows.get(e.id) or []] for e in named if e.frame}

    def __getattr__(self, name):
        return getattr(self.tables, name)

    def entities(self, kind):
        return self.tables.entities(kind) + (self.found if kind == region.COROUTINE else [])

    def given_name(self, e):
        return None if e.id in self.stacks else self.tables.given_name(e)

    def again(self, e):
        return e if e.id in self.stacks else self.tables.again(e)

    def stack(self, number):
        return (self.stacks[-number].pcs, True) if -number in self.stacks else self.tables.stack(number)

    def is_closed(self, fd, gen):
        return gen and self.tables.is_closed(fd, gen)

    def told(self, number):
        return self.stacks[-number].told if -number in self.stacks else self.announced.get(number)

    def ages(self, entities):
        own = iter(self.tables.ages([e for e in entities if e.id not in self.stacks]))
        return [None if e.id in self.stacks else next(own) for e in entities]


def beside(tables):
    """The same tables, with what a search finds besides."""
    kind, key = region.connection(tables.inferior), (tables.inferior.num, tables.inferior.pid)
    path = command()
    if kind != "native" or not path:
        return tables
    if key not in _beside:
        try:
            _beside[key] = json.loads(run(path, str(tables.inferior.pid)))
        except gdb.GdbError:
            _beside[key] = None  # the tables are there
    return Beside(tables, _beside[key]) if _beside[key] else tables


def run(path, operand):
    done = subprocess.run([path, "--all", "--json", operand], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise gdb.GdbError(done.stderr.decode(errors="replace").strip() or "ctp-ps %s fails" % operand)
    return done.stdout


def search(operand):
    path = command()
    if not path:
        raise gdb.GdbError("this program was never traced, and there is no ctp-ps to search it: put it into PATH")
    return Searched(json.loads(run(path, operand)))


def core_path():
    """The core that gdb has open; None."""
    found = re.search(r"core dump file:\n\s*`(.*)', file type ", gdb.execute("info files", to_string=True))
    return found[1] if found else None


def core_of(inferior):
    path = core_path()
    if path and os.path.exists(path):
        return search(path)
    with tempfile.TemporaryDirectory() as folder:  # gdb knows the core, and does not say which file it is
        path = os.path.join(folder, "core")
        gdb.execute("generate-core-file " + path, to_string=True)
        return search(path)


def find():
    """What is found in the selected process or core; None: it cannot be searched from here."""
    inferior = gdb.selected_inferior()
    kind, key = region.connection(inferior), (inferior.num, inferior.pid)
    if kind not in ("native", "core"):
        return None
    if key not in _known:
        _known[key] = core_of(inferior) if kind == "core" else search(str(inferior.pid))
    return _known[key]


def forget(*_):
    _known.clear()
    _beside.clear()


gdb.events.cont.connect(forget)
gdb.events.exited.connect(forget)
gdb.events.new_objfile.connect(forget)
