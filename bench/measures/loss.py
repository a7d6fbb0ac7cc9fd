# SPDX-License-Identifier: MIT
"""What is lost: at full speed on both cores, and against the rate of switches. Every record that is
lost is counted, and the count of switches is exact all the same: the rows say if it is not."""
import os

import peers
from figures import Missing, Row, median, missing, peer, short
from stand import WAYS, closing


def spin(stand, way, *more):
    words = ["-DFCONTEXT", "-lboost_context"] if way == "fcontext" else []
    return stand.program("-".join(["bench-spin", way, *(["lttng"] if more else [])]), *words, *more, source="spin.c")


def ours(stand, argv, *options):
    """(switches made, seconds, lost, whether they are counted right)."""
    done = stand.run(*stand.ctp(*options, max_size="1G" if "--compress" in options else "64M"), *argv)
    made, seconds = done.out.split()
    counted, _, lost = closing(done)
    stand.drop_traces()
    return int(made), float(seconds), lost, counted == int(made)


def lttng(stand, argv):
    with peers.Lttng(stand) as session:
        made, seconds = stand.run(*argv).out.split()
        return int(made), float(seconds), session.stop(int(made)), True


def bare(stand, argv):
    made, seconds = stand.run(*argv).out.split()
    return int(made), float(seconds), 0, True


def share(runs):
    return [100 * lost / made for made, _, lost, _ in runs]


def rate(runs):
    return [made / seconds for made, seconds, _, _ in runs]


def told(runs):
    text = f"{median(share(runs)):.3g} % of {short(median(rate(runs)))}/s"
    return text + ("" if all(right for *_, right in runs) else ", the count of switches is wrong")


def row(stand, way, options, limit, full=10):
    threads, seconds = os.cpu_count() or 1, stand.size(full, 0.3)
    what = f"lost by {WAYS[way]} at full speed, {threads} threads, {seconds} s" + "".join(f", {o}" for o in options)
    goal = f"at most {limit} % lost" if limit else "0 lost"
    argv = lambda *more: [spin(stand, way, *more), threads, seconds]
    ways = {"bare": lambda: bare(stand, argv()[:2] + [min(seconds, 10)]), "ctp": lambda: ours(stand, argv(), *options)}
    if not options:
        ways["LTTng-UST"] = lambda: lttng(stand, argv(*peers.lttng_words()))
    try:
        runs = stand.side_by_side(ways, rounds=stand.few if seconds <= 10 else 1)
        for name in ("bare", "ctp"):
            if isinstance(runs[name], Missing):
                raise runs[name]
    except Missing as why:
        return missing(what, why, goal)
    others = "; ".join(peer(name, found, told) for name, found in runs.items() if name not in ("bare", "ctp"))
    worst = max(share(runs["ctp"]))
    return Row(what, told(runs["ctp"]), f"{short(median(rate(runs['bare'])))}/s", others, goal, worst, limit)


def lost(stand):
    """Lost at full speed"""
    return [row(stand, "ucontext", [], 0), row(stand, "ucontext", ["--overflow=block"], 0), row(stand, "ucontext", ["--compress"], 0, 60),
            row(stand, "fcontext", [], 2), row(stand, "fcontext", ["--overflow=block"], 0)]


def lost_by_rate(stand):
    """Lost against the rate of switches"""
    threads, seconds = os.cpu_count() or 1, stand.size(3, 0.2)
    rows = []
    for wanted in stand.size((1e5, 1e6, 3e6, 1e7, 2e7, 4e7), (1e5, 1e6)):
        what = f"lost by Boost.Context at {short(wanted)} switches/s, in bursts each ms, {threads} threads"
        argv = lambda *more: [spin(stand, "fcontext", *more), threads, seconds, int(wanted / threads)]
        try:
            runs = stand.side_by_side({"ctp": lambda: ours(stand, argv()),
                                       "LTTng-UST": lambda: lttng(stand, argv(*peers.lttng_words()))}, rounds=stand.few)
            if isinstance(runs["ctp"], Missing):
                raise runs["ctp"]
        except Missing as why:
            rows.append(missing(what, why))
            continue
        for name, found in runs.items():
            if not isinstance(found, Missing):
                stand.points.setdefault("loss", {}).setdefault(name, []).append((median(rate(found)), median(share(found))))
        rows.append(Row(what, told(runs["ctp"]), "", peer("LTTng-UST", runs["LTTng-UST"], told)))
    return rows


MEASURES = [lost, lost_by_rate]
