# SPDX-License-Identifier: MIT
"""What the end-to-end checks share: a check's own directory, its processes
(each bounded in time, each ended by its pid), and runs of the ctp commands.

A check is a function that takes a Case; it raises Failed (or AssertionError)
with the reason, or Skip. Nothing here measures time: a wait is for an event,
and its bound only keeps a hang from being for ever.
"""
import functools
import json
import math
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOUND = 60  # seconds for anything that ought to happen, where nobody else uses the machine
HELPER_BOUND = 600  # for a helper, which may be a compiler


def patience(bound=BOUND):
    """How many seconds `bound` is on this machine as it is now: more, the more processes share a CPU."""
    return bound * max(1, os.getloadavg()[0] / (os.cpu_count() or 1))


def timeout(seconds):
    """The option by which ctp-run ends a program that takes so long to come to where it stays."""
    return f"--timeout={patience(seconds):.1f}"


def timed(run, seconds, came=lambda done: "ready" in done.out):
    """The end of what run(option) runs, a ctp-run that is given the option --timeout: with more time, where a busy machine left
    the program none to come to where it stays."""
    for times in (1, 10, 100):
        done = run(timeout(times * seconds))
        if came(done):
            break
    return done


OURS = ("ctp-run: ", "ctp: ")  # how lines of ctp-run, and of libctp.so in the program, begin


TOLD = re.compile(r"^ctp-run: (CTP\d{3}) (likely|proven) so far: (\d+) coroutines?(?: at (.+))?; see ctp-ps (\d+)$", re.M)


def closing(err):
    """ctp-run's lines, and libctp.so's, but for those of findings while the program ran: those of its end."""
    return [x for x in err.splitlines() if x.startswith(OURS) and not TOLD.match(x)]


REPEATS = 2  # at most, of a check for which a busy machine left no time: alone, after all others


def no_time(text):
    """Does evidence that stands in it say that ctp-run had no time to look?"""
    return re.search(r"\bno time to look\b|\bnot searched in time\b", text) is not None


FEW, STEADY = 3, 5
CRASH = re.compile(r"status -\d|\bSIG(SEGV|BUS|ILL|FPE|ABRT|TRAP)\b|core dumped|Sanitizer", re.I)
GRAVE = re.compile(CRASH.pattern + r"|\bproven\b", re.I)


def settle(failed, again, tell):
    """Tells how checks ended that failed once: `failed`, a dict from name to text; none of them by a wrong PROVEN or a crash, which no second run
    excuses. Where they are few, one that then passes STEADY times alone (`again(name)`: did it pass?) is told as unsteady: a defect to be mended,
    that does not fail the run."""
    for name, text in failed.items():
        steady = len(failed) <= FEW and all(again(name) for _ in range(STEADY))
        if steady:
            print(f"unsteady {name}: it failed once, and passed {STEADY} times alone", flush=True)
        tell(name, *(("ok", "") if steady else ("FAIL", text)))


class Skip(Exception):
    """The check cannot be made here; the reason is its text."""


class Failed(Exception):
    """The check found what it must not find."""


def need(condition, why):
    if not condition:
        raise Failed(why)


def equal(got, want, what):
    if got != want:
        raise Failed(f"{what}: got {got!r}, want {want!r}")


def tool(name):
    """The path of a command that a check needs, or the reason to skip it."""
    path = shutil.which(name)
    if not path:
        raise Skip(f"{name} is not installed")
    return path


class Done:
    """A process that has ended."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"status {self.status}\nstdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}"


class Popen(subprocess.Popen):
    """Knows when (CLOCK_BOOTTIME) it was reaped."""
    reaped = math.inf

    def _noted(self, status):
        if status is not None and self.reaped == math.inf:
            self.reaped = time.clock_gettime(time.CLOCK_BOOTTIME)
        return status

    def poll(self):
        return self._noted(super().poll())

    def wait(self, timeout=None):
        return self._noted(super().wait(timeout))


def ended(popen, seconds):
    """Waits so long for its end, and is woken by it (Popen.wait looks only now and then)."""
    if popen.poll() is None:
        fd = os.pidfd_open(popen.pid)
        try:
            select.select([fd], [], [], seconds)
        finally:
            os.close(fd)
    return popen.poll() is not None


class Process:
    """A process under way: its streams go to files, so that it never waits for us."""

    def __init__(self, case, argv, env=None, stdin=None, **kw):
        case.runs += 1
        self.out_path = case.dir / f"out.{case.runs}"
        self.err_path = case.dir / f"err.{case.runs}"
        environ = {k: v for k, v in os.environ.items() if not k.startswith("CTP_") and k != "LD_PRELOAD"}
        environ.update(env or {})
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.popen = Popen(
                [str(a) for a in argv], cwd=kw.pop("cwd", case.dir), env=environ, stdout=out, stderr=err,
                stdin=subprocess.DEVNULL if stdin is None else stdin, start_new_session=True, **kw)
        self.pid = self.popen.pid
        self.argv = argv

    def out(self):
        return self.out_path.read_text(errors="replace")

    def err(self):
        return self.err_path.read_text(errors="replace")

    def wait_for(self, line, stream="out"):
        """Waits until a line that begins so has been printed; returns it."""
        def look():
            text = self.out() if stream == "out" else self.err()
            whole = text if self.popen.poll() is not None else text[:text.rfind("\n") + 1]
            return next((x for x in whole.splitlines() if x.startswith(line)), None)
        found = until(lambda: look() or self.popen.poll() is not None, f"{line!r} from {self.argv}")
        found = look()
        if not found:
            raise Failed(f"ended before it said {line!r}: {self.done()}")
        return found

    def signal(self, number):
        if self.popen.poll() is None:
            os.kill(self.pid, number)

    def done(self, bound=BOUND):
        """Waits for the end; what it was."""
        status = self.end_of(bound)
        return Done(status, self.out(), self.err())

    def end_of(self, bound=BOUND):
        begun = time.monotonic()
        while not ended(self.popen, 1):
            if time.monotonic() - begun > patience(bound):
                raise Failed(f"still running after {time.monotonic() - begun:.0f} s: {self.argv}\n"
                             f"{self.out()[-1000:]}\n{self.err()[-1000:]}")
        return self.popen.returncode

    def end(self):
        """Ends it, and what it left behind in its session, each by its pid."""
        end_all([self])


def end_all(processes):
    """Ends them, and what lives in their sessions. The number of one that was reaped may be another's by now: whoever began
    later, and is no child of one that did not, is none of theirs."""
    until_when = {}
    for p in processes:
        until_when[p.pid] = max(until_when.get(p.pid, 0), p.popen.reaped)
    ours = set()
    for pid, parent, sid, began in sorted(living(), key=lambda x: x[3]):
        if sid in until_when and (began <= until_when[sid] or parent in ours):
            ours.add(pid)
    for pid in ours:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    for process in processes:
        if process.popen.poll() is None:
            process.popen.kill()
        process.popen.wait(patience())


def living():
    """(pid, parent, session, when it began in seconds of CLOCK_BOOTTIME) of each process that is no zombie."""
    tick = os.sysconf("SC_CLK_TCK")
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as f:
                    fields = f.read().rsplit(b")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != b"Z":
                yield int(entry), int(fields[1]), int(fields[3]), int(fields[19]) / tick


def session_members(sids):
    return [pid for pid, _, sid, _ in living() if sid in sids]


def until(condition, what, bound=BOUND, every=0.02):
    """Waits until the condition, asked every so many seconds, gives something true, and returns it."""
    begun = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() - begun > patience(bound):
            raise Failed(f"waited {time.monotonic() - begun:.0f} s in vain for {what}")
        time.sleep(every)


_shared = []


def end_shared():
    for place in _shared:
        shutil.rmtree(place, ignore_errors=True)


def holds(line):
    """obligation -> what the engine saw, of one witness line"""
    return {e["id"]: e["holds"] for e in line["evidence"]}


def proven_by_witness(lines, count):
    """Has the witness, for so many coroutines, one way of P6?"""
    good = set()
    for line in lines:
        seen = holds(line)
        if seen.get("P6a") is True or seen.get("P6b") is True:
            good.add(line["coroutine"])
    return len(good) >= count


TRIES = 3


def led_to(folder):
    """Has a witness in the folder found a word that leads to a coroutine? Where nothing should, one does so by chance now and
    then: where mappings lie is chance, and a number or a leftover of a stack may be an address."""
    return any(holds(json.loads(line)).get("P6a") is False
               for path in folder.rglob("witness.jsonl") for line in path.read_text().splitlines(keepends=True) if line.endswith("\n"))


def tried(check):
    """The check of what must be PROVEN, again if it fails and a word led to the coroutine."""
    @functools.wraps(check)
    def run(case, *args, **kw):
        for _ in range(TRIES - 1):
            try:
                return check(case, *args, **kw)
            except (Failed, AssertionError):
                if not led_to(case.dir):
                    raise
                case.anew()
        return check(case, *args, **kw)
    return run


def seen_by_witness(lines, count):
    return len({line["coroutine"] for line in lines}) >= count


_ports, _ports_lock = set(), threading.Lock()


def free_port():
    """A port for TCP and UDP, from below those that connections and listeners are given: none of them takes it before the program
    does, nor does another check that is given one."""
    low = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(1000):
        port = random.randrange(1024, max(low, 2048))
        with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            try:
                tcp.bind(("127.0.0.1", port))
                udp.bind(("127.0.0.1", port))
            except OSError:
                continue
        with _ports_lock:
            if port not in _ports:
                _ports.add(port)
                return port
    raise Skip("no free port")


CLOCKSOURCE = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


class Case:
    """One check under way."""

    @staticmethod
    def shared():
        """A directory that outlives the check; gone when all have run."""
        place = tempfile.mkdtemp(prefix="ctp-e2e-shared-")
        _shared.append(place)
        return place

    def __init__(self, name, build):
        self.name, self.build, self.runs = name, pathlib.Path(build), 0
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ctp-e2e-"))
        self.dir.chmod(0o755)
        self.started = []
        self.run_tool = self.build / "src/engine/ctp-run"
        self.analyze_tool = self.build / "src/analyze/ctp-analyze"
        self.lib = self.build / "src/preload/libctp.so"

    def anew(self):
        """Back to how it was when the check began."""
        end_all(self.started)
        self.started.clear()
        for path in self.dir.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def close(self):
        end_all(self.started)
        shutil.rmtree(self.dir, ignore_errors=True)

    def target(self, name):
        return self.build / "tests/targets" / f"t-{name}"

    def start(self, *argv, **kw):
        process = Process(self, argv, **kw)
        self.started.append(process)
        return process

    def run(self, *argv, **kw):
        return self.start(*argv, **kw).done(HELPER_BOUND)

    def ctp_by_tsc(self, *argv, before=(), **kw):
        """As ctp(), on a machine whose kernel keeps time by the TSC, or seems to: only then libctp reads it, and
        only then a switch takes the fast path. For counts, not for times."""
        if CLOCKSOURCE.read_text().strip() == "tsc":
            return self.run(*before, self.run_tool, *argv, **kw)
        name = self.dir / "tsc"
        name.write_text("tsc\n")
        shown = [tool("unshare"), "-m", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", name, CLOCKSOURCE]
        if not hasattr(Case, "no_tsc"):
            tried = self.run(*shown, "true")
            Case.no_tsc = tried.status and (tried.err.strip() or "refused")
        if Case.no_tsc:
            raise Skip(f"the kernel does not keep time by the TSC, and that cannot be hidden here: {Case.no_tsc}")
        return self.run(*shown, *before, self.run_tool, *argv, **kw)

    def ctp_start(self, *argv, **kw):
        return self.start(self.run_tool, *argv, **kw)

    def ctp(self, *argv, **kw):
        """ctp-run with these words, to its end."""
        return self.ctp_start(*argv, **kw).done()

    def found(self, *words, count=1, trace="ctp.data", enough=proven_by_witness):
        """ctp-run with these words, until its witness has what proves so many lost; then the program is killed."""
        for left in reversed(range(TRIES)):
            process = self.ctp_start(*words)
            process.wait_for("ready")
            try:
                until(lambda: enough(witness(self.dir / trace), count), "what the witness says", BOUND / TRIES)
                break
            except Failed:
                process.end()
                if not left or not led_to(self.dir / trace):
                    raise
        os.kill(child_of(process.pid), signal.SIGKILL)
        return process.done()

    def analyze(self, trace="ctp.data", *words):
        return self.run(self.analyze_tool, *words, trace)

    def report(self, trace="ctp.data", *words, validated=True):
        """(exit status, the JSON report), validated against the schema (which takes longer than to make it)."""
        done = self.analyze(trace, "--format=json", *words)
        try:
            report = json.loads(done.out)
        except ValueError as error:
            raise Failed(f"not JSON ({error}): {done}")
        accounts_for_all(report)
        if validated:
            validate(report)
        return done.status, report

    def switches(self, trace="ctp.data"):
        """The switches that babeltrace2 shows; it must not complain."""
        process = self.start(tool("babeltrace2"), trace)
        status = process.end_of(HELPER_BOUND)
        need(status == 0 and process.err() == "", f"babeltrace2 complains: {process.err()[:2000]}")
        return process.out_path.read_bytes().count(b" ctp:switch")  # once in a line; there may be millions


# Of a wait, or of a circle of them: who is in one of these is not counted by its wait.
ABOUT_A_WAIT = {f"CTP{n:03}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 25, 27, 28, 29, 31)}


def accounts_for_all(report):
    """Each suspended coroutine is in one part of the accounting, and the parts say what the rest of the report says."""
    parts = dict(report["accounting"])
    suspended = parts.pop("suspended")
    equal(sorted(parts), ["healthy", "in_findings", "parked", "pooled", "undecided"], "the parts of the accounting")
    equal(sum(parts.values()), suspended, f"suspended coroutines that are accounted for, of {parts}")
    equal(suspended, report["trace"]["coroutines"]["suspended"], "suspended, in the accounting")
    found = {(c["pid"], c["id"]) for f in report["findings"] if f["rule"] in ABOUT_A_WAIT for c in f["coroutines"]}
    need(parts["in_findings"] <= len(found), f"{parts['in_findings']} are in findings, which have {len(found)}")
    gone = sum(report["trace"]["coroutines"][x] or 0 for x in ("running", "destroyed", "finished"))
    need(len(found) <= parts["in_findings"] + gone, f"{len(found)} in findings, {parts['in_findings']} of them counted")
    need(parts["healthy"] >= report["trace"]["healthy_waiters"], f"fewer healthy ones than healthy waiters: {parts}")


_validator = None


def validate(report):
    """Against spec/report.schema.json; without python3-jsonschema not at all."""
    global _validator
    schema = ROOT / "spec/report.schema.json"
    if _validator is None:
        try:
            import jsonschema
        except ImportError:
            return
        rules = json.loads(schema.read_text())
        jsonschema.Draft202012Validator.check_schema(rules)
        _validator = jsonschema.Draft202012Validator(rules)
    error = next(_validator.iter_errors(report), None)
    if error:
        raise Failed(f"the report breaks the schema at {list(error.absolute_path)}: {error.message[:500]}")


def proc_state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def gone(pid):
    """Has it ended? Also where nobody has collected its status yet."""
    try:
        return proc_state(pid) == "Z"
    except OSError:
        return True


def child_of(pid, name=None):
    """The pid of the program that ctp-run, at pid, started."""
    def look():
        try:
            kids = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return None
        for kid in kids:
            try:
                comm = pathlib.Path(f"/proc/{kid}/comm").read_text().strip()
            except OSError:
                continue
            if name is None or comm == name:
                return int(kid)
        return None
    return until(look, f"the child of {pid}")


def witness(trace, name="witness.jsonl"):
    """The lines of the witness so far (an unfinished last line is left out)."""
    lines = []
    for path in sorted(trace.glob(f"ctp/image*/{name}")):
        text = path.read_text(errors="replace")
        for line in text.splitlines(keepends=True):
            if line.endswith("\n") and line.strip():
                lines.append(json.loads(line))
    return lines
