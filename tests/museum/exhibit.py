# SPDX-License-Identifier: MIT
"""An exhibit: a program of this folder, what its header expects, and one run of
it under ctp-run, judged by what ctp-analyze says.

The header, right after the SPDX line:
    // expect: CTP005 likely..proven, 2 coroutines [in 1 finding]    | clean | fact CTP007 | also CTP026 [suspect] (true as well, not always said; no stronger)
    //         CTP002 none..suspect, 1 coroutine: nothing is wrong, and no more than that may be said, of so many at most
    // end: term | exit | kill | crash | timeout      default term
    // engine: ucontext | fcontext | both             default ucontext
    // patched: ENGINE...                             runs on these of co_patched.c as well (slot, from, slot_back, struct, saved)
    // run: OPTIONS                                   further ones for ctp-run
    // order: SIGNAL | stdin                          once it is given, the program resumes its waiters and says `resumed`
    // pending: why                                   not yet as expected: skipped, with the reason, while it is wrong
    // said: RULE, why                                ctp-run may have said so while it ran, and been right
    // needs: PACKAGE                                 Meson builds it only where that library is installed; else it is skipped
    // not: CONDITION, why                            the long form leaves it out under that condition
Lines that end in `// fault` must stand in the text report, as file:line, even
where nothing can be found: then the report leads there all the same.

A program with an order is two exhibits: the one that its header describes, to
which the order is not given, and NAME-ordered, to which it is and which is clean.
"""
import dataclasses
import functools
import itertools
import os
import pathlib
import platform
import re
import shlex
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e"))

from check_engines import built, with_boost  # noqa: E402
from harness import BOUND, Failed, Skip, need, no_time, timeout, tool, until, witness  # noqa: E402

VERDICTS = ["inconclusive", "suspect", "likely", "proven"]  # the weakest first
HEADER = re.compile(r"//\s+(expect|end|engine|patched|run|not|order|needs|pending|said):\s*(.*?)\s*$")
TOLD = re.compile(r"^ctp-run: (CTP\d{3}) (likely|proven) so far: ", re.M)
ENDED_FIRST = "the program ended before this could be seen"  # as ctp-run says of what it was about to look at
NONE = -1  # below them: no finding at all is right, too
FINDING = re.compile(r"(CTP\d{3}) (\w+)(?:\.\.(\w+))?, (\d+) coroutines?(?: in (\d+) findings?)?$")
PATCHED = ("slot", "from", "slot_back", "struct", "saved")
ENDS = ("term", "exit", "kill", "crash", "timeout")
TIMEOUT = 3  # seconds for `end: timeout`
TRAMPOLINES = {"uc_enter", "fc_enter", "sw_entry", "co_body"}  # of tests/targets/co*.c
TURNS = 10   # of ctp-run, once the state is final


@dataclasses.dataclass
class Expected:
    """Findings of one rule: between two verdicts (places in VERDICTS), so many coroutines, in so many findings if said."""
    rule: str
    low: int
    high: int
    coroutines: int
    findings: int | None = None


@dataclasses.dataclass
class Exhibit:
    name: str           # of the run: the program's, and its engine if that is not the usual one
    source: pathlib.Path
    engine: str
    end: str
    options: list
    findings: list      # Expected
    facts: list         # rules
    faults: list        # lines
    also: dict = dataclasses.field(default_factory=dict)  # rule that may speak, too -> at most (place in VERDICTS)
    nots: dict = dataclasses.field(default_factory=dict)  # condition -> why it is left out there
    pending: str = ""   # why it may be wrong so far
    order: str = ""     # what it waits for, if anything
    said: str = ""      # the rule that ctp-run may name, though the report does not
    needs: str = None   # the package of a library that need not be there

    @property
    def rule(self):
        """The rule that it is about."""
        of_name = re.match(r"(?:ctp|ok)(\d{3})_", self.name)
        if of_name:
            return "CTP" + of_name[1]
        return self.findings[0].rule if self.findings else self.facts[0] if self.facts else "none"

    def program(self, case):
        """Meson's, from its row; those on Boost are built here, from the packages."""
        if self.engine == "fcontext":
            return with_boost(case, f"m-{self.name}", f"-I{HERE.parent / 'targets'}", str(self.source), "co.c",
                              "co_fcontext.c", "must.c")
        if self.engine in PATCHED:
            if platform.machine() != "x86_64":
                raise Skip("functions are patched on x86_64 only")
            targets = HERE.parent / "targets"
            return built(case, f"m-patched-{self.source.stem}", tool("gcc"), "-O1", "-g", "-w", "-D_GNU_SOURCE",
                         f"-I{targets}", str(self.source),
                         *[targets / x for x in ("co.c", "co_patched.c", "switchers.S", "must.c")], "-lpthread")
        path = case.build / "tests/museum" / ("m-" + self.source.stem)
        if self.needs and not path.is_file() and f"'{self.source.stem}'" in (HERE / "meson.build").read_text():
            raise Skip(f"built without {self.needs}")
        need(path.is_file(), f"no {path}: is there a row in meson.build?")
        return path


def parse_expect(text, exhibit):
    if text == "clean":
        return
    if text.startswith("also "):
        rule, *most = text.split()[1:]
        exhibit.also[rule] = VERDICTS.index(most[0] if most else "proven")
        return
    if text.startswith("fact "):
        exhibit.facts.append(text.split()[1])
        return
    found = FINDING.match(text)
    need(found, f"{exhibit.source.name}: expect what? {text!r}")
    low, high = found[2], found[3] or found[2]
    for word in (low, high):
        need(word in VERDICTS or word == "none" == low, f"{exhibit.source.name}: no verdict {word!r}")
    place = NONE if low == "none" else VERDICTS.index(low)
    exhibit.findings.append(Expected(found[1], place, VERDICTS.index(high), int(found[4]),
                                     int(found[5]) if found[5] else None))


def parse(source):
    """The exhibits of one source file: one for each engine."""
    said = {"expect": []}
    lines = source.read_text().splitlines()
    for line in itertools.takewhile(lambda x: x.startswith("//"), lines):
        word = HEADER.match(line)
        if word and word[1] == "expect":
            said["expect"].append(word[2])
        elif word:
            said[word[1]] = word[2]
    end, engine = said.get("end", "term"), said.get("engine", "ucontext")
    need(said["expect"], f"{source.name} expects nothing")
    need(end in ENDS, f"{source.name}: no end {end!r}")
    need(engine in ("ucontext", "fcontext", "both"), f"{source.name}: no engine {engine!r}")
    faults = [i + 1 for i, line in enumerate(lines) if line.rstrip().endswith("// fault")]
    exhibits = []
    patched = said.get("patched", "").split()
    need(set(patched) <= set(PATCHED), f"{source.name}: {patched}")
    for which in [*(("ucontext", "fcontext") if engine == "both" else (engine,)), *patched]:
        name = source.stem if which == "ucontext" else f"{source.stem}-{which}"
        e = Exhibit(name, source, which, end, shlex.split(said.get("run", "")), [], [], faults)
        for text in said["expect"]:
            parse_expect(text, e)
        e.needs, e.order = said.get("needs"), said.get("order", "")
        e.pending = said.get("pending", "")
        e.said = said.get("said", "").split(",")[0]
        if "not" in said:
            condition, _, why = said["not"].partition(", ")
            e.nots[condition] = why
        exhibits.append(e)
        if e.order:
            exhibits.append(dataclasses.replace(e, name=name + "-ordered", end="order", pending="", findings=[],
                                                facts=[], faults=[], also={}))
    return exhibits


def collect(words):
    """Every exhibit whose name contains a word."""
    found = [e for source in sorted(HERE.glob("*.c")) if re.match(r"ctp\d|ok\d|real_", source.name)
             for e in parse(source)]
    return [e for e in found if not words or any(w in e.name for w in words)]


class Seen:
    """What one run showed."""

    def __init__(self, report, tell):
        self.report, self._tell = report, tell
        self.told = []   # (rule, verdict) of ctp-run's lines while the program ran
        self.late = False  # of some coroutine ctp-run says that there was no time to look
        self.rules = {}  # rule -> [(place in VERDICTS, coroutines)]
        for f in report["findings"]:
            self.rules.setdefault(f["rule"], []).append((VERDICTS.index(f["verdict"]), f["count"]))
        self.facts = {f["rule"] for f in report["facts"]}

    @functools.cached_property
    def text(self):
        """The text report, made when it is first asked for: while the trace is there."""
        return self._tell()

    def strongest(self, rule):
        return max(verdict for verdict, _ in self.rules[rule])

    def __str__(self):
        return "; ".join(f"{f['rule']} {f['verdict']} x{f['count']} closure {f['closure']} "
                         + " ".join(f"{e['id']}={e['holds']}({e['text']})" for e in f["evidence"] if e["holds"] is not True)
                         for f in self.report["findings"]) or "no finding" + (": no time to look" if self.late else "")


def about_end(exhibit):
    """The options of ctp-run that the end needs."""
    return [timeout(TIMEOUT)] if exhibit.end == "timeout" else []


def environment(exhibit):
    return {} if exhibit.engine == "ucontext" else {"CO_ENGINE": exhibit.engine}


def give(order, process, program):
    """The order, once the program waits for it."""
    if order == "stdin":
        process.popen.stdin.write(b"sweep\n")
        process.popen.stdin.close()
    else:
        os.kill(program, getattr(signal, order))


def stdin_of(exhibit):
    return {"stdin": subprocess.PIPE} if exhibit.order == "stdin" else {}


def bare_ordered(case, exhibit):
    """Its status and output without us, when it gets its order: its waiters are really resumed."""
    process = case.start(exhibit.program(case), env=environment(exhibit), **stdin_of(exhibit))
    process.wait_for("ready")
    ticks = {}
    until(lambda: process.popen.poll() is not None or asleep(process.pid, ticks), "threads to sleep")
    give(exhibit.order, process, process.pid)
    done = process.done()
    need("resumed" in done.out.splitlines(), f"the waiters are not resumed: {done}")
    return done.status, done.out


def bare(case, exhibit):
    """Its status and output without us."""
    if exhibit.order and exhibit.end == "order":
        return bare_ordered(case, exhibit)
    done = case.run(exhibit.program(case), env=environment(exhibit))
    return done.status, done.out


def child_of(process):
    """The pid of the program, once ctp-run has started it."""
    path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")

    def look():
        if process.popen.poll() is not None:
            raise Failed(f"ctp-run has ended: {process.done()}")
        kids = path.read_text().split()
        return int(kids[0]) if kids else None
    return until(look, "the program's pid")


def sleeps(task, ticks):
    """Does the thread sleep in a system call? Or has it used half a second of the CPU since this was first asked:
    then it runs on and on by its nature. `ticks`: what each thread had used by then."""
    fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
    used = int(fields[11]) + int(fields[12])
    if used - ticks.setdefault(task.name, used) >= os.sysconf("SC_CLK_TCK") // 2:
        return True
    if fields[0] != "S":
        return fields[0] in "ZX"
    try:
        return (task / "syscall").read_text()[0].isdigit()
    except PermissionError:
        return True


def turns(pid):
    """Something that grows while ctp-run goes round: its voluntary switches."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return int((re.findall(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M) or [0])[0])


def asleep(program, ticks):
    """Do all its threads sleep? Also where it has ended."""
    try:
        return all(sleeps(task, ticks) for task in pathlib.Path(f"/proc/{program}/task").iterdir())
    except OSError:
        return not pathlib.Path(f"/proc/{program}").exists()


def settle(process, program):
    """Waits until the program's threads sleep, so that its state is final, and ctp-run has gone round since."""
    ticks = {}
    until(lambda: asleep(program, ticks) or process.popen.poll() is not None, "threads to sleep")
    begun = turns(process.pid)
    until(lambda: turns(process.pid) >= begun + TURNS or process.popen.poll() is not None, "turns of ctp-run")


def finish(case, process, exhibit):
    """Brings the program to its end as the header says; ctp-run's status is checked."""
    if exhibit.end in ("exit", "crash"):
        done = process.done()
        status, out = bare(case, exhibit)
        need((done.status, done.out) == (status, out), f"bare: {status}, {out!r}; under ctp: {done}")
        return
    program = child_of(process)
    process.wait_for("ready")
    settle(process, program)
    if exhibit.end == "order":
        give(exhibit.order, process, program)
        done = process.done()
        status, out = bare(case, exhibit)
        need((done.status, done.out) == (status, out), f"bare: {status}, {out!r}; under ctp: {done}")
    elif exhibit.end == "timeout":
        done = process.done()
        need(done.status == 124, f"ctp-run's status after --timeout: {done}")
    elif exhibit.end == "term":
        process.signal(signal.SIGTERM)
        process.done()
    else:
        wait_for_witness(case, exhibit)
        os.kill(program, signal.SIGKILL)
        done = process.done()
        need(done.status == -signal.SIGKILL, f"ctp-run's status: {done}")


def wait_for_witness(case, exhibit):
    """Until the witness has spoken of as many coroutines as are expected, or they are among those that wait for each other."""
    want = sum(e.coroutines for e in exhibit.findings)

    def look():
        seen = {line["coroutine"] for line in witness(case.dir / "ctp.data") if "coroutine" in line}
        for line in witness(case.dir / "ctp.data", "sets.jsonl"):
            seen |= {w["coroutine"] for w in line.get("waits", [])}
        return len(seen) >= want
    try:
        until(look, "the witness", BOUND / 4)
    except Failed:
        pass  # the report says what is missing


def observe(case, exhibit, condition=None):
    """One run, under a condition (conditions.py; None: plain). What it showed."""
    program = exhibit.program(case)
    options = about_end(exhibit) + exhibit.options
    for key, value in environment(exhibit).items():
        options += ["-E", f"{key}={value}"]
    options += condition.options(case, exhibit) if condition else []
    process = case.ctp_start("--log-file=said", *options, program, **stdin_of(exhibit))
    try:
        if condition:
            condition.begin(case, process)
        finish(case, process, exhibit)
    finally:
        if condition:
            condition.end(process)
    _, report = case.report(validated=condition is None)
    seen = Seen(report, lambda: case.analyze("ctp.data").out)
    seen.told = TOLD.findall((case.dir / "said").read_text())
    seen.late = any(no_time(e["text"]) or ENDED_FIRST in e["text"]
                    for line in witness(case.dir / "ctp.data") for e in line.get("evidence", []))
    return seen


def false_proven(exhibit, seen):
    """Findings that say PROVEN where that is not allowed. Never acceptable."""
    top = VERDICTS.index("proven")
    allowed = {e.rule for e in exhibit.findings if e.high == top}
    return [rule for rule in seen.rules if rule not in allowed and seen.strongest(rule) == top]


def false_told(exhibit, seen):
    """What ctp-run said while the program ran and ctp-analyze does not report, or more weakly."""
    if exhibit.end == "order":
        return []  # it was so, until the order came
    return [(rule, verdict) for rule, verdict in seen.told
            if (seen.strongest(rule) < VERDICTS.index(verdict) if rule in seen.rules else rule != exhibit.said)]


def stuck_and_healthy(seen):
    """Coroutines that are called stuck and counted as healthy waiters all the same, at least so many."""
    rules = {"CTP001", "CTP002", "CTP003", "CTP004", "CTP005", "CTP008", "CTP009", "CTP015", "CTP022", "CTP025",
             "CTP026", "CTP027", "CTP028", "CTP031"}
    stuck = {(f.get("pid"), c["id"]) for f in seen.report["findings"] if f["rule"] in rules for c in f["coroutines"]}
    trace = seen.report["trace"]
    there = trace["coroutines"]["suspended"] + trace["coroutines"]["running"]  # one that is woken for nothing may run
    return max(0, trace["healthy_waiters"] + len(stuck) - there)


def weaker(exhibit, seen):
    """Is a verdict below what the header asks for?"""
    return any(verdict < e.low for e in exhibit.findings for verdict, _ in seen.rules.get(e.rule, []))


def judge(exhibit, seen, strict=True):
    """What is not as the header has it; nothing: all is. Not strict: a verdict may be weaker."""
    why = [f"{rule} PROVEN" for rule in false_proven(exhibit, seen)]
    expected = {e.rule for e in exhibit.findings}
    why += [f"ctp-run said {rule} {verdict}, ctp-analyze did not" for rule, verdict in false_told(exhibit, seen)]
    why += [f"finding of {rule}" for rule in sorted(set(seen.rules) - expected - set(exhibit.also))]
    why += [f"{rule} is {VERDICTS[seen.strongest(rule)]}" for rule, most in exhibit.also.items()
            if rule in seen.rules and seen.strongest(rule) > most]
    for e in exhibit.findings:
        here = seen.rules.get(e.rule, [])
        if not here and e.low != NONE:
            why.append(f"no finding of {e.rule}")
        for verdict, _ in here:
            if verdict > e.high or strict and verdict < e.low:
                why.append(f"{e.rule} is {VERDICTS[verdict]}")
        n = sum(count for _, count in here)
        if here and (n > e.coroutines if e.low == NONE else n != e.coroutines):
            why.append(f"{e.rule} has {n} coroutines, not {e.coroutines}")
        if here and e.findings and len(here) != e.findings:
            why.append(f"{e.rule} has {len(here)} findings, not {e.findings}")
    shown = seen.report["trace"]["coroutines"]["suspended"]  # by whom a trampoline is known to be one
    called = {c["entry"]["symbol"] for f in seen.report["findings"] for c in f["coroutines"] if c["entry"]}
    if shown and strict:
        called |= set(re.findall(r"\bcoroutine \d+ (\w+)", seen.text))
    if exhibit.engine in PATCHED:
        called -= {"co_body"}  # which assembly calls: that may be the program's own
    why += [f"a coroutine is called by its library's {name}" for name in sorted(called & TRAMPOLINES) if shown and strict]
    why += [f"{f['rule']} names a connection {f['fd']['name']}, as where there is no time to look" for f in seen.report["findings"]
            if strict and f["fd"] and f["fd"]["kind"] == "tcp" and (f["fd"]["name"] or "").startswith("socket:")]
    why += [f"no fact of {rule}" for rule in exhibit.facts if rule not in seen.facts]
    if stuck_and_healthy(seen):
        why.append(f"{stuck_and_healthy(seen)} stuck coroutines counted as healthy")
    name = exhibit.source.name
    why += [f"{name}:{line} is not in the text report" for line in exhibit.faults
            if (exhibit.findings or not exhibit.facts) and not re.search(rf"\b{re.escape(name)}:{line}\b", seen.text)]
    return why
