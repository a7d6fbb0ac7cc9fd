# SPDX-License-Identifier: MIT
"""Each program of the catalogue: the same output and status as without ctp, and
every switch counted: against babeltrace2, against a counter that stands behind
us in the same run, and against what the program implies. Nothing lost, no finding."""
import struct

import catalogue
import packages
import stage
from check_counts import check_jsonl
from harness import equal, need

MANY = 1000000  # switches, from which on babeltrace2 would take too long
SMALL = ("qemu_bench_null", "qemu_nbd", "pdns_recursor", "asio_parallel_grep", "fiber_work_stealing", "tbb_suspend", "gdc_fibers",
         "simgrid_ucontext_parallel", "uwsgi_ugreen", "wesnothd")
LINES = ("qemu_io", "asio_parallel_grep", "tbb_suspend", "openssl_server")


def within(got, want, what):
    if want is None:
        return
    low, high = want if isinstance(want, tuple) else (want, want)
    need(got >= low and (high is None or got <= high), f"{what}: got {got}, want {low} to {high}")


def counter(case):
    """count.c, built; what stands in the program's environment so that it counts."""
    packages.want("gcc", "libc6-dev")
    library = case.dir / "count.so"
    done = case.run("gcc", "-O2", "-mgeneral-regs-only", "-shared", "-fPIC", stage.HERE / "count.c", "-o", library)
    equal(done.status, 0, f"gcc ({done.err})")
    return ["-E", f"LD_PRELOAD={library}", "-E", f"COUNT_FILE={case.dir}/counts"]


def counts(case):
    pid, switches, made, _ = struct.unpack("4Q", (case.dir / "counts").read_bytes())
    need(pid, "the counter was not loaded")
    return switches, made


def check_lines(row):
    """The other form of the trace."""
    def run(case):
        packages.want(*row.packages)
        words = counter(case) if stage.COUNTED else ()
        row.work(stage.Run(case, row, "traced", traced=True, words=["--overflow=block", *words, "-o", case.dir / "x.jsonl"]))
        lines = check_jsonl(case.dir / "x.jsonl")
        need(lines, "no line")
        if row.counted and stage.COUNTED:
            equal(len(lines), 2 * counts(case)[0], "lines")
    return run


def rules(report, row):
    """Of all findings, but for a thread that was held for long: a busy machine does that, too."""
    held = ("CTP016", "CTP017", "CTP018")
    return sorted({f["rule"] for f in report["findings"] if f["verdict"] != "suspect" or f["rule"] not in held or f["rule"] in row.finds})


def check_small(row):
    """Rings of 64 KiB, which drop what finds no room: the same, but for what is lost of the history."""
    def run(case):
        packages.want(*row.packages)
        counted = row.counted and stage.COUNTED
        bare = row.work(stage.Run(case, row, "bare"))
        traced = stage.Run(case, row, "traced", traced=True,
                           words=["--overflow=drop", "--ring-size=64K", *(counter(case) if counted else ())])
        seen = row.work(traced)
        equal((seen.status, seen.output), (bare.status, bare.output), "status and output")
        _, report = case.report(traced.trace)
        trace = report["trace"]
        equal(rules(report, row), sorted(row.finds), f"findings {report['findings']}")
        if counted:
            unseen = trace["coroutines"]["finished"] if row.links else 0
            equal((trace["switches"] - unseen, trace["coroutines"]["total"]), counts(case), "switches and coroutines against the counter")
        within(trace["switches"], seen.switches, "switches")
        within(trace["coroutines"]["total"], seen.coroutines, "coroutines")
        need(trace["switches"] <= trace["events"] + trace["lost"], f"switches that are neither in the history nor lost: {trace}")
    return run


def check(row):
    def run(case):
        packages.want(*row.packages)
        counted = row.counted and stage.COUNTED
        bare = row.work(stage.Run(case, row, "bare"))
        traced = stage.Run(case, row, "traced", traced=True, words=["--overflow=block", *(counter(case) if counted else ())])
        seen = row.work(traced)
        equal(seen.status, bare.status, "status")
        equal(seen.output, bare.output, "output")
        status, report = case.report(traced.trace)
        trace = report["trace"]
        shown = trace["switches"]
        equal(rules(report, row), sorted(row.finds), f"findings {report['findings']}")
        equal(trace["lost"], 0, "lost")
        if shown < MANY:
            equal(case.switches(traced.trace), shown, "switches that babeltrace2 shows")
        need(shown > 0, "no switch seen")
        if counted:
            unseen = trace["coroutines"]["finished"] if row.links else 0
            equal((shown - unseen, trace["coroutines"]["total"]), counts(case), "switches and coroutines against the counter")
        within(shown, seen.switches, "switches")
        within(trace["coroutines"]["total"], seen.coroutines, "coroutines")
        equal(status, 1 if report["findings"] else 0, "ctp-analyze's status")
    return run


CHECKS = [(row.name, check(row)) for row in catalogue.ROWS] + [
    (f"{row.name}_lines", check_lines(row)) for row in catalogue.ROWS if row.name in LINES] + [
    (f"{row.name}_small", check_small(row)) for row in catalogue.ROWS if row.name in SMALL]
