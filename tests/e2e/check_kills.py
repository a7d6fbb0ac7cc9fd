# SPDX-License-Identifier: MIT
"""SIGKILL at any instant: nothing is left behind that stays, and nothing is lost that was there.
The random ones are in kills.py; here are those whose instants can be counted."""
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import sys

from kills import engine_of
from harness import Skip, child_of, equal, need, session_members, timeout, until

HERE = pathlib.Path(__file__).resolve().parent


def check_soak(case):
    done = case.run(sys.executable, HERE / "kills.py", f"--build={case.build}", "--rounds=30", "--seed=e2e")
    need(done.status == 0, str(done))


# ---- every instant of a start

def is_trace(path):
    if path.is_dir():
        return (path / "ctp/trace.json").exists()
    return path.is_file() and (path.stat().st_size == 0 or path.read_text().startswith('{"probe_id":'))


class Killer:
    """Runs of ctp-run, each killed before another one of its calls that change files."""

    def __init__(self, case, name):
        self.case, self.path, self.old = case, case.dir / name, case.dir / (name + ".old")
        self.tmp, self.ran = case.dir / "tmp", case.dir / "ran"
        self.tmp.mkdir(exist_ok=True)
        self.aside = 2  # slots 0 and 1 are the next run's
        self.env = {"TMPDIR": str(self.tmp), "XDG_RUNTIME_DIR": str(self.tmp)}
        self.words = [case.run_tool, "-q", "--no-preload", "-o", self.path, "touch", self.ran]

    def at(self, n):
        """False: it came to its end before."""
        process = self.case.start(self.case.target("kill-at"), str(n), *self.words, env=self.env)
        done = process.done()
        until(lambda: not session_members({process.pid}), "the program's end, if it began")
        if done.status == 2:
            raise Skip("ptrace is not permitted here")
        need(done.status == 0, str(done))
        need(done.out.startswith("killed") or done.out == "ended 0\n", f"before call {n}: {done}")
        equal(list(self.tmp.iterdir()), [], f"in TMPDIR, killed before call {n}")
        return done.out.startswith("killed")

    def names(self):
        return {n for n in os.listdir(self.case.dir) if not re.match(r"(out|err)\.\d+$|tmp$|ran$", n)}

    def plain(self):
        """The next run starts, and sweeps."""
        done = self.case.run(*self.words, env=self.env)
        equal(done.status, 0, f"the next run ({done.err})")
        equal(self.names() - {self.path.name, self.old.name}, set(), "left after the next run")

    def each(self):
        """Every instant until the program runs."""
        for n in range(1, 1000):
            if not self.at(n) or self.ran.exists():
                break
            yield n
            self.set_aside()
        need(n > 10, f"only {n} instants")

    def set_aside(self):
        """What was left hidden is out of the next run's way, but where plain() will sweep it."""
        base = str(self.case.dir / f".ctp-new-{os.geteuid()}-")
        for k in (0, 1):
            if os.path.exists(f"{base}{k}"):
                need(self.aside < 64, "more leftovers than slots to set aside")
                os.rename(f"{base}{k}", f"{base}{self.aside}")
                self.aside += 1


def check_instants_first(case):
    """Where there was nothing: a whole trace or none."""
    killer = Killer(case, "t")
    for n in killer.each():
        need(not killer.path.exists() or is_trace(killer.path), f"half a trace, killed before call {n}")
        if killer.path.exists():
            killer.path.rename(case.dir / "out.0")
            (case.dir / "out.0/ctp/trace.json").unlink()
            case.run("rm", "-r", case.dir / "out.0")
    killer.plain()


def instants_again(case, name):
    """Where there are two traces: a trace is at PATH at every instant, and the newest is not lost."""
    killer = Killer(case, name)
    killer.plain()
    killer.plain()
    if name.endswith("jsonl"):  # as a run with switches leaves them; without one there is nothing to keep
        killer.path.write_text('{"probe_id":')
        killer.old.write_text('{"probe_id":')
    killer.ran.unlink()
    kept = killer.path.stat().st_ino
    for n in killer.each():
        need(is_trace(killer.path) and is_trace(killer.old), f"no trace, killed before call {n}")
        there = {p.stat().st_ino for p in (killer.path, killer.old)}
        need(kept in there, f"the last trace is gone, killed before call {n}")
        kept = killer.path.stat().st_ino
    killer.plain()


def check_instants_again(case):
    instants_again(case, "t")


def check_instants_again_lines(case):
    instants_again(case, "t.jsonl")


def check_instants_held(case):
    """ctp-run is killed while it holds threads: they go on, and nobody stays stopped."""
    for n in range(1, 6):
        killer = case.start(case.target("kill-at"), f"{n}@ptrace", case.run_tool, "-q", "--prove", timeout(5), "-o", f"t{n}",
                            case.target("lost"), "loop=mn", "n=8")
        done = killer.done()
        if done.status == 2 or (n == 1 and "killed" not in done.out):
            raise Skip(f"no thread was held here: {done}")
        if "killed" not in done.out:
            break
        program = next(iter(session_members({killer.pid})))
        tasks = pathlib.Path(f"/proc/{program}/task")
        need(len(list(tasks.iterdir())) > 1, f"the program's threads, killed before call {n}")
        until(lambda: not any((t / "stat").read_text().rsplit(")", 1)[1].split()[0] in "tT" for t in tasks.iterdir()),
              f"all threads to go on, killed before call {n}")
        os.kill(program, signal.SIGTERM)
        until(lambda: not session_members({killer.pid}), f"the program's end, killed before call {n}")
    need(n > 2, "it held nobody")


# ---- nobody waits for the dead: how long is told by the calls that wait

def ended(process):
    done = process.done()
    if done.status == 2:
        raise Skip("ptrace is not permitted here")
    return done


def check_writer_dead(case):
    """ctp-analyze does not wait for the end of a trace whose writer was killed."""
    process = case.ctp_start("-q", case.target("misc"), "forever")
    process.wait_for("ready")
    os.kill(child_of(process.pid), signal.SIGSTOP)  # it shall not be in the way
    process.signal(signal.SIGKILL)
    process.done()
    done = ended(case.start(case.target("kill-at"), "1@poll", case.analyze_tool, "ctp.data"))
    need(done.out.endswith(("ended 0\n", "ended 3\n")), str(done))


def alone(case, folder, *words):
    env = {"LD_PRELOAD": str(folder / "libctp.so"), "CTP_OUTPUT": str(case.dir / "t")}
    return ["env", *(f"{k}={v}" for k, v in env.items()), *words]


def check_engine_dead_at_start(case):
    """Preloaded alone: an engine that dies before it is ready is not waited for."""
    (case.dir / "libctp.so").write_bytes(case.lib.read_bytes())
    (case.dir / "ctp-run").write_text("#!/bin/sh\nkill -9 $$\n")
    (case.dir / "ctp-run").chmod(0o755)
    done = ended(case.start(case.target("kill-at"), "5000@nanosleep", *alone(case, case.dir, case.target("counts"), "basic")))
    need(done.out.endswith("ended 0\n") and "the engine did not start" in done.err, str(done))


def check_engine_dead_at_end(case):
    """Preloaded alone: a program whose engine was killed does not wait for it at its end."""
    end, hold = os.pipe()
    process = case.start(case.target("kill-at"), "8@futex", *alone(case, case.lib.parent, case.target("dying"), "return"), stdin=end)
    os.close(end)
    program = child_of(process.pid, "t-dying")
    engine = until(lambda: engine_of(program), "the engine")
    process.wait_for("ready")
    os.kill(engine, signal.SIGKILL)
    until(lambda: engine_of(program) is None, "the engine's end")
    os.close(hold)
    done = ended(process)
    need(done.out.endswith("ended 3\n"), str(done))


# ---- what is kept and what is refused

def check_empty_old(case):
    """An empty file is nobody's trace: it stays, at PATH.old and, where the trace is a directory, at PATH."""
    basic = [case.target("counts"), "basic"]
    for name in ("t", "x.jsonl"):
        equal(case.ctp("-o", name, *basic).status, 0, "status")
        (case.dir / f"{name}.old").write_text("")
        done = case.ctp("-o", name, *basic)
        equal(done.status, 125, f"status with an empty {name}.old ({done.err})")
        need(f"{name}.old" in done.err and (case.dir / f"{name}.old").exists(), done.err)
    (case.dir / "u").write_text("")
    equal(case.ctp("-o", "u", *basic).status, 125, "status with an empty file at PATH")
    for _ in range(3):  # without a switch the lines are an empty file, which keeps nobody from going on
        equal(case.ctp("-o", "none.jsonl", "true").status, 0, "status")
    equal((case.dir / "none.jsonl").read_text(), "", "lines of no switch")


def check_not_started(case):
    """A program that cannot be started costs no trace."""
    for number in ("3", "4"):
        equal(case.ctp("-q", case.target("counts"), "basic", number).status, 0, "status")
    inodes = [(case.dir / n).stat().st_ino for n in ("ctp.data", "ctp.data.old")]
    shutil.copy(case.target("misc"), case.dir / "busy")
    with open(case.dir / "busy", "ab"):  # then it cannot be executed
        done = case.ctp(case.dir / "busy", "pid")
        alone = case.ctp("-o", "new", case.dir / "busy", "pid")
    equal((done.status, alone.status), (126, 126), f"status ({done})")
    need(not (case.dir / "new").exists(), "a trace of nothing")
    equal([(case.dir / n).stat().st_ino for n in ("ctp.data", "ctp.data.old")], inodes, "the traces before")
    need(not [n for n in os.listdir(case.dir) if n.startswith(".ctp")], "a slot is left")


def check_links(case):
    """A link as the last component is not followed by what is written to; the descriptors of /dev are."""
    precious = case.dir / "precious"
    precious.write_text("dear\n")
    (case.dir / "link").symlink_to(precious)
    (case.dir / "link.jsonl").symlink_to(precious)
    basic = [case.target("counts"), "basic"]
    for words in (["--log-file=link"], ["-o", "link"], ["-o", "link.jsonl"], ["--shm-file=link"]):
        done = case.ctp(*words, *basic)
        equal((done.status, done.out), (125, ""), f"{words}")
        need("link" in done.err, done.err)
    equal(case.ctp("-q", *basic).status, 0, "status")
    for words in ([], ["--format=json"], ["--diff=ctp.data"]):
        done = case.analyze("ctp.data", "-o", "link", *words)
        need(done.status == 2 and "symbolic link" in done.err, f"ctp-analyze -o link {words}: {done}")
    equal(precious.read_text(), "dear\n", "what the link leads to")
    # and what must go on working
    (case.dir / "folder").mkdir()
    (case.dir / "way").symlink_to("folder")
    (case.dir / "tostderr").symlink_to("/dev/stderr")
    equal(case.ctp("--log-file=way/log", *basic).status, 0, "a folder that is a link")
    need("ctp-analyze" in (case.dir / "folder/log").read_text(), "the log")
    for name in ("/dev/stderr", "/dev/fd/2", "/proc/self/fd/2", "tostderr"):
        done = case.ctp(f"--log-file={name}", *basic)
        need(done.status == 0 and "ctp-analyze" in done.err, f"{name}: {done}")
    done = case.analyze("ctp.data", "-o", "/dev/stdout", "--format=json")
    need(done.status == 0 and done.out.startswith("{"), f"/dev/stdout: {done}")
    os.mkfifo(case.dir / "fifo")
    reader = case.start("cat", "fifo")
    equal(case.ctp("--log-file=fifo", *basic).status, 0, "a FIFO")
    need("ctp-analyze" in reader.done().out, "what came by the FIFO")


def check_links_in_place(case):
    """A link at PATH or PATH.old is no trace, whatever it leads to: it stays, and so does that."""
    basic = [case.target("counts"), "basic"]
    (case.dir / "nothing").write_text("")
    equal(case.ctp("-o", "real", *basic).status, 0, "status")
    for target, name in (("real", "t"), ("nothing", "t"), ("nothing", "t.jsonl"), ("none", "t"), ("none", "t.jsonl")):
        for link in (name, f"{name}.old"):
            if link != name:
                equal(case.ctp("-o", name, *basic).status, 0, "status")
            (case.dir / link).symlink_to(target)
            done = case.ctp("-o", name, *basic)
            equal((done.status, done.out), (125, ""), f"{link} -> {target}")
            need(f"{link}: exists and is no ctp trace" in done.err, f"{link} -> {target}: {done.err}")
            equal(os.readlink(case.dir / link), target, "the link")
            (case.dir / link).unlink()
        case.run("rm", "-r", name)
    need((case.dir / "nothing").exists() and is_trace(case.dir / "real") and not (case.dir / "none").exists(), "what they lead to")


def check_others_region(case):
    """--shm-file: a file of another user's is no place for the region, whatever is in it."""
    if os.geteuid():
        raise Skip("needs root, to make a file of another user's")
    (case.dir / "region").write_bytes(struct.pack("<Q", 0x434F524F54524352))
    os.chown(case.dir / "region", 65534, 65534)
    done = case.ctp("--shm-file=region", case.target("counts"), "basic")
    equal((done.status, done.out), (125, ""), "status")
    equal((case.dir / "region").stat().st_size, 8, "the file")


def check_alias(case):
    """Installed where LD_PRELOAD cannot name it: what ctp-run makes for that in TMPDIR goes with it, or, if it is
    killed, with the next run."""
    tmp, place = case.dir / "tmp", case.dir / "a b"
    tmp.mkdir()
    for name, file in (("engine/ctp-run", case.run_tool), ("preload/libctp.so", case.lib)):
        (place / name).parent.mkdir(parents=True)
        shutil.copy(file, place / name)
    env = {"TMPDIR": str(tmp), "XDG_RUNTIME_DIR": str(tmp)}
    process = case.start(place / "engine/ctp-run", "-q", case.target("misc"), "forever", env=env)
    process.wait_for("ready")
    equal(len(list(tmp.iterdir())), 1, "in TMPDIR")
    process.signal(signal.SIGKILL)
    process.done()
    done = case.run(place / "engine/ctp-run", case.target("counts"), "basic", env=env)
    need(done.status == 0 and " 0 switches" not in done.err and "2020 switches" in done.err, str(done))
    equal(list(tmp.iterdir()), [], "in TMPDIR after the next run")


def check_socket_without_name(case):
    """While ctp-run lives, the socket of version-1 probes takes connections, and there is no file of it."""
    tmp = case.dir / "tmp"
    tmp.mkdir()
    process = case.ctp_start("-q", case.target("misc"), "forever", env={"TMPDIR": str(tmp), "XDG_RUNTIME_DIR": str(tmp)})
    process.wait_for("ready")
    environ = pathlib.Path(f"/proc/{child_of(process.pid)}/environ").read_bytes().split(b"\0")
    path = next(e.split(b"=", 1)[1] for e in environ if e.startswith(b"CTP_SOCK_PATH="))
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(path)
        (peer,) = struct.unpack_from("i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        equal(peer, process.pid, "who listens")
    equal(list(tmp.iterdir()), [], "in TMPDIR")
    equal([n for n in os.listdir(case.dir) if n.startswith(".")], [], "beside the trace")
    process.signal(signal.SIGTERM)
    process.done()


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
