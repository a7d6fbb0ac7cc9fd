#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs for longer: each of the catalogue again and again for a while,
with other processes on all cores, and every finding listed.

soak.py [--build=DIR] [--seconds=N] [--jobs=N] [--calm] [WORD...]

The programs are healthy as far as anybody knows, so whatever is found must be
read and either be true or be mended here. Ends with 1 if anything was found.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/programs")]

import catalogue  # noqa: E402
import harness  # noqa: E402
import packages  # noqa: E402
import stage  # noqa: E402


def once(row, build):
    """The findings of one traced run, as lines, and its coroutines and switches."""
    case = harness.Case(f"soak-{row.name}", build)
    try:
        run = stage.Run(case, row, "traced", traced=True)
        row.work(run)
        _, report = case.report(run.trace)
        trace = report["trace"]
        lines = [f"{f['rule']} {f['verdict']} x{f['count']}: {f['message']} [{f['fingerprint']}]" for f in report["findings"] if f["rule"] not in row.finds]
        if lines:
            lines.append(case.analyze(run.trace).out)
        return lines, trace["coroutines"]["total"], trace["switches"]
    finally:
        case.close()


def soak(row, build, seconds):
    packages.want(*row.packages)
    end, runs, coroutines, switches, found = time.monotonic() + seconds, 0, 0, 0, []
    while time.monotonic() < end or not runs:
        lines, made, switched = once(row, build)
        runs, coroutines, switches = runs + 1, coroutines + made, switches + switched
        if lines:
            found = lines
            break
    return runs, coroutines, switches, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--calm", action="store_true", help="no other processes on the cores")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    rows = [r for r in catalogue.ROWS if not args.words or any(w in r.name for w in args.words)]
    busy = [] if args.calm else [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                                 for _ in range(os.cpu_count() or 1)]
    bad = 0
    try:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            futures = {pool.submit(soak, row, args.build, args.seconds): row for row in rows}
            for future in concurrent.futures.as_completed(futures):
                name = futures[future].name
                try:
                    runs, coroutines, switches, found = future.result()
                except harness.Skip as why:
                    print(f"skip {name}: {why}", flush=True)
                    continue
                except Exception as why:  # noqa: BLE001: one program must not end the others
                    bad += 1
                    print(f"FAIL {name}: {why}", flush=True)
                    continue
                bad += bool(found)
                print(f"{'FOUND' if found else 'ok'} {name}: {runs} runs, {coroutines} coroutines, {switches} switches",
                      *found, sep="\n  ", flush=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    harness.end_shared()
    print(f"{len(rows)} programs, {bad} with findings or failures")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
