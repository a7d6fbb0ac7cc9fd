# SPDX-License-Identifier: MIT
"""GNU Pth's own test programs, built from its Debian source package."""
import pathlib
import subprocess
import threading

import packages
from harness import Skip

TESTS = ("std", "misc", "mp", "uctx", "philo", "sig", "httpd")

_lock = threading.Lock()
_done = {}


def program(case, name):
    """The path of one of them; built once for all checks."""
    with _lock:
        if not _done:
            try:
                _done["folder"] = _build(pathlib.Path(case.shared()))
            except Skip as reason:
                _done["why"] = str(reason)
            except (OSError, subprocess.SubprocessError) as error:
                _done["why"] = f"pth does not build here: {error}"
    if "why" in _done:
        raise Skip(_done["why"])
    return _done["folder"] / f"test_{name}"


def _build(place):
    packages.want("gcc", "make", "libc6-dev")
    folder = packages.source("pth", place)
    words = " ".join(f"test_{name}" for name in TESTS)
    with open(place / "build.log", "w") as log:
        subprocess.run(f"./configure --disable-shared && make && make -k {words}", shell=True, cwd=folder, stdout=log,
                       stderr=log, stdin=subprocess.DEVNULL, timeout=600, check=True)
    return folder
