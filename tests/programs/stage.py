# SPDX-License-Identifier: MIT
"""What a program of the catalogue is made of: its row, one run of it, and what that has come to."""
import dataclasses
import hashlib
import pathlib
import platform
import socket
import threading
import time

from harness import Failed, Skip, child_of, equal, need, tool, until

HERE = pathlib.Path(__file__).resolve().parent
COUNTED = platform.machine() == "x86_64"  # count.c's stubs


@dataclasses.dataclass
class Outcome:
    """What a run has come to. `output` must be the same with and without ctp;
    coroutines and switches are what the program itself says or implies: a
    number, or (least, most)."""
    status: int
    output: str
    coroutines: object = None
    switches: object = None
    seconds: float = None  # of the part that matters; default: from the program's start to its end


@dataclasses.dataclass
class Row:
    name: str
    packages: tuple  # the first one is shown with its version
    engine: str
    work: object
    weight: int = 1        # how much more work the table gives it, so that there is a time to measure
    words: tuple = ()      # options for ctp-run
    counted: bool = True   # every switch is a call that count.c sees as well
    source: str = ""       # the Debian source package that is built instead
    finds: tuple = ()      # rules of which there is a finding, as the program is not healthy
    links: bool = False    # coroutines return through uc_link, which the counter does not see


class Run:
    """One run of a row's program, bare or under ctp-run."""

    def __init__(self, case, row, label, traced=False, words=(), size=1):
        self.case, self.row, self.traced, self.words, self.size = case, row, traced, words, size
        self.dir = case.dir / label
        self.dir.mkdir()
        self.trace = self.dir / "ctp.data"
        self.began = self.ended = self.stacks = None

    def start(self, *argv, **kw):
        """The program itself."""
        kw.setdefault("cwd", self.dir)
        self.began = time.monotonic()
        if not self.traced:
            return self.case.start(*argv, **kw)
        return self.case.ctp_start("-o", self.trace, *self.row.words, *self.words, *argv, **kw)

    def finish(self, process, number=None):
        """Its end, after a signal if one is given."""
        if number:
            process.signal(number)
        done = process.done()
        self.ended = time.monotonic()
        return done

    def pid(self, process):
        return child_of(process.pid) if self.traced else process.pid

    def look(self, process, *names):
        """Waits until the coroutines' stacks, as ctp-ps shows them, name these functions of the program's own."""
        if not self.traced:
            return
        def shown():
            self.stacks = self.case.run(self.case.build / "src/ps/ctp-ps", "--stack", self.pid(process)).out
            return all(name in self.stacks for name in names)
        try:
            until(shown, "the stacks", bound=20)
        except Failed:
            raise Failed(f"{', '.join(names)} not in the stacks:\n{self.stacks[:3000]}")

    def whole(self, *argv, **kw):
        return self.finish(self.start(*argv, **kw))

    def tool(self, *argv, **kw):
        """A helper that must succeed; what it printed."""
        kw.setdefault("cwd", self.dir)
        done = self.case.run(*argv, **kw)
        equal(done.status, 0, f"status of {argv[0]} ({done})")
        return done.out

    def helper(self, *argv, **kw):
        """A helper that goes on; the case ends it."""
        kw.setdefault("cwd", self.dir)
        return self.case.start(*argv, **kw)

    def file(self, name, megabytes, seed=b"ctp"):
        """A file of bytes that do not compress, the same in each run."""
        path = self.dir / name
        with open(path, "wb") as f:
            for i in range(megabytes * 16):
                f.write(hashlib.shake_128(seed + b"%d" % i).digest(65536))
        return path

    def said(self, done):
        """stderr without what ctp-run says there."""
        return "".join(x for x in done.err.splitlines(True) if not (self.traced and x.startswith(("ctp-run: ", "ctp: "))))


_lock = threading.Lock()
_built = {}


def built(run, compiler, *words):
    """The program that these words make; once for all checks."""
    with _lock:
        one = _built.setdefault((compiler, *map(str, words)), {"lock": threading.Lock()})
    with one["lock"]:
        if "program" not in one:
            program = pathlib.Path(run.case.shared()) / "program"
            log = run.case.run(tool(compiler), *words, "-o", program)
            if log.status != 0:
                raise Skip(f"does not build here: {log.err.strip()[-300:]}")
            one["program"] = program
    return one["program"]


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def listening(process, port):
    """Waits until the program takes connections."""
    def look():
        need(process.popen.poll() is None, f"ended: {process.out()} {process.err()}")
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0
    until(look, f"port {port}")


def listens(path):
    """Whether somebody listens on a unix socket, which is later than when its file is there."""
    rows = [x.split() for x in pathlib.Path("/proc/net/unix").read_text().splitlines()]
    return any(r[-1] == str(path) and r[3] == "00010000" for r in rows)  # SO_ACCEPTCON
