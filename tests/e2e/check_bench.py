# SPDX-License-Identifier: MIT
"""The bench, in short: each measure gives rows, all of which are measured or say why not. What the
figures are is not asked here: they are the machine's."""
import os
import re
import xml.etree.ElementTree as xml

from harness import ROOT, equal, need, until

# What needs nothing but what is built here must be measured; of the others a reason will do.
ROWS = {
    "switch_ucontext": ["a switch by swapcontext, 1 coroutine", "a switch by swapcontext, 100 coroutines"],
    "switch_fcontext": [],
    "switch_jump": ["a switch by siglongjmp, 1 coroutine", "a switch by siglongjmp, 100 coroutines"],
    "instructions": [],
    "programs": [],
    "latency": ["a C++20 server that ticks, answered in the loop: 99.9 %", "a semaphore: longest"],
    "hooks": [],
    "lost": ["lost by swapcontext at full speed"],
    "lost_by_rate": [],
    "event_cost": ["an event with two integers, where nobody listens", "an event with two integers, recorded"],
    "events_lost": ["events lost at 100,000 events/s", "events lost at 1 M events/s"],
    "told_cost": ["ctp/coroutine.h, "],
    "told_bytes": ["bytes an event of ctp/coroutine.h"],
    "trace_size": ["bytes a switch, of", "bytes a switch as JSON lines"],
    "reading": ["ctp-analyze --lost-wakeup", "ctp-analyze --all", "ctp-run -o x.jsonl", "ctp-analyze x.jsonl"],
    "engine": ["switches written a second of the engine's CPU time", "the engine with 1 idle coroutines: CPU",
               "the engine with 1 idle coroutines: memory"],
    "live": ["live coroutines: made, and run once", "live coroutines: memory of ours for each", "live coroutines: ctp-ps PID",
             "live coroutines: ctp-analyze"],
    "short_lived": ["each over at once: time of one", "each over at once: memory"],
    "start": ["/bin/true, from start to end", "the start of a program", "its end"],
    "exports": ["exported to csv a second", "exported to sqlite a second"],
    "queries": [],
}


def bench(case, *words):
    process = case.start(ROOT / "bench/run", case.build, *words, env={"TMPDIR": str(case.dir)})
    until(lambda: process.popen.poll() is not None, "the bench", bound=600)
    done = process.done()
    equal((done.status, done.err), (0, ""), f"the bench ({done})")
    return done.out


def rows(text):
    """The cells of each row, without the heads."""
    lines = [re.split(r"(?<!\\)\|", x)[1:-1] for x in text.splitlines() if x.startswith("| ")]
    return [[c.strip() for c in cells] for cells in lines if cells[0].strip() != "what"]


def check_measure(name):
    def run(case):
        found = rows(bench(case, "--quick", name))
        need(found, "no row")
        for cells in found:
            equal(len(cells), 5, f"cells of {cells}")
            what, _, got, *_ = cells
            need(re.search(r"\d", got) or re.match("not measured: .", got), f"neither a figure nor a reason: {cells}")
            if any(must in what for must in ROWS[name]):
                need(not got.startswith("not measured"), f"{cells}")
        for must in ROWS[name]:
            need(any(must in cells[0] for cells in found), f"no row of {must!r} in {found}")
    return run


def check_list(case):
    """No measure without a check."""
    equal([x.split("\t")[0] for x in bench(case, "--list").splitlines()], list(ROWS), "measures")


def check_page(case):
    """What is not between the marks stays, as does what is not measured now; a second run replaces the first."""
    page = case.dir / "page.md"
    page.write_text("# Title\n\nBefore.\n")
    out = bench(case, "--quick", "-o", page, "trace_size")
    first = page.read_text()
    page.write_text(first + "\nAfter.\n")
    bench(case, "--quick", "-o", page, "trace_size")
    text = page.read_text()
    need(text.startswith("# Title\n\nBefore.\n\n## Measured\n") and text.endswith("\nAfter.\n"), f"the rest: {text}")
    equal([text.count(x) for x in ("bench: begin", "bench: end", "### Bytes of a switch")], [1, 1, 1], "marks and sections")
    equal([c[0] for c in rows(text)], [c[0] for c in rows(out)], "rows of the page against those that were printed")
    need(os.uname().release in text and "ctp-run" in text, f"no machine or no version: {text}")
    bench(case, "--quick", "-o", page, "event_cost")
    titles = re.findall(r"^### (.*)", page.read_text(), re.M)
    equal(titles, ["What an event costs", "Bytes of a switch"], "sections, in order")
    kept = lambda of: of[of.index("### Bytes of a switch"):]
    equal(kept(page.read_text()), kept(text), "the section that was not measured again")


def check_plot(case):
    page = case.dir / "page.md"
    bench(case, "--quick", "-o", page, "switch_ucontext")
    root = xml.parse(case.dir / "page-cost.svg").getroot()
    name = "{http://www.w3.org/2000/svg}"
    need("ctp, ucontext" in [x.text for x in root.iter(f"{name}text")], "no line of ctp")
    need(len(list(root.iter(f"{name}circle"))) >= 4, "too few points")
    need("page-cost.svg" in page.read_text(), "the page does not show it")


CHECKS = [("list", check_list), ("page", check_page), ("plot", check_plot)] + [(name, check_measure(name)) for name in ROWS]
