# SPDX-License-Identifier: MIT
"""Another process that holds a lock of apt's is waited for, by the scripts and by the checks."""
import fcntl
import os
import sys

from harness import ROOT, equal, need, tool, until


def place(case):
    """Lists of apt's own in the case's directory, and an apt-get that notes how each of its runs ended."""
    (case.dir / "lists/partial").mkdir(parents=True)
    (case.dir / "cache/archives/partial").mkdir(parents=True)
    (case.dir / "sources.list").write_text("")
    (case.dir / "apt.conf").write_text(f'''Dir::Etc::SourceList "{case.dir}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "{case.dir}/lists";
Dir::Cache "{case.dir}/cache";
''')
    noting = case.dir / "apt-get"
    noting.write_text(f'#!/bin/sh\n{tool("apt-get")} "$@"\nr=$?\necho "$r $*" >>{case.dir}/runs\nexit $r\n')
    noting.chmod(0o755)
    return {"APT_CONFIG": str(case.dir / "apt.conf"), "PATH": f"{case.dir}:{os.environ['PATH']}"}


def runs(case):
    path = case.dir / "runs"
    return path.read_text().splitlines() if path.exists() else []


def check_waits(case, *argv):
    env = place(case)
    with open(case.dir / "lists/lock", "w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        process = case.start(*argv, env=env)
        until(lambda: runs(case) or process.popen.poll() is not None, "apt-get to be refused")
        need(runs(case) and runs(case)[0].startswith("100 "), f"apt-get with the lock held: {runs(case)} {process.err()}")
        need(process.popen.poll() is None, f"it has ended: {process.err()}")
    done = process.done()
    equal((done.status, done.err), (0, ""), "its end")
    need(runs(case)[-1].startswith("0 "), f"apt-get without the lock: {runs(case)}")
    need("DPkg::Lock::Timeout=" in runs(case)[-1], f"dpkg's lock is not waited for: {runs(case)}")


def check_other_failures(case, *argv):
    """What is no lock is told at once."""
    env = place(case)
    (case.dir / "sources.list").write_text("no such word\n")
    done = case.run(*argv, env=env)
    need(done.status != 0, f"its end: {done}")
    equal(len(runs(case)), 1, "runs of apt-get")


SCRIPT = ("bash", "-c", f". {ROOT}/scripts/packages; as_root() {{ \"$@\"; }}; apt_get update")
PYTHON = (sys.executable, "-c", f"import sys; sys.path[:0] = ['{ROOT}/tests/programs', '{ROOT}/tests/e2e']; import packages; "
          "done = packages.apt_get('update', as_root=False); sys.exit(done.returncode)")
CHECKS = [
    ("scripts_wait", lambda case: check_waits(case, *SCRIPT)),
    ("checks_wait", lambda case: check_waits(case, *PYTHON)),
    ("scripts_fail", lambda case: check_other_failures(case, *SCRIPT)),
    ("checks_fail", lambda case: check_other_failures(case, *PYTHON)),
]
