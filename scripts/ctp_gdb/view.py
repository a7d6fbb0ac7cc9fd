# SPDX-License-Identifier: MIT
"""Coroutines in words: which of them, and how they are listed."""
import re

import gdb

from ctp_gdb import chosen, names, region, searched
from ctp_gdb.region import CREATED, RUNNING, SUSPENDED

LIVES = {CREATED: "created", SUSPENDED: "suspended", RUNNING: "running"}
IDS_SHOWN, CALLERS = 8, 4


class View:
    """The coroutines as they are now."""

    def __init__(self, kind=region.COROUTINE):
        self.region = region.find()
        if kind == region.COROUTINE and isinstance(self.region, region.Region):
            self.region = searched.beside(self.region)
        self.all = self.region.entities(kind)
        self.slots = self.region.threads()
        self.age = dict(zip((e.id for e in self.all), self.region.ages(self.all)))
        self.by_tid = {t.ptid[1] or t.ptid[2]: t for t in gdb.selected_inferior().threads()}

    def thread(self, e):
        """gdb's thread that runs it, or None."""
        slot = self.slots.get(e.slot)
        return self.by_tid.get(slot.tid) if slot and e.life == RUNNING else None

    def on(self, e):
        slot, thread = self.slots.get(e.slot), self.thread(e)
        if thread:
            return "thread %d (LWP %d)" % (thread.num, slot.tid)
        return "LWP %d" % slot.tid if slot else "no thread that is known"

    def name(self, e):
        if e.kind != region.COROUTINE:
            return "(thread's own)"
        given = self.region.given_name(e)
        return names.name(self.region, e) + (' "%s"' % names.clean(given) if given else "")

    def since(self, e):
        age = self.age[e.id]
        return names.duration(age) if age is not None else None

    def inside(self, e):
        """Where it is, in words; "" if that is not known."""
        found = names.own(names.places(self.region, e.made_at if e.life == CREATED else e.stack))
        return ("made in " if found and e.life == CREATED else "") + str(found or "")

    def way(self, e):
        """The same, and who called that."""
        found = names.places(self.region, e.stack) if e.life == SUSPENDED else []
        callers = [p.function for p in found if not p.is_library][1:CALLERS]
        return " < ".join([self.inside(e)] + callers)

    def where(self, e):
        if e.life == RUNNING:
            return "on " + self.on(e)
        said = [names.wait(self.region, *w) for w in e.waits] + [s for s in [self.since(e)] if s]
        return " ".join(s for s in ["[%s]" % ", ".join(said) if said else "", self.inside(e)] if s)


def marked():
    """The number of whom the frames are: of the coroutine that is chosen, or that the thread runs."""
    c = chosen.unwinder.choice
    thread = gdb.selected_thread()
    if c is not None and c.is_shown():
        return c.who.id
    return region.current(region.find(), thread.ptid[1] or thread.ptid[2]) if thread else 0


def one_line(v, e):
    return "%d (%s, %s%s)" % (e.id, v.name(e), LIVES[e.life], " on " + v.on(e) if e.life == RUNNING else "")


# ---- which

def number(word):
    return int(word) if re.fullmatch(r"\d{1,15}", word) else None


def id_range(word):
    """(first, last) of "7" or "7-9"; else None."""
    found = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", word)
    return (int(found[1]), int(found[2] or found[1])) if found else None


def expression(word):
    try:
        return re.compile(word)
    except re.error as e:
        raise gdb.GdbError("not a regular expression: %s (%s)" % (word, e))


def filtered(v, words):
    """Those that agree to all the words; of numbers and of states to one of them."""
    ranges, lives, fds, threads, patterns = [], set(), [], [], []
    words = list(words)
    while words:
        word = words.pop(0)
        if id_range(word):
            ranges.append(id_range(word))
        elif word in LIVES.values():
            lives.add(word)
        elif word in ("fd", "thread"):
            value = number(words.pop(0)) if words else None
            if value is None:
                raise gdb.GdbError("%s which? a number is wanted behind it" % word)
            (fds if word == "fd" else threads).append(value)
        else:
            patterns.append(expression(word))
    found = v.all
    if ranges:
        found = [e for e in found if any(lo <= e.id <= hi for lo, hi in ranges)]
    if lives:
        found = [e for e in found if LIVES[e.life] in lives]
    if fds:
        found = [e for e in found if any(w[0] in fds for w in e.waits)]
    if threads:
        found = [e for e in found if v.thread(e) and v.thread(e).num in threads]
    for pattern in patterns:
        found = [e for e in found if finds(v, e, pattern)]
    return found


def finds(v, e, pattern):
    """A word for where the expression is found, or None."""
    if pattern.search(v.name(e)):
        return "has name '%s'" % v.name(e)
    for place in names.places(v.region, e.stack) if e.life == SUSPENDED else []:
        if pattern.search(place.function):
            return "is in '%s'" % place.function
    return None


# ---- lists

def singles(v, found):
    mark = marked()
    for e in found:
        yield "*" if e.id == mark else " ", str(e.id), v.name(e), LIVES[e.life], lambda e=e: v.where(e)


def groups(v, found):
    by = {}
    for e in found:
        by.setdefault((e.life, e.entry, e.made_at if e.life == CREATED else alike(v, e) if e.life == SUSPENDED else e.id), []).append(e)
    for same in sorted(by.values(), key=lambda g: (-len(g), g[0].id)):
        yield " ", "%d x" % len(same), v.name(same[0]) if len(same) == 1 else names.name(v.region, same[0]), LIVES[same[0].life], lambda same=same: group(v, same)


def alike(v, e):
    """What those have in common that are suspended at the same place."""
    told = v.region.told(e.stack)
    return tuple(str(p) for p in told) if told else e.stack


def group(v, same):
    ages = sorted(v.age[e.id] for e in same if v.age[e.id] is not None)
    said = []
    if ages and same[0].life != RUNNING:
        least, longest = names.duration(ages[0]), names.duration(ages[-1])
        said = [longest if least == longest else least + " to " + longest]
    closed = sum(any(v.region.is_closed(fd, gen) for fd, gen, _ in e.waits) for e in same)
    if closed:
        said.append("descriptors of %d closed" % closed)
    ids = " ".join(str(e.id) for e in same[:IDS_SHOWN]) + (" ..." if len(same) > IDS_SHOWN else "")
    if same[0].life == RUNNING:
        return "on %s: %s" % (v.on(same[0]), ids)
    return " ".join(s for s in ["[%s]" % ", ".join(said) if said else "", v.way(same[0])] if s) + ": " + ids


def table(rows, most):
    """Columns as wide as what is shown of them wants; what is not shown is only counted."""
    rows = list(rows)
    shown = rows[:most]
    wide = [max((len(row[i]) for row in shown), default=0) for i in (1, 2, 3)]
    for mark, first, name, life, where in shown:
        line = "%s %*s %-*s %-*s %s" % (mark, wide[0], first, wide[1], name, wide[2], life, where())
        print(line.rstrip())
    if len(rows) > most:
        print("  ... %d more: info coroutines -n all" % (len(rows) - most))
