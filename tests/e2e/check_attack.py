# SPDX-License-Identifier: MIT
"""A program that writes over the region that it shares with ctp-run: nobody else is harmed, and ctp-run stays small and ends."""
import os
import re
import signal
import sys

from check_run import NOBODY
from harness import Failed, Skip, child_of, equal, need, timed, timeout, tool, until

LIMIT_MB = 160  # what ctp-run may ever have in memory, whatever the region says: the words scribbled are 40 MB of pages
REAL_MB = 64    # what may become memory of the region after the program is done with it
SEEDS = range(1, 5)


def region_of(pid):
    """The first region that ctp-run holds, open for us, too."""
    for fd in sorted(map(int, os.listdir(f"/proc/{pid}/fd"))):
        try:
            if "memfd:ctp" in os.readlink(f"/proc/{pid}/fd/{fd}"):
                return os.open(f"/proc/{pid}/fd/{fd}", os.O_RDONLY)
        except OSError:
            continue
    raise Failed("ctp-run holds no region")


# A process's peak counts what its parent had when it was made: so a small parent makes it, and measures.
MEASURE = """
import os, signal, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
print("pid", pid, flush=True)
_, status, usage = os.wait4(pid, 0)
print("most", usage.ru_maxrss >> 10, flush=True)
code = os.waitstatus_to_exitcode(status)
sys.exit(code) if code >= 0 else os.kill(os.getpid(), -code)
"""


def measured(case, *words):
    """ctp-run with these words: (its parent, its pid)."""
    run = case.start(sys.executable, "-c", MEASURE, case.run_tool, *words)
    return run, int(run.wait_for("pid").split()[1])


def ended(run):
    """The status, and the most memory that it had, in MB."""
    done = run.done()
    return done.status, int(re.findall(r"^most (\d+)$", done.out, re.M)[-1])


def bounded(case, *words, statuses=(124,)):
    """ctp-run of the attack with these words ends as it should, and neither it nor the region grows."""
    run, pid = measured(case, "-f", timeout(1), "-o", "x", case.target("attack"), *words)
    until(lambda: "ready" in run.out() or run.popen.poll() is not None, "the attack")
    try:
        region = region_of(pid)
    except FileNotFoundError:  # it has ended: the attack was its own end
        need(run.done().status in statuses, f"{run.err()}")
        return
    try:
        before = os.fstat(region).st_blocks >> 11
        status, most = ended(run)
        real = os.fstat(region).st_blocks >> 11
    finally:
        os.close(region)
    need(status in statuses, f"status {status}: {run.err()}")
    need(most <= LIMIT_MB, f"ctp-run took {most} MB: {run.err()}")
    need(real - before <= REAL_MB, f"{real - before} MB more of the region became memory")
    disk = sum(os.stat(os.path.join(at, name)).st_blocks for at, _, names in os.walk(case.dir / "x") for name in names) >> 11
    need(disk <= REAL_MB, f"the trace takes {disk} MB")


def check_counts(case):
    bounded(case, "counts")


def scribble(seed):
    # what it writes over may be what the library's own handler of SIGTERM, or its exit, goes by
    return f"scribble.{seed}", lambda case: bounded(case, "scribble", seed, 10000, statuses=(124, -signal.SIGSEGV, -signal.SIGBUS))


def sentinel(case, **rights):
    return case.start(tool("sleep"), "600", **rights).popen


def check_ps(case):
    """ctp-ps reads what is there, and no more."""
    run = case.ctp_start(case.target("attack"), "counts")
    run.wait_for("ready")
    region = region_of(run.pid)
    try:
        before = os.fstat(region).st_blocks >> 11
        case.run(case.build / "src/ps/ctp-ps", child_of(run.pid))
        real = os.fstat(region).st_blocks >> 11
    finally:
        os.close(region)
    need(real - before <= REAL_MB, f"{real - before} MB more of the region became memory")
    run.end()


def check_ask(case, *options, word="ask"):
    """Whoever it names, nobody but the program itself is signalled."""
    strangers = [sentinel(case)]
    if not os.geteuid():
        strangers.append(sentinel(case, user=NOBODY, group=NOBODY, extra_groups=[]))
    pids = [p.pid for p in strangers]
    asked = [*pids, os.getpid(), 1, -1, -2, 2**31, *(hex(pid | 1 << 32) for pid in pids)]
    done = timed(lambda option: case.ctp(*options, option, case.target("attack"), word, *asked), 2)
    equal(done.status, 124, f"status: {done.err}")
    answers = [x for x in done.out.splitlines() if x.startswith("asked")]
    need(len(answers) >= len(pids) + 5, f"not all were asked: {done.out}")
    equal([x for x in answers[:len(pids) + 5] if not x.endswith("refused")], [], "answers")
    equal([p.poll() for p in strangers], [None] * len(strangers), "how the strangers ended")


def check_ask_engine(case):
    """Its own pid, and that of ctp-run, of which it knows by its parent."""
    for options in ((), ("-f",)):
        words = ("sh", "-c", f"exec '{case.target('attack')}' ask $PPID $$")
        done = timed(lambda option: case.ctp(*options, option, *words), 2)
        equal(done.status, 124, f"status: {done.err}")
        need(done.out.count("refused") == 2, f"answers: {done.out}")


def check_nobody(case):
    """It has no rights any more, and names who has."""
    if os.geteuid():
        raise Skip("needs root")
    check_ask(case, "-f", word="nobody")


def check_again(case):
    """A process that asks for another region, and has not become another program, gets none."""
    # after an exec: then ctp-run has seen for certain which image it is
    run = case.ctp_start("sh", "-c", f"exec '{case.target('attack')}' again 50")
    run.wait_for("ready")
    run.signal(signal.SIGTERM)
    equal(run.done().status, -signal.SIGTERM, f"status: {run.err()}")
    equal(run.out().count("refused"), 50, "refusals")
    equal(sorted(x for x in os.listdir(case.dir / "ctp.data/ctp") if x.startswith("image")), ["image0", "image1"], "images")


def check_chain(case):
    """A program that calls exec again and again is traced to its end, each image's switches once."""
    run, _ = measured(case, case.target("attack"), "chain", 150)
    status, most = ended(run)
    equal(status, 0, f"status: {run.err()}")
    need(most <= LIMIT_MB, f"ctp-run took {most} MB")
    need("906 switches, 453 coroutines, 0 lost" in run.err(), f"counts: {run.err()}")


def check_layout(case):
    """What the program says of the region's layout does not come into the trace."""
    equal(timed(lambda option: case.ctp(option, case.target("attack"), "layout"), 1).status, 124, "status")
    status, report = case.report()
    equal((status, report["trace"]["switches"], report["trace"]["coroutines"]["total"]), (0, 6, 3), "the report")


def check_orphan(case):
    """An orphan that is another program already when it asks is traced, but not signalled, and not waited for at the end."""
    done = timed(lambda option: case.ctp("-f", option, case.target("attack"), "orphan"), 2, lambda done: "orphan" in done.out)
    pid = int(re.search(r"^orphan (\d+)$", done.out, re.M)[1])
    equal(done.status, 124, f"status: {done.err}")
    need("in 2 processes" in done.err, f"it was not traced: {done.err}")
    os.kill(pid, signal.SIGKILL)  # it is there
    need(any("not certain" in x for x in case.report()[1]["trace"]["coverage"]), "nor does the trace say so")


CHECKS = [("counts", check_counts), ("ps", check_ps), *map(scribble, SEEDS),
          ("ask.f", lambda case: check_ask(case, "-f")), ("ask.default", check_ask), ("ask_engine", check_ask_engine),
          ("nobody", check_nobody), ("again", check_again), ("chain", check_chain), ("orphan", check_orphan), ("layout", check_layout)]
