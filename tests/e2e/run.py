#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the end-to-end checks: run.py [--build=DIR] [--jobs=N] [--list] [WORD...]

Each check_*.py beside this file gives `CHECKS`, a list of (name, function). A
WORD keeps the checks whose name contains it. Prints `ok NAME`, `FAIL NAME: why`
or `skip NAME: reason`, each once, and last `N passed, N failed, N skipped`. One
that fails because there was no time to look is run again after all others,
alone, and that is said. Where few fail, they are run again, too: one that then
passes each time is told as `unsteady NAME`, and passes (harness.settle);
not with --strict. The line before the last names the checks that took longest.
"""
import argparse
import concurrent.futures
import importlib
import os
import pathlib
import re
import signal
import sys
import time
import traceback

import harness

HERE = pathlib.Path(__file__).resolve().parent


def collect(folders, words):
    checks = []
    for folder in folders:
        sys.path.append(str(folder))
        for path in sorted(folder.glob("check_*.py")):
            area = path.stem[len("check_"):]
            for name, function in importlib.import_module(path.stem).CHECKS:
                checks.append((f"{area}/{name}", function))
    last = len(LONGEST)
    order = {name: i for i, name in enumerate(LONGEST)}
    return sorted((c for c in checks if not words or any(w in c[0] for w in words)), key=lambda c: order.get(c[0], last))


# Begin first, for whoever is left with one of them at the end waits for it alone.
LONGEST = ("package/debian", "programs/pth_httpd", "steps/calls_and_switches", "timelines/cap", "million/no_calls", "html/timeline",
           "manners/signals_jump", "robust/slot_block", "robust/threads", "ps/hostile", "analyze/hostile", "records/block", "counts/blocks")
SLOWEST = 20  # are named at the end
took = {}  # seconds, by check


def run(name, function, build):
    """How it ended, and why."""
    begin = time.monotonic()
    try:
        return attempt(name, function, build)
    finally:
        took[name] = took.get(name, 0) + time.monotonic() - begin


def attempt(name, function, build):
    try:
        case = harness.Case(name, build)
    except OSError as error:
        return "FAIL", str(error)
    try:
        function(case)
        return "ok", ""
    except harness.Skip as reason:
        return "skip", str(reason)
    except (harness.Failed, AssertionError) as why:
        return "FAIL", str(why) or traceback.format_exc()
    except Exception:  # a check that breaks is a check that fails
        return "FAIL", traceback.format_exc()
    finally:
        try:
            case.close()
        except Exception:
            traceback.print_exc()


def lacked_time(outcome, text):
    """Did it fail, with evidence that says that there was no time to look? Of a PROVEN that is no excuse."""
    return outcome == "FAIL" and harness.no_time(text) and not re.search(r"\bCTP\d{3} proven x", text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(harness.ROOT / "build"))
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--strict", action="store_true", help="what failed once has failed")
    parser.add_argument("--folder", action="append", help="where check_*.py lie (default: here); may be repeated")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # a background job starts with some ignored, and so would the programs
    build = pathlib.Path(args.build).resolve()
    for tool in ("src/engine/ctp-run", "src/analyze/ctp-analyze", "src/preload/libctp.so"):
        if not (build / tool).is_file():
            sys.exit(f"run.py: no {build / tool}; build first: meson setup {build} && ninja -C {build}")
    checks = collect([pathlib.Path(f).resolve() for f in args.folder or [HERE]], args.words)
    if args.list:
        print("\n".join(name for name, _ in checks))
        return 0
    count = {"ok": 0, "FAIL": 0, "skip": 0}
    alone, failed = [], {}

    def tell(name, outcome, text):
        count[outcome] += 1
        print(f"{outcome} {name}" + (f": {text}" if text else ""), flush=True)

    def ended(name, outcome, text):
        if outcome == "FAIL" and not args.strict and not harness.GRAVE.search(text):
            failed[name] = text
            print(f"failed once, {name}: {text}", flush=True)
        else:
            tell(name, outcome, text)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = {pool.submit(run, name, function, build): (name, function)
                for name, function in checks}
        for job in concurrent.futures.as_completed(jobs):
            outcome, text = job.result()
            if lacked_time(outcome, text):
                alone.append((*jobs[job], text))
            else:
                ended(jobs[job][0], outcome, text)
    for name, function, text in alone:
        for _ in range(harness.REPEATS):
            print(f"again, alone, {name}: {text}", flush=True)
            outcome, text = run(name, function, build)
            if not lacked_time(outcome, text):
                break
        ended(name, outcome, text)
    functions = dict(checks)
    harness.settle(failed, lambda name: run(name, functions[name], build)[0] == "ok", tell)
    harness.end_shared()
    longest = sorted(took, key=took.get, reverse=True)[:SLOWEST]
    print(f"{sum(took.values()):.0f} s in all checks; longest: " + ", ".join(f"{name} {took[name]:.0f} s" for name in longest))
    print(f"{count['ok']} passed, {count['FAIL']} failed, {count['skip']} skipped")
    return 1 if count["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
