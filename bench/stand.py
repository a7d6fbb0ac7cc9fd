# SPDX-License-Identifier: MIT
"""The bench: where the programs are, how they are built and run, and how runs are set side by side.

Machines are noisy, so nothing is measured alone: a round runs each way once, one right after the
other, and what is compared is runs of the same round."""
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

from figures import Missing

HERE = pathlib.Path(__file__).resolve().parent
WAYS = {"ucontext": "swapcontext", "fcontext": "Boost.Context", "jump": "siglongjmp"}
SOURCES = {"ucontext": "switch", "fcontext": "fcontext", "jump": "jump"}
TICK = os.sysconf("SC_CLK_TCK")
BOUND = 1200  # seconds for any one run


class Done:
    """A process that has ended: what it printed, its time on the clock, and its own and its children's CPU time."""

    def __init__(self, status, out, err, seconds, own, all_of_it):
        self.status, self.out, self.err, self.seconds, self.own, self.cpu = status, out, err, seconds, own, all_of_it


def cpu_seconds(pid):
    """CPU time of the process itself, also after its end and before it is waited for."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def exact_cpu_seconds(pid):
    """The same by the scheduler's own clock, of a process that lives."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks) * 1e-9


def status_bytes(pid, *names):
    """Sum of some rows of /proc/PID/status."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return sum(int(re.search(rf"^{n}:\s+(\d+) kB", text, re.M)[1]) * 1024 for n in names)


def available_bytes():
    return int(re.search(r"MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) * 1024


def child_of(pid):
    """The program that a ctp-run has started."""
    for _ in range(1000):
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise Missing("ctp-run has started nothing")


def region_bytes(pid):
    """What of the shared memory that ctp-run holds is in use."""
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        if os.readlink(fd).startswith("/memfd:"):
            return fd.stat().st_blocks * 512
    raise Missing("ctp-run holds no memfd")


def closing(done):
    """(switches, coroutines, lost) from ctp-run's last lines."""
    found = re.search(r"(\d+) switches, (\d+) coroutines?(?: in [^,]*)?, (\d+) lost", done.err)
    if not found:
        raise Missing(f"ctp-run said no counts: {done.err.strip()[-200:]}")
    return tuple(int(x) for x in found.groups())


def closing_events(done):
    """(events of the program's own that were recorded, lost) from ctp-run's last lines."""
    found = re.search(r"(\d+) events?, (\d+) lost", done.err)
    if not found:
        raise Missing(f"ctp-run said no events: {done.err.strip()[-200:]}")
    return tuple(int(x) for x in found.groups())


def tool(name):
    path = shutil.which(name)
    if not path:
        raise Missing(f"{name} is not installed")
    return path


class Process:
    """A process under way; its streams go to files, so that it never waits for us."""

    def __init__(self, stand, argv, env=None, stdin=subprocess.DEVNULL, cwd=None):
        environ = {k: v for k, v in os.environ.items() if not k.startswith("CTP_") and k != "LD_PRELOAD"}
        environ.update(env or {})
        self.files = [tempfile.TemporaryFile(dir=stand.dir) for _ in range(2)]
        self.argv = [str(a) for a in argv]
        self.began = time.monotonic()
        self.popen = subprocess.Popen(self.argv, env=environ, stdin=stdin, stdout=self.files[0], stderr=self.files[1],
                                      cwd=cwd or stand.dir)
        self.pid = self.popen.pid

    def text(self, which=0):
        size = os.fstat(self.files[which].fileno()).st_size
        return os.pread(self.files[which].fileno(), size, 0).decode(errors="replace")

    def over(self):
        """Whether it has ended; it can be waited for all the same."""
        return self.popen.returncode is not None or \
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def wait_for(self, start, bound=BOUND):
        """The line of its output that begins so, as soon as it is whole."""
        end = time.monotonic() + bound
        while True:
            over = self.over()
            for line in self.text().splitlines(keepends=True):
                if line.startswith(start) and line.endswith("\n"):
                    return line.strip()
            if over or time.monotonic() > end:
                raise Missing(f"{os.path.basename(self.argv[0])} did not say {start!r}: {self.text(1).strip()[-200:]}")
            time.sleep(0.01)

    def done(self, good=(0,)):
        over = select.poll()
        handle = os.pidfd_open(self.pid)
        over.register(handle, select.POLLIN)
        ended = over.poll(BOUND * 1000)
        seconds = time.monotonic() - self.began
        os.close(handle)
        if not ended:
            self.end()
            raise Missing(f"{' '.join(self.argv[:6])}: still running after {BOUND} s")
        own = cpu_seconds(self.pid)
        _, status, usage = os.wait4(self.pid, 0)
        self.popen.returncode = os.waitstatus_to_exitcode(status)
        if good is not None and self.popen.returncode not in good:
            said = (self.text(1) or self.text()).strip().splitlines() or ["?"]
            raise Missing(f"{os.path.basename(self.argv[0])} ended with {self.popen.returncode}: {said[-1][:200]}")
        return Done(self.popen.returncode, self.text(), self.text(1), seconds, own, usage.ru_utime + usage.ru_stime)

    def end(self, number=signal.SIGKILL):
        if self.popen.poll() is None:
            self.popen.send_signal(number)
            self.popen.wait(BOUND)


class Stand:
    def __init__(self, build, quick=False, rounds=None):
        self.build, self.quick = pathlib.Path(build).resolve(), quick
        self.rounds = rounds or (2 if quick else 7)
        self.few = 1 if quick else min(self.rounds, 3)  # rounds of what takes long
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ctp-bench-"))
        self.run_tool = self.build / "src/engine/ctp-run"
        self.analyze_tool = self.build / "src/analyze/ctp-analyze"
        self.ps_tool = self.build / "src/ps/ctp-ps"
        self.lib = self.build / "src/preload/libctp.so"
        self.trace = self.dir / "trace"
        self.points = {}  # of the plots: name -> series -> [(x, y)]
        self.programs, self.started, self.at_end, self.kept = {}, [], [], {}

    def close(self):
        for process in self.started:
            process.end()
        for undo in reversed(self.at_end):
            undo()
        shutil.rmtree(self.dir, ignore_errors=True)

    def size(self, full, quick):
        return quick if self.quick else full

    def program(self, name, *words, source):
        """bench/<source>, compiled with these words; once."""
        if name not in self.programs:
            path, out = HERE / source, self.dir / name
            if not path.exists():
                raise Missing(f"there is no bench/{source}")
            log = subprocess.run([tool("g++" if path.suffix == ".cpp" else "cc"), "-O2", "-w", f"-I{HERE}", path, "-o", out,
                                  "-pthread", *words], capture_output=True, text=True)
            why = next((x for x in log.stderr.splitlines() if "error" in x or "cannot find" in x), "")
            why = why.replace(str(HERE), "bench")[-160:]
            self.programs[name] = out if log.returncode == 0 else Missing(f"{path.name} does not build here: {why}")
        if isinstance(self.programs[name], Missing):
            raise self.programs[name]
        return self.programs[name]

    def switcher(self, way, suffix="", words=()):
        """The program that does nothing but switch."""
        source = SOURCES[way]
        more = ["-lboost_context"] if way == "fcontext" else []
        return self.program(f"bench-{source}{suffix}", *words, *more, source=f"{source}.c")

    def start(self, *argv, **kw):
        process = Process(self, argv, **kw)
        self.started.append(process)
        return process

    def run(self, *argv, good=(0,), **kw):
        return self.start(*argv, **kw).done(good)

    def ctp(self, *words, max_size="256M", trace=None):
        """The words that run what follows them under ctp-run."""
        return [self.run_tool, "-o", trace or self.trace, f"--max-size={max_size}", *words]

    def ctp_for(self, coroutines):
        """The same with a station for each, and for the threads' own stacks."""
        return self.ctp("-n", max(1000000, coroutines + 1000))

    def ctp_has(self, option):
        if "help" not in self.kept:
            self.kept["help"] = self.run(self.run_tool, "--help").out
        return option in self.kept["help"]

    def drop_traces(self):
        for path in self.dir.glob("trace*"):
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)

    def side_by_side(self, ways, rounds=None):
        """`ways`: name -> function that runs once and gives a number. Each round runs all, each time another one
        first. Gives name -> numbers; a way that cannot be measured has its Missing instead."""
        names, results = list(ways), {name: [] for name in ways}
        for i in range(rounds or self.rounds):
            for name in names[i % len(names):] + names[:i % len(names)]:
                if isinstance(results[name], Missing):
                    continue
                try:
                    results[name].append(ways[name]())
                except Missing as why:
                    results[name] = why
            self.drop_traces()
        return results
