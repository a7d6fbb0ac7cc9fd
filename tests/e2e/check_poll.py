# SPDX-License-Identifier: MIT
"""Loops that wait by poll, ppoll, select or pselect: the set of a wait is what a
registration is to epoll. Each fate of a reader (tests/targets/poll.c), by each
of the calls; and what is said of io_uring, which is not seen."""
import ctypes
import os
import re
import signal

from check_verdicts import describe, killed, ready
from harness import Failed, Skip, child_of, equal, need, proc_state, timeout, tried, until, witness

CALLS = ("poll", "ppoll", "select", "pselect")

# fate: what must be found: (rule, verdicts), healthy waiters
FATES = {
    "healthy": (None, (), 3),
    "held": (None, (), 2),  # the third waits for what is closed: neither healthy nor lost
    "lost": ("CTP001", ("proven",), 2),
    "kept": ("CTP001", ("proven",), 2),
    "reused": ("CTP001", ("proven",), 3),
    "tick": ("CTP001", ("likely",), 2),
    "left": ("CTP002", ("suspect",), 2),  # as a pause, for all that the tables tell
}
CLOSURES = {"kept": "quiet", "reused": "quiet"}


def seen(lines, closure):
    """Has the witness looked, and come to what shall be found?"""
    ids = {"quiet": ("P6b",), None: ("P6a", "P6b")}[closure]
    return any(e["id"] in ids and e["holds"] is True for line in lines for e in line["evidence"])


def check_fate(case, call, fate):
    rule, verdicts, healthy = FATES[fate]
    process = ready(case, case.target("poll"), call, fate)
    if "proven" in verdicts:
        try:
            until(lambda: seen(witness(case.dir / "ctp.data"), CLOSURES.get(fate)), "P6 in the witness", 20)
        except Failed:
            pass  # the report says what is missing
        killed(case, process)
    else:
        if rule == "CTP001":
            until(lambda: witness(case.dir / "ctp.data"), "a witness line")
        settle(process)
        process.signal(signal.SIGTERM)
        process.done()
    _, report = case.report()
    what = describe(report)
    equal([(f["rule"], f["count"]) for f in report["findings"]], [(rule, 1)] if rule else [], what)
    for f in report["findings"]:
        need(f["verdict"] in verdicts, what)
        if fate in CLOSURES:
            equal(f["closure"], CLOSURES[fate], what)
    equal(report["trace"]["healthy_waiters"], healthy, "healthy waiters")


def stopped_and_continued(process):
    """A call that goes on after a stop does so under another number."""
    os.kill(process.program, signal.SIGSTOP)
    until(lambda: proc_state(process.program) == "T", "state T")
    os.kill(process.program, signal.SIGCONT)
    until(lambda: sleeps_in_set(process), "the loop to sleep again")


def check_stopped(case, call):
    """As by ^Z and fg, before ctp-run has looked at all."""
    process = case.ctp_start(case.target("poll"), call, "kept")
    process.program = child_of(process.pid, "t-poll")
    process.signal(signal.SIGSTOP)
    process.wait_for("ready")
    until(lambda: sleeps_in_set(process), "the loop to sleep")
    stopped_and_continued(process)
    process.signal(signal.SIGCONT)
    process.signal(signal.SIGTERM)
    process.done()
    _, report = case.report()
    found = [(f["rule"], f["verdict"], f["count"], f["closure"]) for f in report["findings"]]
    equal(found, [("CTP001", "proven", 1, "quiet")], describe(report))
    equal(report["trace"]["healthy_waiters"], 2, "healthy waiters")


def sleeps_in_set(process):
    with open(f"/proc/{process.program}/wchan", encoding="ascii") as f:
        return f.read().startswith(("poll_schedule", "do_poll", "do_sys_poll", "do_select"))


def settle(process):
    """Until the loop's thread has been seen asleep in its call, for longer than one tick of the witness."""
    until(lambda: sleeps_in_set(process), "the loop to sleep")
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        begun = switches(f.read())
    until(lambda: switches(open(f"/proc/{process.pid}/status", encoding="ascii").read()) > begun + 20, "turns of ctp-run")


def switches(status):
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("voluntary_ctxt_switches"))


def check_rings(case):
    """What waits through io_uring is not seen: the report says so."""
    number = ctypes.CDLL(None, use_errno=True).syscall(425, 1, ctypes.create_string_buffer(120))  # io_uring_setup
    if number < 0:
        raise Skip(f"no io_uring here: {os.strerror(ctypes.get_errno())}")
    os.close(number)
    process = ready(case, case.build / "tests/museum/m-ok001_io_uring")
    process.signal(signal.SIGTERM)
    process.done()
    _, report = case.report()
    equal(report["findings"], [], "findings")
    said = [f["message"] for f in report["facts"] if f["rule"] == "CTP030"]
    need("waits through io_uring and AIO are not seen: 1 ring" in said, f"facts: {report['facts']}")


def check_mute_peer(case):
    """Of six that wait in one place, as they should, one is not answered: the report leads there."""
    case.ctp(timeout(3), case.build / "tests/museum/m-ok001_mute_peer")
    _, report = case.report()
    equal(report["findings"], [], "findings")
    silent = [f for f in report["facts"] if "silent" in f["message"]]
    equal(len(silent), 1, f"facts: {report['facts']}")
    equal(silent[0]["count"], 1, "coroutines")
    need(re.fullmatch(r"1 coroutine is suspended for \S+ s in .* <- ask \S*ok001_mute_peer\.c:\d+, waiting for fd \d+ \(tcp 127\.0\.0\.1:\d+ .*\), "
                      r"peer silent; \d+ waits ended there after \S+ \S+ at most", silent[0]["message"]), silent[0]["message"])


def check_cancelled_other(case):
    """Of four that sleep, one is not resumed any more: the report leads there."""
    case.ctp(timeout(3), case.build / "tests/museum/m-ok003_cancelled_other")
    _, report = case.report()
    longer = [f["message"] for f in report["facts"] if "meanwhile" in f["message"]]
    equal(len(longer), 1, f"facts: {report['facts']}")
    need(re.fullmatch(r"coroutine \d+ is parked for \S+ \S+ in .*keep_house \S*ok003_cancelled_other\.c:\d+.*, where it was resumed \d+ times? before, "
                      r"after \S+ \S+ at most; others without a known wait were resumed \d+ times meanwhile", longer[0]), longer[0])


CHECKS = [(f"{fate}_{call}", lambda case, call=call, fate=fate, check=tried(check_fate) if fate == "lost" else check_fate: check(case, call, fate))
          for fate in FATES for call in CALLS]
CHECKS += [(f"stopped_{call}", lambda case, call=call: check_stopped(case, call)) for call in CALLS]
CHECKS += [("rings", check_rings), ("mute_peer", check_mute_peer), ("cancelled_other", check_cancelled_other)]
