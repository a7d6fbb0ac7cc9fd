# SPDX-License-Identifier: MIT
"""The long form: every exhibit, many times, under every condition; docs/museum.md.

A condition may make a verdict weaker, but the finding must be there, of the
right rule; nothing may be PROVEN that is not, and no look-alike may be flagged.
What is random is seeded with the exhibit's name and the number of the run. The
short waits below make the condition; nothing waits for them to have passed.
"""
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import threading

import exhibit as exhibits
import exhibit_list
from exhibit import VERDICTS
from harness import Failed, proc_state


class Condition:
    """Plain: as in the short form. One object for each run."""
    title = "plain"
    strict = True

    def __init__(self, seed=""):
        self.random = random.Random(seed)
        self.over = threading.Event()
        self.thread = None

    def options(self, case, exhibit):
        return []

    def begin(self, case, process):
        """The exhibit has been started; `process` is ctp-run."""

    def end(self, process):
        """It has ended, or failed to."""
        self.over.set()
        if self.thread:
            self.thread.join()

    def meanwhile(self, function, *args):
        self.thread = threading.Thread(target=function, args=args, daemon=True)
        self.thread.start()

    @classmethod
    def around(cls):
        """What runs beside all exhibits: processes, to be ended."""
        return []

    def shown(self, seen):
        """Was it as the condition says? Otherwise why not."""
        return None


class Busy(Condition):
    title, strict = "both cores busy", False

    @classmethod
    def around(cls):
        return [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"], stdin=subprocess.DEVNULL)
                for _ in range(os.cpu_count() or 1)]


class Overflow(Condition):
    """flood.c has stopped ctp-run and filled the rings; it goes on when the exhibit is done."""
    title, strict = "history lost", False

    def options(self, case, exhibit):
        words = ["--overflow=drop", "-E", f"LD_PRELOAD={case.build / 'tests/museum/libmuseum-flood.so'}"]
        # These need ctp-run while it happens: it goes on as soon as the ring is full.
        meanwhile = exhibit.rule in ("CTP016", "CTP017", "CTP018") or "--follow-forks" in exhibit.options
        return words + ["-E", "FLOOD_GOES_ON=1"] * meanwhile

    def begin(self, case, process):
        self.meanwhile(self.go_on, process, os.pidfd_open(process.pid))

    def go_on(self, process, ctp_run):
        kids = f"/proc/{process.pid}/task/{process.pid}/children"
        while not self.over.wait(0.01):
            try:
                with open(kids) as f:
                    kid = next(iter(f.read().split()), None)
                if "ready" in process.out() or kid and proc_state(kid) == "Z":
                    send(ctp_run, signal.SIGCONT)
            except OSError:
                pass
        os.close(ctp_run)

    def shown(self, seen):
        return None if seen.report["trace"]["lost"] else "nothing was lost"


class Flight(Condition):
    """Only the newest history is kept, and little of that: the tables are to tell the same."""
    title = "only the newest history kept"

    def options(self, case, exhibit):
        return ["--flight=256K"]


class Small(Condition):
    """A ring holds 4,096 records, and what finds no room is dropped: the tables are to tell the same."""
    title = "rings of 64 KiB"

    def options(self, case, exhibit):
        return ["--ring-size=64K", "--overflow=drop"]


class Stops(Condition):
    title, strict = "program stopped at random", False

    def begin(self, case, process):
        self.to_the_end = self.random.random() < 0.5  # else only until its state is final
        try:
            program = os.pidfd_open(exhibits.child_of(process))
        except (Failed, OSError):
            return  # it has ended already
        self.meanwhile(self.stop_and_go, process, program)

    def stop_and_go(self, process, program):
        while not self.over.wait(self.random.uniform(0, 0.02)):
            if not self.to_the_end and "ready" in process.out() or not send(program, signal.SIGSTOP):
                break
            self.over.wait(self.random.uniform(0, 0.02))
            send(program, signal.SIGCONT)
        os.close(program)


class Slow(Condition):
    title, strict = "engine slowed down", False

    def begin(self, case, process):
        self.meanwhile(self.stop_and_go, os.pidfd_open(process.pid))

    def stop_and_go(self, ctp_run):
        while not self.over.wait(0.005) and send(ctp_run, signal.SIGSTOP):
            self.over.wait(0.05)
            send(ctp_run, signal.SIGCONT)
        os.close(ctp_run)


def send(pidfd, number):
    """False once the process is no more."""
    try:
        signal.pidfd_send_signal(pidfd, number)
        return True
    except ProcessLookupError:
        return False


_around = []


def end_around():
    """Ends what runs beside the exhibits."""
    while _around:
        process = _around.pop()
        process.kill()
        process.wait()


CONDITIONS = {"plain": Condition, "busy": Busy, "overflow": Overflow, "flight": Flight, "small": Small, "stops": Stops, "slow": Slow}
COLUMNS = ["faulty", *reversed(VERDICTS), "weaker", "missed", "look-alikes", "flagged", "false PROVEN", "other"]


def tally(row, exhibit, strict, text, seen):
    """Adds one run to a row: COLUMNS -> count. What was wrong, or None."""
    row["faulty" if exhibit.findings else "look-alikes"] += 1
    if not seen:
        row["other"] += 1
        return text
    proven = exhibits.false_proven(exhibit, seen)
    row["false PROVEN"] += bool(proven)
    flagged = not exhibit.findings and bool(set(seen.rules) - set(exhibit.also))
    row["flagged"] += flagged
    found = all(e.rule in seen.rules for e in exhibit.findings)
    if exhibit.findings and found:
        row[VERDICTS[seen.strongest(exhibit.findings[0].rule)]] += 1
        row["weaker"] += exhibits.weaker(exhibit, seen)
    row["missed"] += bool(exhibit.findings) and not found
    if not exhibits.judge(exhibit, seen, strict):
        return None
    if found and not proven and not flagged:
        row["other"] += 1
    return text


def one(exhibit, build, condition, number, once):
    if condition.title in exhibit.nots:
        return "skip", f"{condition.title}: {exhibit.nots[condition.title]}", None
    how = condition(f"{exhibit.name}/{number}")
    outcome, text, seen = once(exhibit, build, how)
    unmade = how.shown(seen) if seen else None
    return (outcome, text, seen) if not unmade else ("FAIL", f"the condition was not made: {unmade}", None)


def under(condition, chosen, build, args, once, rows, skipped):
    """All runs under one condition; rows: rule -> condition -> COLUMNS -> count. What was wrong, and what was weaker:
    exhibit's name -> a text for each run."""
    wrong, weak = {}, {}
    _around.extend(condition.around())
    try:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            jobs = {pool.submit(one, e, build, condition, i, once): e for i in range(args.runs) for e in chosen}
            for done, job in enumerate(concurrent.futures.as_completed(jobs), 1):
                exhibit, (outcome, text, seen) = jobs[job], job.result()
                if done % len(chosen) == 0:
                    print(f"{condition.title}: {done} of {len(jobs)} runs", file=sys.stderr, flush=True)
                if outcome == "skip":
                    skipped.add(f"{exhibit.name}: {text}")
                    continue
                row = rows.setdefault(exhibit.rule, {}).setdefault(condition.title, dict.fromkeys(COLUMNS, 0))
                bad = tally(row, exhibit, condition.strict, text, seen)
                if seen and exhibits.weaker(exhibit, seen):
                    weak.setdefault(exhibit.name, []).append(", ".join(sorted(
                        {f["verdict"] for f in seen.report["findings"]})))
                if bad:
                    wrong.setdefault(exhibit.name, []).append(bad)
                    print(f"FAIL {exhibit.name} ({condition.title}): {bad}", flush=True)
    finally:
        end_around()
    return wrong, weak


def line(cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def table(title, rows):
    """Rows: first cell -> COLUMNS -> count."""
    return [line([title, *COLUMNS]), "|" + " --- |" * (1 + len(COLUMNS)),
            *(line([first, *(row[c] for c in COLUMNS)]) for first, row in rows.items()), ""]


def names_of(by_condition, runs, text):
    """Lines of a list: condition, exhibit, how many of its runs, and what it showed."""
    lines = [f"- {title}: `{name}`, {len(shown)} of {runs} runs: {text(shown)}"
             for title, by_name in by_condition.items() for name, shown in sorted(by_name.items())]
    return lines or ["Nothing."]


def document(rows, wrong, weak, chosen, args):
    """docs/museum.md, as text."""
    total = {}
    for by_condition in rows.values():
        for title, row in by_condition.items():
            sums = total.setdefault(title, dict.fromkeys(COLUMNS, 0))
            for column in COLUMNS:
                sums[column] += row[column]
    names = [e.name for e in chosen]
    out = ["# The museum", "",
           "Small programs, each with one fault or one look-alike (`tests/museum`), run under ctp again and again, in seven",
           "conditions: *plain*; *both cores busy* with other processes; *history lost*: every ring is full before the program's",
           "first own switch; *only the newest history kept*: --flight=256K; *rings of 64 KiB*: --ring-size=64K --overflow=drop;",
           "*program stopped at random*: SIGSTOP and SIGCONT again and again, in half of the runs up to the last",
           "look and beyond; *engine slowed down*: ctp-run is stopped for 50 ms of every 55.", "",
           f"`make museum` has written the figures: of the {len(names)} programs that there were then, with {args.runs} runs of each in each condition.",
           "Programs that were added since are in the list of exhibits alone. The numbers are runs. *faulty*: runs of",
           "programs with a fault; then the verdict that its finding had; *weaker*: below what the program's header asks for",
           "(allowed outside *plain*); *missed*: no finding of the right rule. *look-alikes*: runs of programs in which nothing is",
           "wrong; *flagged*: with any finding. *false PROVEN*: PROVEN where nothing may be. *other*: the right finding, but",
           "with another besides, other coroutines, or without its line; or the program's end was not its own.", "",
           "## Figures", "", *table("condition", total)]
    out += ["## What was weaker", "", *names_of(weak, args.runs, lambda shown: ", ".join(sorted(set(shown)))), "",
            "## What was not as it should be", "",
            *names_of(wrong, args.runs, lambda whys: whys[0].splitlines()[0].split(" [")[0]), ""]
    return "\n".join(out) + "\n" + exhibit_list.text()


def long(chosen, build, args, once):
    names = args.only.split(",") if args.only else list(CONDITIONS)
    rows, wrong, weak, skipped = {}, {}, {}, set()
    for name in names:
        condition = CONDITIONS[name]
        wrong[condition.title], weak[condition.title] = under(condition, chosen, build, args, once, rows,
                                                               skipped)
    text = document(rows, wrong, weak, chosen, args)
    if args.output:
        args.output.parent.mkdir(exist_ok=True)
        args.output.write_text(text)
    else:
        print(text)
    runs = sum(row["faulty"] + row["look-alikes"] for by in rows.values() for row in by.values())
    failed = sum(len(whys) for by_name in wrong.values() for whys in by_name.values())
    for text in sorted(skipped):
        print(f"skip {text}")
    print(f"{runs - failed} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed else 0
