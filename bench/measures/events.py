# SPDX-License-Identifier: MIT
"""Events of the program's own: what one costs where somebody listens and where nobody does, and at which rates some
are lost. What is lost is counted: the rows say if it is not."""
from figures import Missing, Row, median, missing, short, told
from stand import HERE, closing_events


def program(stand):
    return stand.program("bench-events", f"-I{HERE.parent}/include", source="events.c")


def cost(stand):
    """(ns of an event, ns of a reading of the clock) bare, and recorded."""
    n = stand.size(20000, 2000)
    run = lambda *argv: tuple(map(float, stand.run(*argv, program(stand), "cost", n).out.split()))
    return {"bare": run, "ctp": lambda: run(*stand.ctp("--overflow=block"))}


def event_cost(stand):
    """What an event costs"""
    goals = ("at most 0.5 ns", "at most 10 ns above the clock")
    whats = ("an event with two integers, where nobody listens", "an event with two integers, recorded")
    try:
        runs = stand.side_by_side(cost(stand))
        for found in runs.values():
            if isinstance(found, Missing):
                raise found
    except Missing as why:
        return [missing(what, why, goal) for what, goal in zip(whats, goals)]
    off = [ns for ns, _ in runs["bare"]]
    above = [ns - clock for ns, clock in runs["ctp"]]
    whole = told([ns for ns, _ in runs["ctp"]], "ns")
    return [Row(whats[0], told(off, "ns"), "", "", goals[0], min(off), 0.5),
            Row(whats[1], f"{told(above, 'ns', plus=True)} above the clock", "", f"{whole} in all", goals[1], min(above), 10)]


def made(stand, argv, *options):
    """(events made, seconds, lost, whether all are told, CPU time of ctp-run in ns for each that was recorded)."""
    done = stand.run(*stand.ctp(*options, max_size="64M"), *argv)
    events, seconds = done.out.split()
    recorded, lost = closing_events(done)
    stand.drop_traces()
    return int(events), float(seconds), lost, recorded + lost == int(events), done.own / max(recorded, 1) * 1e9


def events_lost(stand):
    """Events lost, by rate"""
    threads, seconds = 2, stand.size(3, 0.2)
    rows = []
    for wanted in stand.size((1e6, 3e6, 1e7, 2e7, 0), (1e5, 1e6)):
        at = f"{short(wanted)} events/s, in bursts each ms" if wanted else "full speed"
        what, goal = f"events lost at {at}, {threads} threads, {seconds} s", "0 lost" if wanted and wanted <= 1e7 else ""
        argv = lambda: [program(stand), threads, seconds, int(wanted / threads)]
        try:
            runs = stand.side_by_side({"ctp": lambda: made(stand, argv())}, rounds=stand.few)["ctp"]
            if isinstance(runs, Missing):
                raise runs
        except Missing as why:
            rows.append(missing(what, why, goal))
            continue
        share = [100 * lost / n for n, _, lost, _, _ in runs]
        text = f"{median(share):.3g} % of {short(median([n / s for n, s, *_ in runs]))}/s"
        text += "" if all(right for *_, right, _ in runs) else ", not all are counted"
        text += f"; ctp-run took {median([ns for *_, ns in runs]):.2g} ns for each"
        rows.append(Row(what, text, "", "", goal, max(lost for _, _, lost, *_ in runs) if goal else None, 0 if goal else None))
    return rows


MEASURES = [event_cost, events_lost]
