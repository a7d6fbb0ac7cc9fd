# SPDX-License-Identifier: MIT
"""Packages that a check installs for itself, or skips for the lack of."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import threading
import time

from harness import Skip

_lock = threading.Lock()
_there = set()  # what was found installed
LOCK_BOUND = 1800  # seconds to wait for another process that installs something


@contextlib.contextmanager
def no_services():
    """What is installed meanwhile starts none of its servers."""
    policy = pathlib.Path("/usr/sbin/policy-rc.d")
    ours = os.geteuid() == 0 and not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            policy.unlink()


def apt_get(*words, cwd=None, as_root=True):
    """apt-get, as scripts/packages has it: waits for whoever holds one of its locks."""
    sudo = ["sudo", "-n"] if as_root and os.geteuid() != 0 else []
    env = dict(os.environ, LC_ALL="C", DEBIAN_FRONTEND="noninteractive")
    end = time.monotonic() + LOCK_BOUND
    while True:
        done = subprocess.run([*sudo, "apt-get", "-qq", "-o", f"DPkg::Lock::Timeout={LOCK_BOUND}", *words], env=env, cwd=cwd,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * LOCK_BOUND)
        locked = "not get lock" in done.stderr or "Unable to lock" in done.stderr
        if done.returncode == 0 or not locked or time.monotonic() > end:
            return done
        time.sleep(1)


def installed(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True)
    return done.stdout.endswith(" installed")


def want(*packages):
    """Installs what is missing, or skips with apt's reason."""
    with _lock:
        missing = [p for p in packages if p not in _there and not installed(p)]
        if not missing:
            _there.update(packages)
            return
        if not shutil.which("apt-get"):
            raise Skip(f"no apt-get to install {' '.join(missing)}")
        with no_services():
            done = apt_get("install", "-y", "--no-install-recommends", *missing)
            if done.returncode != 0:
                apt_get("update")
                done = apt_get("install", "-y", "--no-install-recommends", *missing)
        if done.returncode != 0:
            raise Skip(f"cannot install {' '.join(missing)}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")


def _archive(place, kind, *options):
    """Words for apt-get that make it use lists of its own in `place`, and not the system's: `kind` is deb or deb-src."""
    for folder in ("lists/partial", "cache/archives/partial"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    key = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f"[signed-by={key}] " if key.exists() else ""
    shown = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(REPO_URI)|$(CODENAME)|$(COMPONENT)"],
                           capture_output=True, text=True)
    lines = set()
    for row in shown.stdout.splitlines():
        origin, uri, suite, component = row.split("|")
        if origin == "Debian" and suite and component == "main":
            lines.add(f"{kind} {signed}{uri} {suite} {component}")
    if not lines:
        raise Skip("apt knows no Debian archive to take it from")
    (place / "sources.list").write_text("\n".join(sorted(lines)) + "\n")
    return ["-o", f"Dir::Etc::SourceList={place}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
            "-o", f"Dir::State::Lists={place}/lists", "-o", f"Dir::Cache={place}/cache", *options]


def _get(place, options, *requests):
    for words in (["update"], *requests):
        done = apt_get(*options, *words, cwd=place, as_root=False)
        if done.returncode != 0:
            raise Skip(f"apt-get {' '.join(words)}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")


def source(package, place):
    """Unpacks a source package into `place`; leaves the system's own lists alone."""
    want("dpkg-dev")
    place = pathlib.Path(place)
    _get(place, _archive(place, "deb-src"), ["source", package])
    return next(p for p in sorted(place.glob(f"{package}-*")) if p.is_dir())


def foreign(architecture, place, *names):
    """Unpacks packages of another architecture into `place`; installs nothing."""
    place = pathlib.Path(place)
    (place / "status").write_text("")
    _get(place, _archive(place, "deb", "-o", f"APT::Architecture={architecture}", "-o", f"APT::Architectures={architecture}",
                         "-o", f"Dir::State::status={place}/status", "-o", "Acquire::Languages=none"),
         ["download", *[f"{name}:{architecture}" for name in names]])
    for package in place.glob("*.deb"):
        done = subprocess.run(["dpkg-deb", "-x", package, place], capture_output=True, text=True)
        if done.returncode != 0:
            raise Skip(f"dpkg-deb: {done.stderr.strip()}")
