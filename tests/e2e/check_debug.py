# SPDX-License-Identifier: MIT
"""CTP_DEBUG=1: libctp.so says on stderr what it does, one line for each event; and nothing else ever gets such a line."""
import os
import re
import subprocess

from harness import equal, need, patience

ON = {"CTP_DEBUG": "1"}
ATTACHED = r"ctp: attached to /proc/\d+/fd/\d+: process \d+, \d+ functions hooked, \d+ modules loaded"
THREAD = r"ctp: thread \d+ attached"
INSPECTED = r"ctp: final inspection: made"
ENDS = [r"ctp: exit begins: main has returned", INSPECTED]


def lines(done, patterns, what):
    got = done.err.splitlines()
    need(len(got) == len(patterns) and all(re.fullmatch(p, line) for p, line in zip(patterns, got)), f"{what}: {done}")
    return got


def debugged(case, *words, options=("-q",), status=0, env=ON):
    done = case.ctp(*options, "--", *words, env=env)
    equal(done.status, status, f"{done}")
    return done


def check_lines(case):
    """Attached, threads, the end: a line each, with figures that are true."""
    got = lines(debugged(case, case.target("debug"), "threads", status=3), [ATTACHED, THREAD, THREAD, *ENDS], "threads")
    hooked, modules = map(int, re.search(r"(\d+) functions hooked, (\d+) modules", got[0]).groups())
    need(100 < hooked < 1000 and 2 < modules < 100, got[0])
    numbers = [re.search(r"thread (\d+)", line)[1] for line in got[1:3]]
    need(len(set(numbers)) == 2, f"two threads: {got}")
    got = lines(debugged(case, case.target("misc"), "exit", "4", status=4), [ATTACHED, *ENDS], "one thread")
    exits = debugged(case, "/bin/sh", "-c", "exit 5", status=5)
    need(re.fullmatch(ATTACHED, exits.err.splitlines()[0]) and "ctp: exit begins: " in exits.err, f"{exits}")


def check_silent(case):
    """Without CTP_DEBUG, and with an empty one or 0: not a word."""
    for env in ({}, {"CTP_DEBUG": ""}, {"CTP_DEBUG": "0"}):
        equal(debugged(case, case.target("debug"), "threads", status=3, env=env).err, "", f"with {env}")


def check_child(case):
    """A forked child: what became of it, by the process that it is a child of."""
    process = r"process (\d+)"
    got = lines(debugged(case, case.target("debug"), "fork"),
                [ATTACHED, r"ctp: detached in a child of process \d+: children are traced with ctp-run -f", *ENDS], "not followed")
    equal(re.search(process, got[0])[1], re.search(process, got[1])[1], f"whose child: {got}")
    got = lines(debugged(case, case.target("debug"), "fork", options=("-q", "-f")),
                [ATTACHED, r"ctp: attached in the child \d+ of process \d+", "ctp: exit begins: _exit", INSPECTED, *ENDS], "followed")
    equal(re.search(process, got[0])[1], re.search(process, got[1])[1], f"whose child: {got}")


def check_inherited(case):
    """What a program starts has CTP_DEBUG as well: a child that becomes another program says why it is not attached."""
    done = debugged(case, "/bin/sh", "-c", f"{case.target('misc')} env CTP_DEBUG; exit 0")
    equal(done.out, "CTP_DEBUG=1\n", "the environment")
    need(re.search(r"^ctp: not attached: /proc/\S+ is another process's, and there is none for this one", done.err, re.M), f"{done}")


def check_refused(case):
    """Why a program is not attached."""
    off = {"LD_PRELOAD": str(case.lib), "CTP_DISABLE": "1", **ON}
    lines(case.run(case.target("debug"), "threads", env=off), [r"ctp: not attached: CTP_DISABLE is set"], "disabled")
    gone = {"LD_PRELOAD": str(case.lib), "CTP_SHM_PATH": "/proc/1/fd/99999", **ON}
    lines(case.run(case.target("debug"), "threads", env=gone), [r"ctp: not attached: /proc/1/fd/99999: .+"], "no region")


def check_no_other_file(case):
    """A program that closes stderr, or puts a file in its place: that file gets no line."""
    for how in ("closed", "replaced"):
        file = case.dir / how
        done = debugged(case, case.target("debug"), how, file, status=3)
        lines(done, [ATTACHED], f"until it is {how}")
        equal(file.read_bytes(), b"", f"{how}: the file")


def check_no_stderr(case):
    """Started without stderr: the first file that it opens is 2, and gets no line."""
    file = case.dir / "file"
    env = {**os.environ, "LD_PRELOAD": str(case.lib), "CTP_OUTPUT": str(case.dir / "t"), **ON}
    done = subprocess.run([case.target("debug"), "closed", file], env=env, close_fds=True, stdout=subprocess.PIPE,
                          preexec_fn=lambda: os.close(2), timeout=patience(), check=False)
    equal(done.returncode, 3, "status")
    equal(file.read_bytes(), b"", "the file")


def check_no_reader(case):
    """stderr is a pipe that nobody reads any more, or one that is full: no SIGPIPE, and no wait."""
    for full in (False, True):
        read, write = os.pipe()
        if full:
            os.set_blocking(write, False)
            try:
                while os.write(write, b"x" * 4096):
                    pass
            except BlockingIOError:
                os.set_blocking(write, True)
        else:
            os.close(read)
        done = subprocess.run([case.run_tool, "-q", f"--log-file={case.dir / 'log'}", "--", case.target("debug"), "threads"],
                              cwd=case.dir, env={**os.environ, **ON}, stderr=write, timeout=patience(), check=False)
        os.close(write)
        equal(done.returncode, 3, f"full {full}: status")
        if full:
            os.close(read)


CHECKS = [
    ("lines", check_lines), ("silent", check_silent), ("child", check_child), ("inherited", check_inherited),
    ("refused", check_refused), ("no_other_file", check_no_other_file), ("no_stderr", check_no_stderr),
    ("no_reader", check_no_reader),
]
