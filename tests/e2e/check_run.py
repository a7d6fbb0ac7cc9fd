# SPDX-License-Identifier: MIT
"""ctp-run as a wrapper: exit status, signals, streams, where the trace goes."""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios

from harness import OURS, ROOT, Skip, child_of, equal, gone, need, patience, proc_state, proven_by_witness, timed, tool, tried, until, witness

NOBODY = 65534


def as_nobody(case, *argv, **kw):
    """As a user without rights; the build tree must be readable to it."""
    if os.geteuid() != 0:
        raise Skip("needs root, to become somebody without rights")
    place = case.dir / "nobody"
    if not place.exists():
        place.mkdir()
        for path in (case.run_tool, case.lib, case.analyze_tool, case.target("misc"), case.target("counts"),
                     case.target("lost"), case.target("locked")):
            there = place / path.relative_to(case.build)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, there)
        (place / "home").mkdir()
        os.chown(place / "home", NOBODY, NOBODY)
    words = [str(w).replace(str(case.build), str(place)) for w in argv]
    kw.setdefault("cwd", place / "home")
    return case.start(tool("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words, **kw)


def status_of(case, want, *words):
    done = case.ctp(*words)
    equal(done.status, want, f"status ({done})")
    return done


def says(done, *words):
    """An error says what, why and the way out, on stderr, each line with our name."""
    for line in done.err.splitlines():
        need(line.startswith(OURS), f"a line without our name: {line!r}")
    for word in words:
        need(word in done.err, f"does not say {word!r}: {done.err!r}")


def check_status(case):
    for number in (0, 1, 7, 99, 124, 125, 126, 127, 128, 255):
        status_of(case, number, case.target("misc"), "exit", str(number))


def check_signals(case):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL, signal.SIGABRT, signal.SIGUSR1,
                   signal.SIGPIPE, signal.SIGALRM):
        status_of(case, -number, case.target("misc"), "signal", str(int(number)))


def check_crash(case):
    done = status_of(case, -signal.SIGSEGV, case.target("misc"), "crash")
    need(not list(case.dir.glob("core*")), "a core file of our own")
    status, report = case.report()
    equal(report["trace"]["coroutines"]["running"], 1, "running at the crash")


def check_missing(case):
    says(status_of(case, 127, "./no-such-program"), "no-such-program")
    need(not (case.dir / "ctp.data").exists(), "a trace for a program that never ran")
    says(status_of(case, 127, "no-such-program-in-the-path"), "no-such-program")


def check_static(case):
    done = status_of(case, 126, case.target("static"), "exit", "0")
    says(done, "static")


def check_static_unpreloaded(case):
    status_of(case, 5, "--no-preload", case.target("static"), "exit", "5")


def check_not_executable(case):
    (case.dir / "data").write_text("no program\n")
    says(status_of(case, 126, "./data"))
    says(status_of(case, 126, case.dir))


def check_scripts(case):
    script = case.dir / "script"
    script.write_text(f"#!/bin/sh\nexec {case.target('counts')} basic\n")
    script.chmod(0o755)
    done = status_of(case, 0, "./script")
    need("switches 2020" in done.out, done.out)
    equal(case.switches(), 2020, "switches of the image that the script became")
    script.write_text(f"#!{case.target('static')}\n")
    says(status_of(case, 126, "./script"), "static")
    script.write_text("#!/no/such/interpreter\n")
    done = case.ctp("./script")
    need(done.status in (126, 127), f"{done}")
    says(done)


def check_setuid(case):
    if os.geteuid() != 0:
        raise Skip("needs root, to make a setuid program")
    as_nobody(case, "/bin/true").done()
    program = case.dir / "nobody/setuid"
    shutil.copy(case.target("misc"), program)
    os.chown(program, 1, 1)
    program.chmod(0o6755)
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        raise Skip("the file system ignores setuid bits")
    done = as_nobody(case, case.run_tool, program, "exit", "0").done()
    equal(done.status, 126, f"status ({done})")
    says(done, "secure")


def check_path_search(case):
    env = {"PATH": f"{case.target('misc').parent}:{os.environ['PATH']}"}
    done = case.ctp("t-misc", "exit", "4", env=env)
    equal(done.status, 4, f"{done}")


def check_options(case):
    need("ctp" in status_of(case, 0, "--version").out, "--version")
    text = status_of(case, 0, "--help").out
    for word in ("-o", "--preload", "--no-preload", "--timeout", "--max-size", "--overflow", "--prove", "-E", "-q", "-v",
                 "--log-file", "--color", "--shm-file", "-n"):
        need(word in text, f"--help does not name {word}")
    says(status_of(case, 125, "--no-such-option", "/bin/true"))
    says(status_of(case, 125))
    says(status_of(case, 125, "--timeout=soon", "/bin/true"))
    says(status_of(case, 125, "-n", "3000000", "/bin/true"))
    says(status_of(case, 125, "--overflow=maybe", "/bin/true"))
    says(status_of(case, 125, "--ring-size=100K", "/bin/true"))
    done = status_of(case, 0, "--preload", "--", case.target("misc"), "args", "--timeout=1", "-o", "x")
    equal(done.out, "--timeout=1\n-o\nx\n", "options end at the first word that is none")


def on_terminal(columns, *argv):
    """What a command writes to a terminal of that many columns."""
    at, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([str(a) for a in argv], stdout=terminal)
    os.close(terminal)
    text = b""
    try:
        while part := os.read(at, 65536):
            text += part
    except OSError:
        pass  # EIO: nobody has the terminal any more
    os.close(at)
    equal(process.wait(timeout=patience()), 0, f"{argv}")
    return text.decode().replace("\r\n", "\n")


def check_help(case):
    """--help in lines that a terminal holds, what an option does in one column; the manual page is what --man prints."""
    for command in (case.run_tool, case.analyze_tool, case.build / "src/ps/ctp-ps", case.build / "src/ctl/ctp-ctl"):
        text = case.run(command, "--help").out
        need("--man" in text and "man -l -" in text, text)
        widest = {}
        for columns, shown in ((80, text), (50, on_terminal(50, command, "--help")), (93, on_terminal(93, command, "--help")),
                               (200, on_terminal(200, command, "--help"))):
            widest[columns] = max(map(len, shown.splitlines()))
            equal(" ".join(shown.split()).replace("| ", "|"), " ".join(text.split()).replace("| ", "|"), "the words")
            column = len(re.search(r"^ +(-h, )?--help +", shown, re.M).group())
            below = re.findall(r"^( {20,})\S", shown, re.M)
            need(len(below) > 2 and {len(blanks) for blanks in below} == {column}, f"where the text begins: {shown}")
        need(70 < widest[80] <= 80 and widest[50] <= 64 and 80 < widest[93] <= 93 and 93 < widest[200] <= 100, f"{widest}")
        page = (ROOT / "man" / f"{pathlib.Path(command).name}.1").read_text()
        equal(case.run(command, "--man").out, page, "the manual page is what --man prints")


def check_installed(case):
    """What README, the pages of docs and the manual pages cite is installed, and they find it where they say."""
    if not (case.build / "build.ninja").exists():
        raise Skip("no build tree to install from")
    done = case.run(tool("meson"), "install", "-C", case.build, "--no-rebuild", "--destdir", case.dir / "root")
    equal(done.status, 0, f"{done}")
    [readme] = (case.dir / "root").rglob("doc/ctp/README.md")
    cited = {name for page in [readme, *readme.parent.glob("docs/*.md")]
             for name in re.findall(r"(?:spec|docs)/[\w./-]+\.\w+", page.read_text())}
    need({"spec/profile.md", "docs/limits.md"} <= cited and len(cited) > 15, f"cited: {cited}")
    links = {(page.parent / name).resolve() for page in readme.parent.glob("docs/*.md")
             for name in re.findall(r"\]\(([\w./-]+)\)", page.read_text())}
    equal([str(path) for path in links if not path.exists()], [], "linked from docs and not installed")
    equal([name for name in cited if not (readme.parent / name).is_file()], [], "cited and not installed")
    [pages] = (case.dir / "root").rglob("man1")
    cited = {name for page in pages.iterdir() for name in re.findall(r"\b\w+\.(?:md|schema\.json)\b", page.read_text())}
    equal(cited - {path.name for part in ("spec", "docs") for path in (readme.parent / part).iterdir()}, set(), "cited in manual pages and not installed")
    need(len(cited) > 4, f"cited: {cited}")


def check_closing_lines(case):
    done = status_of(case, 0, case.target("counts"), "basic")
    lines = done.err.splitlines()
    need(1 <= len(lines) <= 3, f"{len(lines)} lines at the end: {done.err}")
    says(done)
    need("ctp-analyze" in lines[-1], f"the last line is not the next command: {lines[-1]}")
    done = status_of(case, 0, "-q", case.target("counts"), "basic")
    equal(done.err, "", "-q")
    done = status_of(case, 0, "--log-file=log", case.target("counts"), "basic")
    equal(done.err, "", "stderr with --log-file")
    need("ctp-analyze" in (case.dir / "log").read_text(), "the log file")


def check_streams(case):
    text = os.urandom(200000)
    (case.dir / "in").write_bytes(text)
    with open(case.dir / "in", "rb") as stdin:
        process = case.ctp_start("-q", case.target("misc"), "cat", stdin=stdin)
        done = process.done()
    equal(done.status, 0, "status")
    need(process.out_path.read_bytes() == text, "stdout is not what went in")
    equal(done.err, "cat: done\n", "stderr")


def check_world(case):
    """Descriptors, waits, masks, environment: as without us."""
    for words in (["fds"], ["wait"], ["mask"], ["args", "", "a b", "*"], ["execs", "3"]):
        bare = case.run(case.target("misc"), *words)
        done = case.ctp("-q", case.target("misc"), *words)
        equal((done.status, done.out), (bare.status, bare.out), " ".join(words))


def check_environment(case):
    words = ["CTP_SHM_PATH", "CTP_SOCK_PATH", "CTP_MAX_STATIONS", "GIVEN", "LD_PRELOAD"]
    done = case.ctp("-n", "500", "-E", "GIVEN=a=b", case.target("misc"), "env", *words)
    got = dict(line.split("=", 1) for line in done.out.splitlines())
    equal(got["GIVEN"], "a=b", "-E")
    equal(got["CTP_MAX_STATIONS"], "500", "CTP_MAX_STATIONS")
    need(got["CTP_SHM_PATH"] != "(none)" and got["CTP_SOCK_PATH"] != "(none)", str(got))
    first = got["LD_PRELOAD"].replace(":", " ").split()[0]
    need(first.endswith("libctp.so"), f"LD_PRELOAD={got['LD_PRELOAD']}")
    libc = subprocess.run(["ldd", str(case.target("misc"))], capture_output=True, text=True, check=True).stdout
    other = re.search(r"=> (\S*libc\.so\S*)", libc)[1]
    done = case.ctp("-E", f"LD_PRELOAD={other}", case.target("misc"), "env", "LD_PRELOAD")
    value = done.out.strip().split("=", 1)[1].replace(":", " ").split()
    need(value[0].endswith("libctp.so") and value[1] == other, f"LD_PRELOAD={value}")


def check_no_preload(case):
    done = case.ctp("--no-preload", case.target("misc"), "env", "LD_PRELOAD", "CTP_SHM_PATH")
    need("LD_PRELOAD=(none)" in done.out, done.out)
    need("CTP_SHM_PATH=(none)" not in done.out, done.out)
    done = case.ctp("--no-preload", case.target("counts"), "basic")
    equal(case.report()[1]["trace"]["switches"], 0, "switches without the library")


def check_children(case):
    bare = case.run(case.target("misc"), "fork")
    done = case.ctp(case.target("misc"), "fork")
    equal(sorted(done.out.splitlines()), sorted(bare.out.splitlines()), "stdout")
    equal(done.status, bare.status, "status")
    equal(case.switches(), 44, "switches: the parent's alone")


def check_exec(case):
    done = case.ctp(case.target("misc"), "execs", "2")
    equal((done.status, done.out), (7, "last\n"), "program")
    equal(case.switches(), 66, "switches of three images")
    need((case.dir / "ctp.data/ctp/image2").is_dir(), "three images")


# ---- where the trace goes

def traces(case):
    return sorted(p.name for p in case.dir.iterdir() if (p / "metadata").exists())


def check_output_moves(case):
    basic = [case.target("counts"), "basic"]
    for number in ("3", "4", "5"):
        status_of(case, 0, case.target("counts"), "basic", number)
    equal(traces(case), ["ctp.data", "ctp.data.old"], "traces")
    equal(case.switches("ctp.data"), 2 * 10 * 6, "the newest")
    equal(case.switches("ctp.data.old"), 2 * 10 * 5, "the one before")
    status_of(case, 0, "-o", "other", *basic)
    equal(traces(case), ["ctp.data", "ctp.data.old", "other"], "traces")


def check_output_refused(case):
    basic = [case.target("counts"), "basic"]
    (case.dir / "mine").mkdir()
    (case.dir / "mine/letter").write_text("dear")
    says(status_of(case, 125, "-o", "mine", *basic), "mine")
    equal((case.dir / "mine/letter").read_text(), "dear", "somebody else's file")
    (case.dir / "file").write_text("dear")
    says(status_of(case, 125, "-o", "file", *basic), "file")
    equal((case.dir / "file").read_text(), "dear", "somebody else's file")
    done = status_of(case, 125, "-o", "file/x", *basic)
    need("switches" not in done.out, "the program ran without a trace")
    (case.dir / "empty").mkdir()
    says(status_of(case, 125, "-o", "empty", *basic))
    # an older trace's place taken by something else: not replaced
    status_of(case, 0, *basic)
    (case.dir / "ctp.data.old").mkdir()
    (case.dir / "ctp.data.old/letter").write_text("dear")
    says(status_of(case, 125, *basic), "ctp.data.old")
    equal((case.dir / "ctp.data.old/letter").read_text(), "dear", "somebody else's file")


def check_output_name(case):
    process = case.ctp_start("-o", "t-%p-%e-%%", case.target("misc"), "pid")
    done = process.done()
    want = f"t-{done.out.strip()}-t-misc-%"
    need((case.dir / want / "metadata").exists(), f"no {want}: {os.listdir(case.dir)}")


def check_unwritable(case):
    as_nobody(case, "/bin/true").done()
    (case.dir / "nobody").chmod(0o755)
    done = as_nobody(case, case.run_tool, case.target("counts"), "basic", cwd=case.dir / "nobody").done()
    equal(done.status, 125, f"status ({done})")
    need("switches" not in done.out, "the program ran without a trace")
    says(done)
    done = as_nobody(case, case.run_tool, "-o", "/proc/trace", case.target("counts"), "basic").done()
    equal(done.status, 125, f"status ({done})")


def check_nobody(case):
    """All of it works without rights."""
    done = as_nobody(case, case.run_tool, case.target("counts"), "basic").done()
    equal(done.status, 0, f"{done}")
    equal(case.switches("nobody/home/ctp.data"), 2020, "switches")


@contextlib.contextmanager
def small_disk(case, size):
    place = case.dir / "disk"
    place.mkdir()
    if os.geteuid() != 0:
        raise Skip("needs root, to mount a small file system")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise Skip(f"mount refused: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def check_disk_full(case):
    with small_disk(case, "2m") as disk:
        bare = case.run(case.target("counts"), "basic", "100000")
        done = case.ctp("-o", disk / "t", case.target("counts"), "basic", "100000")
        equal((done.status, done.out), (bare.status, bare.out), "the program goes on, its status stays")
        says(done)
        need("space" in done.err.lower(), f"does not say why: {done.err}")
        need(len(done.err.splitlines()) <= 4, f"more than one line about it: {done.err}")
        after = case.analyze(disk / "t")
        need(after.status in (0, 2, 3), f"ctp-analyze: {after}")


def check_disk_full_lines(case):
    with small_disk(case, "1m") as disk:
        done = case.ctp("-o", disk / "x.jsonl", case.target("counts"), "basic", "100000")
        equal(done.status, 0, f"{done}")
        says(done)


# ---- ends

def timed_out(case, *words):
    """A run that was ended when its time was over, and that time: more where a busy machine left none to get ready, or to end."""
    for seconds in ("0.3", "3", "30"):
        done = status_of(case, 124, f"--timeout={seconds}", *words)
        if "ready" in done.out and "SIGTERM did not end it" not in done.err:
            break
    return done, seconds


def check_timeout(case):
    done, seconds = timed_out(case, case.target("misc"), "forever")
    status, report = case.report()
    equal(report["findings"], [], "findings")
    lines = done.err.splitlines()
    equal((len(lines), lines[-2], lines[-1][:13]), (3, f"ctp-run: timed out after {seconds} s: ended by SIGTERM", "ctp-run: run:"), "closing lines")
    done, seconds = timed_out(case, "/bin/sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done")
    lines = done.err.splitlines()
    need(len(lines) == 3 and lines[1].startswith(f"ctp-run: timed out after {seconds} s: exited with 3 after SIGTERM; no coroutine"), lines)
    done = status_of(case, 0, "--timeout=50", case.target("misc"), "exit", "0")
    need("timed out" not in done.err, done.err)


def check_sigterm(case):
    process = case.ctp_start("--overflow=block", case.target("misc"), "forever")
    process.wait_for("ready")
    until(lambda: list(case.dir.glob("ctp.data/t*")), "a stream")  # it is ready before its first switch
    process.signal(signal.SIGTERM)
    equal(process.done().status, -signal.SIGTERM, "status")
    need(complete(case) > 0, "no switch in the trace")


def check_forwarded(case):
    for number in (signal.SIGHUP, signal.SIGUSR1):
        process = case.ctp_start(case.target("misc"), "forever")
        process.wait_for("ready")
        process.signal(number)
        equal(process.done().status, -number, "status")


def complete(case, trace="ctp.data"):
    """Reads, and no published record is torn or missing."""
    shown = case.switches(trace)
    status, report = case.report(trace)
    equal(report["trace"]["lost"], 0, "lost")
    equal(report["trace"]["switches"], shown, "switches in the tables against those shown")
    equal([f for f in report["findings"] if f["verdict"] in ("proven", "likely")], [], "findings")
    return shown


def check_kill_target(case):
    for round in range(6):
        process = case.ctp_start("--overflow=block", case.target("misc"), "forever")
        program = None
        process.wait_for("ready")
        program = child_of(process.pid)
        events = round * 7
        begun = voluntary(process.pid)
        until(lambda: voluntary(process.pid) >= begun + events, "some harvests")
        os.kill(program, signal.SIGKILL)
        equal(process.done().status, -signal.SIGKILL, "status")
        complete(case)


@tried
def check_nobody_verdict(case):
    """The witness, too: a parent may look into its child."""
    process = as_nobody(case, case.run_tool, case.target("lost"), "n=3")
    process.wait_for("ready")
    until(lambda: proven_by_witness(witness(case.dir / "nobody/home/ctp.data"), 3), "P6 in the witness")
    os.kill(child_of(process.pid), signal.SIGKILL)
    equal(process.done().status, -signal.SIGKILL, "status")
    _, report = case.report("nobody/home/ctp.data")
    equal([(f["verdict"], f["count"]) for f in report["findings"]], [("proven", 3)], "findings")


def voluntary(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)[1])


def check_kill_engine(case):
    """ctp-run is killed: the program goes on unharmed, to the same end."""
    bare = case.run(case.target("counts"), "basic", "300000")
    process = case.ctp_start(case.target("counts"), "basic", "300000")
    program = child_of(process.pid)
    until(lambda: list(case.dir.glob("ctp.data/t*")), "a stream")
    os.kill(process.pid, signal.SIGKILL)
    process.popen.wait()
    until(lambda: gone(program), "the program's end")
    equal(process.out(), bare.out, "what the program said")


def check_kill_engine_under_waiter(case):
    """The same for a program that sleeps: it is not woken, nor stopped, nor harmed."""
    process = case.ctp_start(case.target("lost"), "keep=table", "way=signal", "fd=pipe", "outside=0", "n=3")
    process.wait_for("ready")
    program = child_of(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.popen.wait()
    until(lambda: proc_state(program) == "S", "sleep")
    os.kill(program, signal.SIGUSR1)
    until(lambda: "done" in process.out(), "the program's end")


def check_shm_file(case):
    done = status_of(case, 0, "--shm-file=region", case.target("counts"), "basic")
    equal(case.switches(), 2020, "switches")


def check_lib_alone(case):
    env = {"LD_PRELOAD": str(case.lib)}
    bare = case.run(case.target("misc"), "wait")
    done = case.run(case.target("misc"), "wait", env=env)
    equal((done.status, done.out), (bare.status, bare.out), "wait calls")
    done = case.run(case.target("counts"), "basic", env=env)
    need("switches 2020" in done.out, done.out)
    equal(case.report()[1]["trace"]["switches"], 2020, "switches")
    equal(case.switches(), 2020, "ctp:switch")
    done = case.run(case.target("misc"), "fds", env=env)
    equal(done.out, case.run(case.target("misc"), "fds").out, "descriptors")


def check_lib_alone_output(case):
    env = {"LD_PRELOAD": str(case.lib), "CTP_OUTPUT": str(case.dir / "elsewhere")}
    case.run(case.target("counts"), "basic", env=env)
    equal(case.report("elsewhere")[1]["trace"]["switches"], 2020, "switches")
    env["CTP_DISABLE"] = "1"
    env["CTP_OUTPUT"] = str(case.dir / "nowhere")
    done = case.run(case.target("counts"), "basic", env=env)
    equal(done.err, "", "stderr")
    need(not (case.dir / "nowhere").exists(), "a trace in spite of CTP_DISABLE=1")


def check_lib_alone_killed(case):
    process = case.start(case.target("misc"), "forever", env={"LD_PRELOAD": str(case.lib)})
    process.wait_for("ready")
    until(lambda: list(case.dir.glob("ctp.data/t*")), "a stream")
    process.signal(signal.SIGKILL)
    equal(process.done().status, -signal.SIGKILL, "status")
    _, report = case.report()  # waits until the engine has closed it
    need(report["trace"]["switches"] > 0, "no switch in the tables")
    equal(report["findings"], [], "findings")


@tried
def check_report(case):
    """--check: the report before the closing lines; --error-exitcode says that there was a finding."""
    done = timed(lambda option: case.ctp("--check", "--error-exitcode=99", option, case.target("lost")), 1)
    equal(done.status, 99, f"{done}")
    said = re.sub(r"^ctp-run: .* so far: .*\n", "", done.err, flags=re.M)  # once the witness has decided
    report, closing = said.split("\nctp-run: ", 1)
    need(re.search(r"^CTP001 .*\[PROVEN\]", report, re.M), f"no report first: {done}")
    need(re.search(r"^\d+ findings, .* healthy waiters$", report, re.M), f"no last line: {done}")
    need("CTP001" not in closing, f"closing lines before the report: {done}")
    done = timed(lambda option: case.ctp("--check", option, case.target("lost")), 1)
    equal(done.status, 124, f"{done}")


def check_report_clean(case):
    done = status_of(case, 7, "--error-exitcode=99", case.target("misc"), "exit", "7")
    need("0 findings" in done.err, f"no report: {done}")
    done = status_of(case, 7, "-q", "--error-exitcode=99", case.target("misc"), "exit", "7")
    equal(done.err, "", "-q with nothing found")
    status_of(case, 125, "--error-exitcode=0", case.target("misc"), "exit", "7")
    status_of(case, 125, "--fail-on=inconclusive", case.target("misc"), "exit", "7")


def check_report_empty(case):
    """A check of a run without a switch is no check: it says so, and --error-exitcode applies."""
    quiet = ("sh", "-c", "exit 7")
    done = status_of(case, 99, "--error-exitcode=99", *quiet)
    need("so nothing was checked" in done.err and "--allow-empty" in done.err, f"not said: {done}")
    status_of(case, 7, "--check", *quiet)
    status_of(case, 7, "--error-exitcode=99", "--allow-empty", *quiet)
    status_of(case, 0, "--error-exitcode=99", case.target("counts"), "basic")


def check_report_to_log(case):
    """--fail-on counts what it names; with --log-file the report goes there."""
    def checked(*words):
        return timed(lambda option: case.ctp("--log-file=log", "--check", "--error-exitcode=98", option, *words, case.target("lost"), "keep=table"), 1)
    done = checked("--fail-on=proven")
    equal((done.status, done.err), (124, ""), "status and stderr")
    need("[LIKELY]" in (case.dir / "log").read_text(), "no report in the log")
    equal(checked().status, 98, "status")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
