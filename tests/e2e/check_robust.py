# SPDX-License-Identifier: MIT
"""Rough company: terminals, users without rights, limits, children, crowds."""
import contextlib
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import time

from check_run import NOBODY, as_nobody, complete, says, small_disk, status_of
from harness import OURS, ROOT, Failed, Process, Skip, child_of, equal, gone, need, patience, proc_state, timed, tool, until

SHELL = "bash"


class Terminal:
    """An interactive shell with job control on a terminal of its own."""

    def __init__(self, case, words=()):
        self.text, self.seen, self.case = "", 0, case
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            os.chdir(case.dir)
            env = {"PATH": os.environ["PATH"], "PS1": "$ ", "TERM": "dumb", "HOME": str(case.dir)}
            os.execvpe(SHELL, [SHELL, "--norc", "--noprofile", "--noediting", "-i", *words], env)
        self.expect("$ ")

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        self.type(text + "\n")
        self.expect("\n")  # its echo

    def expect(self, what):
        """Waits for `what` (a word or a pattern) behind what was seen before; returns what came with it."""
        pattern = what if isinstance(what, re.Pattern) else re.compile(re.escape(what))
        end = time.monotonic() + patience()
        while True:
            found = pattern.search(self.text, self.seen)
            if found:
                before, self.seen = self.text[self.seen:found.end()], found.end()
                return before
            if time.monotonic() > end or not self.read():
                raise Failed(f"the terminal never showed {what!r}: {self.text[-2000:]!r}")

    def read(self):
        if not select.select([self.fd], [], [], 1)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def status(self):
        """What $? is, once the prompt is there."""
        self.line("echo status=$?.")
        return int(re.search(r"status=(\d+)\.", self.expect(re.compile(r"status=\d+\.")))[1])

    def child(self):
        """The pid of the program that ctp-run started on this terminal, if there is one."""
        with contextlib.suppress(OSError, IndexError):
            def kids(pid):
                return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            return int(kids(kids(self.pid)[0])[0])
        return None

    def close(self):
        with contextlib.suppress(OSError):
            os.close(self.fd)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@contextlib.contextmanager
def terminal(case):
    t = Terminal(case)
    try:
        yield t
    finally:
        t.close()


def ways(case, *words):
    return [case.target("ways"), *[str(w) for w in words]]


def same(case, words, switches=None, status=0, options=()):
    """As without us: status, stdout, stderr but for our lines; and every switch is there."""
    bare = case.run(*words)
    done = case.ctp(*options, *words)
    equal(bare.status, status, f"the bare program's status ({bare})")
    equal((done.status, done.out), (bare.status, bare.out), "status and stdout")
    equal([x for x in done.err.splitlines() if not x.startswith(OURS)], bare.err.splitlines(), "stderr")
    if switches is None:
        found = re.search(r"^switches (\d+)$", done.out, re.M)
        switches = int(found[1]) if found else None
    if switches is not None and "--overflow=drop" in options:
        trace, shown = case.report()[1]["trace"], case.switches()
        equal(trace["switches"], switches, "switches by the tables")
        need(shown <= switches <= shown + trace["lost"], f"{shown} shown, {trace['lost']} lost, of {switches}")
    elif switches is not None:
        equal(complete(case), switches, "switches")
    return done


# ---- terminals

def check_tty_interrupt(case):
    with terminal(case) as t:
        for key, status in (("\x03", 130), ("\x1c", 131)):
            t.line(f"{case.run_tool} --overflow=block {case.target('misc')} forever")
            t.expect("ready")
            t.type(key)
            t.expect("run: ctp-analyze")
            t.expect("$ ")
            equal(t.status(), status, "status that the shell sees")
            t.expect("$ ")
            complete(case)


def check_tty_graceful(case):
    with terminal(case) as t:
        t.line(f"{case.run_tool} --overflow=block {case.target('ways')} graceful")
        t.expect("ready")
        t.type("\x03")
        t.expect("got 2\n")
        t.expect("$ ")
        equal(t.status(), 0, "status")
        complete(case)


def check_tty_stop(case):
    with terminal(case) as t:
        t.line(f"{case.run_tool} --overflow=block {case.target('misc')} forever")
        t.expect("ready")
        for _ in range(2):
            t.type("\x1a")
            t.expect("Stopped")
            t.expect("$ ")
            t.line("fg")
            t.expect("forever")
            until(lambda: t.child() and proc_state(t.child()) == "R", "the program to go on")
        t.type("\x03")
        t.expect("run: ctp-analyze")
        t.expect("$ ")
        equal(t.status(), 130, "status")


def check_tty_reads(case):
    """The program reads its terminal, and stops when it does so in the background."""
    with terminal(case) as t:
        t.line(f"{case.run_tool} -q {case.target('misc')} cat")
        t.type("hello\n")
        t.expect("hello\nhello\n")
        t.type("\x04")
        t.expect("cat: done")
        t.expect("$ ")
        t.line(f"{case.run_tool} -q {case.target('misc')} cat &")
        t.expect("$ ")
        bound = time.monotonic() + patience()
        while time.monotonic() < bound:
            t.line("jobs; echo end=")
            if "Stopped" in t.expect("end="):
                break
            t.expect("$ ")
        else:
            raise Failed("never stopped")
        t.expect("$ ")
        t.line("fg")
        t.expect("cat")
        t.type("again\n")
        t.expect("again\nagain\n")
        t.type("\x04")
        t.expect("cat: done")


def check_tty_hangup(case):
    """The terminal goes away: so does the program, and the trace is whole."""
    t = Terminal(case)
    try:
        t.line(f"{case.run_tool} --overflow=block {case.target('misc')} forever")
        t.expect("ready")
    finally:
        os.close(t.fd)
        os.waitpid(t.pid, 0)
    trace = case.dir / "ctp.data/ctp/trace.json"
    until(lambda: '"complete":true' in trace.read_text(), "the end of the trace")
    complete(case)


# ---- signals

def check_background(case):
    """As a shell without job control starts it: SIGINT ignored, and so it stays."""
    done = case.run("sh", "-c", f"{case.run_tool} {case.target('ways')} dispositions & wait $!")
    need("int ignored\nhup default" in done.out, done.out)
    done = case.run("nohup", case.run_tool, case.target("ways"), "dispositions")
    need("hup ignored" in done.out, done.out)


def check_ignored_interrupt(case):
    """SIGINT to ctp-run alone goes on; where it was ignored from the start it does nothing."""
    process = case.ctp_start(*ways(case, "graceful"))
    process.wait_for("ready")
    process.signal(signal.SIGINT)
    done = process.done()
    equal((done.status, done.out), (0, "ready\ngot 2\n"), "status")


def check_once(case):
    """A signal to ctp-run reaches the program once; one to both, once each."""
    process = case.ctp_start(*ways(case, "counts"))
    process.wait_for("ready")
    for i, number in enumerate((signal.SIGHUP, signal.SIGUSR1, signal.SIGWINCH, signal.SIGCONT)):
        process.signal(number)
        until(lambda: process.out().count("one") > i, "the signal")
    process.signal(signal.SIGUSR2)
    need("hup 1 usr1 1 winch 1 cont 1\n" in process.done().out, process.out())


def check_stopped(case):
    """SIGSTOP to the program is its own affair: ctp-run waits, and it goes on."""
    process = case.ctp_start(*ways(case, "graceful"))
    process.wait_for("ready")
    program = child_of(process.pid)
    os.kill(program, signal.SIGSTOP)
    until(lambda: proc_state(program) == "T", "the stop")
    need(proc_state(process.pid) != "T", "ctp-run has stopped, too")
    os.kill(program, signal.SIGCONT)
    process.signal(signal.SIGINT)
    equal(process.done().status, 0, "status")


def check_term_stopped(case):
    """SIGTERM to ctp-run while the program stands still: the snapshot does not wait for it."""
    process = case.ctp_start("--overflow=block", case.target("misc"), "forever")
    process.wait_for("ready")
    program = child_of(process.pid)
    os.kill(program, signal.SIGSTOP)
    until(lambda: proc_state(program) == "T", "the stop")
    process.signal(signal.SIGTERM)
    until(lambda: (case.dir / "ctp.data/ctp/image0/snapshot/ext").exists(), "the snapshot")
    os.kill(program, signal.SIGCONT)
    equal(process.done().status, -signal.SIGTERM, "status")
    complete(case)


def check_timeout_ignored(case):
    done = status_of(case, 124, "--timeout=0.2", "--overflow=block", *ways(case, "ignores"))
    complete(case)


# ---- what the program does

def check_closes(case):
    same(case, ways(case, "closes"), 8008)


def check_chroot(case):
    if os.geteuid() != 0:
        raise Skip("needs root, to chroot")
    same(case, ways(case, "chroot"), 412)


def check_family(case):
    same(case, ways(case, "children"), 110)
    process = case.ctp_start("-q", *ways(case, "daemon"))
    equal(process.done().status, 0, "status")
    until(lambda: process.out() == "daemon done\n", "the daemon's end")


def check_threads(case):
    same(case, ways(case, "threads", 1500), options=["--overflow=drop"])
    same(case, ways(case, "threads", 4000), options=["--overflow=block"])
    same(case, ways(case, "short-threads", 1000), options=["--overflow=block"])


def check_thread_ends_inside(case):
    """A coroutine in which its thread ended is finished."""
    same(case, ways(case, "ends-inside", 50))
    counts = case.report()[1]["trace"]["coroutines"]
    equal((counts["running"], counts["finished"]), (0, 100), "running, finished")


def check_crowd(case):
    """More threads than slots: the rest runs untraced, and it is said."""
    bare = case.run(*ways(case, "crowd", 1100))
    if bare.status != 0:
        raise Skip("no 1100 threads here")
    done = case.ctp("--ring-size=64M", *ways(case, "crowd", 1100))  # so large that there are 1,024
    equal((done.status, done.out), (0, bare.out), "status and stdout")
    report = case.report()[1]
    need(report["trace"]["lost"] > 0, "nothing lost")
    need(any("slot" in f["message"] for f in report["facts"]) or any("slot" in c for c in report["trace"]["coverage"]),
         f"does not say so: {report['facts']}")


def all_there(case, switches):
    """Of so many threads that no reader can open their streams at one time."""
    trace = case.report()[1]["trace"]
    equal((trace["switches"], trace["lost"]), (switches, 0), "switches, lost")


def check_crowd_block(case):
    """With --overflow=block nothing is lost, however many threads there are."""
    if case.run(*ways(case, "crowd", 3000)).status != 0:
        raise Skip("no 3000 threads here")
    done = case.ctp("--overflow=block", *ways(case, "crowd", 3000))
    equal((done.status, done.out), (0, "all done\n"), "status and stdout")
    all_there(case, 36000)


def naps(pid):
    """How often one of its threads, but the first, has gone to sleep."""
    most = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            text = (task / "status").read_text() if int(task.name) != pid else ""
        except OSError:
            continue
        most = max([most, *map(int, re.findall(r"^voluntary_ctxt_switches:\s*(\d+)", text, re.M))])
    return most


def check_slot_block(case):
    """--overflow=block: a thread for which there is no slot left waits for it as long as ctp-run lives."""
    words = ways(case, "short-threads", 20000)
    process = case.ctp_start("--ring-size=64M", "--overflow=block", *words)
    program = child_of(process.pid)
    until(lambda: list(case.dir.glob("ctp.data/t*")), "a stream")
    process.signal(signal.SIGSTOP)
    until(lambda: naps(program) > 12000, "a thread that waits")
    process.signal(signal.SIGCONT)
    equal(process.done().status, 0, "status")
    all_there(case, 8 * 20000)


def check_ticks(case):
    """A signal handler at 1 kHz that reads, writes and closes."""
    same(case, ways(case, "ticks", 300000), options=["--overflow=block"])


def check_preempted(case):
    """Timers that swap coroutines away wherever they are, hooks included: what was not seen is counted."""
    for threads in (1, 3):
        bare = case.run(case.target("preempt"), "8", "3000", threads)
        done = case.ctp("--overflow=block", case.target("preempt"), "8", "3000", threads)
        equal((bare.status, done.status), (0, 0), f"status ({done})")
        truth = int(re.search(r"switches (\d+)", done.out)[1])
        trace = case.report()[1]["trace"]
        equal(trace["switches"] + trace["lost"], truth, f"{trace['switches']} switches seen and {trace['lost']} lost")


# Not called from a coroutine's stack, or only to end: then it is enough that they do end.
NO_STACK = {"__libc_start_main": "called before main", "exit": "ends", "_exit": "ends", "_Exit": "ends", "quick_exit": "ends",
            "pthread_cond_wait": "returns only when told: as pthread_cond_timedwait"}


def hooks():
    """The interposed functions; those of a library that may be absent are marked MAYBE."""
    text = (ROOT / "src/preload/guest/hooks.def").read_text()
    return re.findall(r"^(HOOK|MAYBE|STAYS)\((\w+)\)", text, re.M)


def check_little_stack(case):
    """What hooks add to a coroutine's stack is small, each of them, the first time too; and 2 KiB are enough."""
    def measured(done):
        equal(done.status, 0, f"{done}")
        return {name: (int(first), int(later)) for name, first, later in (x.split() for x in done.out.splitlines()[:-1])}
    bare = measured(case.run(case.target("stack")))
    ours = measured(case.ctp("-q", case.target("stack")))
    for kind, name in hooks():
        need(name in ours or name in NO_STACK or kind == "MAYBE", f"t-stack has no row that calls {name}: give it one")
    for name, needs in ours.items():
        # dlclose: some functions are looked up again. Of the 720, up to 120 are the vDSO's where it reads no TSC.
        again = 1536 if name == "dlclose" else 720
        for one, other, room in zip(needs, bare[name], (max(1024, again), again)):
            need(one - other <= room, f"{name} needs {one} bytes of stack, not {other}")
    equal(case.run(case.target("stack"), "tiny", "2048").status, 0, "the bare program's status on 2 KiB")
    equal(case.ctp("-q", case.target("stack"), "tiny", "2048").status, 0, "status on 2 KiB")
    for name, why in NO_STACK.items():
        if why == "ends":
            equal(case.ctp("-q", case.target("stack"), "exit", name, "4096").status, 0, f"status of {name} on a page")


def check_exec_static(case):
    """An image into which nothing can be preloaded follows: the trace says so."""
    for words in (["sh", "-c", f"exec {case.target('static')} run 5"], ["sh", "-c", f"exec {case.target('static')} exit 3"]):
        bare = case.run(*words)
        done = case.ctp(*words)
        equal((done.status, done.out), (bare.status, bare.out), "status and stdout")
        coverage = case.report()[1]["trace"]["coverage"]
        need(any("static" in c for c in coverage), f"coverage: {coverage}")


def check_disk_full_tables(case):
    """History gives way: the last tables find room, and what is left of it can be read."""
    for size in ("1m", "64k"):
        with small_disk(case, size) as disk:
            done = case.ctp("--overflow=block", "-o", disk / "t", case.target("counts"), "basic", "100000")
            equal(done.status, 0, f"status ({done})")
            equal(sum("cannot write" in x for x in done.err.splitlines()), 1, f"one line about it ({done.err})")
            trace = case.report(disk / "t")[1]["trace"]
            equal((trace["switches"], trace["coroutines"]["finished"]), (2000020, 10), "by the tables")
            shown = case.switches(disk / "t")
            need(size == "64k" or shown > 0, "no history at all")
        (case.dir / "disk").rmdir()


def check_block_engine_killed(case):
    """--overflow=block, and ctp-run is killed: the program goes on, to the same end."""
    bare = case.run(*ways(case, "threads", 30000))
    process = case.ctp_start("--overflow=block", *ways(case, "threads", 30000))
    program = child_of(process.pid)
    until(lambda: list(case.dir.glob("ctp.data/t*")), "a stream")
    os.kill(process.pid, signal.SIGKILL)
    process.popen.wait()
    until(lambda: gone(program), "the program's end")
    equal(process.out(), bare.out, "what the program said")


def built_with(case, flag):
    """The counting program, built with a sanitizer."""
    program, sources = case.dir / "sanitized", pathlib.Path(__file__).resolve().parents[1] / "targets"
    done = case.run(tool("gcc"), "-g", "-O1", "-w", "-D_GNU_SOURCE", *flag.split(),
                    *[sources / f for f in ("counts.c", "odd.c", "co.c", "must.c")], "-o", program, "-lpthread")
    if done.status != 0:
        raise Skip(f"gcc cannot build with {flag}")
    return program


def check_sanitizers(case):
    for flag in ("-fsanitize=address", "-fsanitize=address -static-libasan", "-fsanitize=thread"):
        program = built_with(case, flag)
        for words in (["basic"], ["threads"]):
            bare = case.run(program, *words)
            done = case.ctp("--overflow=block", program, *words)
            equal((done.status, done.out), (bare.status, bare.out), f"{flag}: status and stdout ({done})")
            need("ThreadSanitizer" not in done.err and "ERROR" not in done.err, f"{flag}: {done.err[:3000]}")
            equal(case.report()[1]["trace"]["switches"], int(re.search(r"switches (\d+)", done.out)[1]), flag)


def check_data_limit(case):
    """What is reserved for threads that may come does not count against RLIMIT_DATA."""
    def data(*words):
        done = case.run(*words, tool("grep"), "VmData", "/proc/self/status")
        return int(done.out.split()[1])
    bare, ours = data(), data(case.run_tool, "-q")
    need(ours - bare < 4096, f"{ours - bare} KiB more data than without us ({bare})")


def check_serves_page_faults(case):
    """A program with a userfaultfd: nobody reads its memory while the thread that serves its faults is held."""
    done = timed(lambda option: case.ctp(option, case.target("userfault")), 2, lambda done: done.out.startswith("re"))
    if done.out.startswith("refused"):
        raise Skip("the kernel gives no userfaultfd")
    equal(done.status, 124, "status")
    found = [f for f in case.report()[1]["findings"] if f["rule"] == "CTP001"]
    equal([f["verdict"] for f in found], ["likely"], "the lost coroutine")
    need(any("userfaultfd" in (e["text"] or "") for e in found[0]["evidence"]), f"why no more: {found[0]['evidence']}")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items())
          if name.startswith("check_") and callable(function) and function.__module__ == __name__]
