# SPDX-License-Identifier: MIT
"""ctp-run -p again and again, on a program that does all that an attach must not disturb (attaches.py; `make attaches` at length)."""
import pathlib
import platform
import sys

from check_attach import may_attach
from harness import Skip, need

HERE = pathlib.Path(__file__).resolve().parent


def check_again(case):
    if platform.machine() != "x86_64":
        raise Skip("attaching is made for x86_64")
    may_attach(case)
    done = case.run(sys.executable, HERE / "attaches.py", f"--build={case.build}", "--rounds=12", "--threads=16", "--seed=e2e")
    need(done.status == 0, str(done))


CHECKS = [("again", check_again)]
