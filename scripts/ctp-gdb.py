# SPDX-License-Identifier: MIT
"""Coroutines in gdb: info coroutines, coroutine N, coroutine apply, coroutine find, $_coroutine().

    gdb -x ctp-gdb.py -p PID          a program that runs, under ctp-run or not
    gdb -x ctp-gdb.py PROGRAM CORE    the core of one

Only fetches the package beside it, so that nothing of it lies among the names of other scripts.
"""
import os
import sys

_beside = os.path.dirname(os.path.realpath(os.path.expanduser(__file__)))
sys.path.insert(0, _beside)
try:
    import ctp_gdb.commands
finally:
    sys.path.remove(_beside)
