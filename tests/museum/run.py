#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the museum: run.py [--build=DIR] [--jobs=N] [--list] [--catalogue] [--long [--runs=N]] [WORD...]

Each exhibit (exhibit.py) whose name contains a WORD is run once under ctp-run
and judged. Prints `ok NAME`, `FAIL NAME: why` or `skip NAME: reason`, each once,
and last `N passed, N failed, N skipped`. One that fails because there was no
time to look is run again after all others, alone, and that is said; so are a few that
fail otherwise, as harness.settle says, unless something was falsely proven, or crashed. The long form
runs each many times under every condition (conditions.py); of all of them it writes
docs/museum.md.
"""
import argparse
import concurrent.futures
import os
import pathlib
import signal
import sys
import threading
import traceback

import conditions
import exhibit as exhibits
import exhibit_list
from harness import CRASH, REPEATS, ROOT, TRIES, Case, Failed, Skip, end_shared, led_to, no_time, settle

_open, _lock, _over = set(), threading.Lock(), threading.Event()


class Room(Case):
    """Where one exhibit runs. Nothing starts any more once all is over."""

    def start(self, *argv, **kw):
        with _lock:
            if _over.is_set():
                raise Failed("interrupted")
            _open.add(self)
            return super().start(*argv, **kw)


def on_interrupt(_number, _frame):
    """Ctrl-C: what was started ends, each by its pid."""
    _over.set()
    with _lock:
        rooms = list(_open)
    conditions.end_around()
    for case in rooms:
        try:
            case.close()
        except Exception:
            traceback.print_exc()
    end_shared()
    os._exit(130)


def look(case, exhibit, condition):
    seen = exhibits.observe(case, exhibit, condition)
    return seen, exhibits.judge(exhibit, seen)


def once(exhibit, build, condition=None):
    """(outcome, text, what was seen or None) of one run in a directory of its own; in the short form of another one, where no more
    is wrong than that a verdict is weaker and a word led to the coroutine (see harness.led_to)."""
    case = Room(exhibit.name, build)
    try:
        seen, why = look(case, exhibit, condition)
        for _ in range(TRIES - 1):
            if condition or not why or exhibits.judge(exhibit, seen, strict=False) or not led_to(case.dir):
                break
            case.anew()
            seen, why = look(case, exhibit, condition)
        if why and exhibit.pending:
            return "skip", f"not yet as expected, {exhibit.pending}: {'; '.join(why)}", seen
        return ("FAIL", "; ".join(why) + f" [{seen}]", seen) if why else ("ok", "", seen)
    except Skip as reason:
        return "skip", str(reason), None
    except (Failed, AssertionError) as why:
        return "FAIL", str(why) or traceback.format_exc(), None
    except Exception:
        return "FAIL", traceback.format_exc(), None
    finally:
        with _lock:
            _open.discard(case)
        try:
            case.close()
        except Exception:
            traceback.print_exc()


def lacked_time(exhibit, outcome, text, seen):
    """Did it fail, with evidence that says that there was no time to look? Of a false PROVEN that is no excuse."""
    return outcome == "FAIL" and seen and no_time(text) and not exhibits.false_proven(exhibit, seen)


def short(chosen, build, jobs):
    """Each once; at the end, alone, those for which a busy machine left ctp-run no time."""
    count = {"ok": 0, "FAIL": 0, "skip": 0}
    alone, failed = [], {}

    def tell(name, outcome, text):
        count[outcome] += 1
        print(f"{outcome} {name}" + (f": {text}" if text else ""), flush=True)

    def ended(exhibit, outcome, text, seen):
        if outcome == "FAIL" and not CRASH.search(text) and not (seen and exhibits.false_proven(exhibit, seen)):
            failed[exhibit.name] = text
            print(f"failed once, {exhibit.name}: {text}", flush=True)
        else:
            tell(exhibit.name, outcome, text)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        under_way = {pool.submit(once, e, build): e for e in chosen}
        for job in concurrent.futures.as_completed(under_way):
            e, (outcome, text, seen) = under_way[job], job.result()
            if lacked_time(e, outcome, text, seen):
                alone.append((e, text))
            else:
                ended(e, outcome, text, seen)
    for e, text in alone:
        for _ in range(REPEATS):
            print(f"again, alone, {e.name}: {text}", flush=True)
            outcome, text, seen = once(e, build)
            if not lacked_time(e, outcome, text, seen):
                break
        ended(e, outcome, text, seen)
    by_name = {e.name: e for e in chosen}
    settle(failed, lambda name: once(by_name[name], build)[0] == "ok", tell)
    print(f"{count['ok']} passed, {count['FAIL']} failed, {count['skip']} skipped")
    return 1 if count["FAIL"] else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--catalogue", action="store_true", help="writes the list of exhibits at the end of docs/museum.md anew")
    parser.add_argument("--long", action="store_true", help="every condition, many times; writes docs/museum.md")
    parser.add_argument("--runs", type=int, default=20, help="with --long: runs of each exhibit under each condition")
    parser.add_argument("--only", help="with --long: the conditions, comma between (default all)")
    parser.add_argument("--output", type=pathlib.Path,
                        help="with --long: where the table goes (default docs/museum.md, or stdout where not all is run)")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # a background job starts with some ignored, and so would the programs
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_interrupt)
    try:
        chosen = exhibits.collect(args.words)
    except Failed as why:
        sys.exit(f"run.py: {why}")
    if args.catalogue:
        exhibit_list.write()
        return 0
    if args.list:
        print("\n".join(e.name for e in chosen))
        return 0
    build = pathlib.Path(args.build).resolve()
    if not (build / "src/engine/ctp-run").is_file():
        sys.exit(f"run.py: nothing built in {build}: meson setup {build} && ninja -C {build}")
    try:
        if args.long:
            if not (args.output or args.words or args.only):
                args.output = ROOT / "docs/museum.md"
            return conditions.long(chosen, build, args, once)
        return short(chosen, build, args.jobs)
    finally:
        end_shared()


if __name__ == "__main__":
    sys.exit(main())
