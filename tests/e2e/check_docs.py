# SPDX-License-Identifier: MIT
"""The commands that README.md and docs/ show: they are run on the demo, and what the tutorial prints of it is what they print.
The list of exhibits in docs/museum.md is what the exhibits say of themselves."""
import json
import os
import re
import shlex
import shutil
import signal
import sys

from harness import ROOT, child_of, equal, need, until

PAGES = ("README.md", "docs/tutorial.md", "docs/reports.md", "docs/production.md", "docs/faq.md", "docs/troubleshooting.md")
ELSEWHERE = ("DIR", "--watch", "--lost", "-p", "postgresql:", "mysql:", "clickhouse:", "--fleet=")  # a terminal, an untraced process, a server
MASKS = ((r"\S*/", ""), (r"\[[A-Z]+\]", "[]"), (r"\d[\d.]*( ?(ns|us|µs|ms|s)\b)?", "N"), (r"(N?mN?)?N\b", "N"), (r"N to N", "N"), (r" +", " "))  # N to N: a time that is known as a range, on a busy machine


def shown(command):
    """(page, words) of each command line of this name; of several on a line, each."""
    for page in PAGES:
        for line in (ROOT / page).read_text().splitlines():
            text = re.split(r"  +| && | \| |; then", re.sub(r"^(\$ )?", "", line[4:]))[0]
            if line.startswith("    ") and text.startswith(command):
                for part in text.split("; "):
                    words = shlex.split(part, comments=True)
                    if words[0] == command and not any(w.startswith(ELSEWHERE) for w in words):
                        yield page, words[1:]


def masked(line):
    for pattern, by in MASKS:
        line = re.sub(pattern, by, line)
    return line.strip()


def start(case):
    """The demo server, hung, under ctp-run: (ctp-run, pid)."""
    run = case.ctp_start("-q", case.build / "tests/demo/demo-server")
    port = re.search(r":(\d+)", run.wait_for("listening"))[1]
    client = case.run(case.build / "tests/demo/demo-client", port)
    equal(client.status, 0, f"the client: {client}")
    run.wait_for("0 requests/s, 47 connections open")
    return run, child_of(run.pid)


def blocks(page, first):
    """Lines of output that the page has below each line that contains `first`, up to a blank line or the next command."""
    text = (ROOT / page).read_text()
    for found in re.finditer(rf"^    (?:\$ )?{first}.*\n((?:    (?!\$ ).+\n)+)", text, re.M):
        yield found[1].splitlines()


def check_demo(case):
    """ctp-ps while it hangs, ctp-ctl, then ctp-analyze in each form."""
    run, program = start(case)
    ps = case.build / "src/ps/ctp-ps"
    first = str(json.loads(case.run(ps, "--json", "--all", program).out)["coroutines"][0]["id"])
    for page, words in shown("ctp-ps"):
        words = [{"PID": str(program), "5054": str(program), "4711": str(program), "41": first, "ID": first}.get(w, w) for w in words]
        done = case.run(ps, *words)
        equal((done.status, done.err), (0, ""), f"{page}: ctp-ps {words}: {done}")
    until(lambda: re.search(r"proven so far(.|\n)*\(47 closed\)", case.run(ps, program).out), "47 closed, and proven")
    printed = {masked(line) for line in case.run(ps, program).out.splitlines()}
    for line in next(blocks("docs/tutorial.md", "ctp-ps 5054")):
        if line.split()[0] == "thread":  # what a thread does just now
            continue
        need(masked(line) in printed, f"the tutorial says {line!r}, ctp-ps {sorted(printed)}")
    done = case.run(case.build / "src/ctl/ctp-ctl", program, "status")
    equal(done.status, 0, f"ctp-ctl: {done}")
    os.kill(program, signal.SIGINT)
    run.done()
    (case.dir / "build").mkdir(exist_ok=True)
    for name in ("build/demo.data", "old.data", "new.data"):
        shutil.copytree(case.dir / "ctp.data", case.dir / name)
    (case.dir / "old.json").write_text(case.analyze("ctp.data", "--format=json").out)
    (case.dir / "known.txt").write_text("")
    tried = 0
    for page, words in shown("ctp-analyze"):
        done = case.run(case.analyze_tool, *words)
        need(done.status in (0, 1), f"{page}: ctp-analyze {words}: {done}")
        tried += 1
    need(tried > 10, f"{tried} commands of ctp-analyze")
    printed = {masked(line.split("//")[0]) for line in case.analyze().out.splitlines()}
    report = re.search(r"(    CTP001 lost wakeup(?:.+\n)+)", (ROOT / "docs/tutorial.md").read_text())[1]
    frames = [line for line in report.splitlines() if line.split()[0].startswith("#")]
    equal(len(frames), 4, "frames")
    for line in frames:
        need(masked(line.split("//")[0]) in printed, f"the tutorial says {line!r}, ctp-analyze {sorted(printed)}")


def check_run(case):
    """Each ctp-run line with a program that ends at once: its options are taken, its status is the program's."""
    tried = 0
    for n, (page, words) in enumerate(shown("ctp-run")):
        at = next((i for i, w in enumerate(words) if not w.startswith("-") and words[i - 1] not in ("-o", "-n", "-E")), len(words))
        options = [w.replace("/var/lib/server", str(case.dir)) for w in words[:at]]
        if "-o" not in options:
            options += ["-o", f"{n}.data"]
        done = case.run(case.run_tool, *options, "true")
        lines = [line for line in done.err.splitlines() if "no coroutine switch" not in line]
        need(done.status in (0, 99), f"{page}: ctp-run {words}: {done} {lines}")  # 99: it watched nothing
        tried += 1
    need(tried > 4, f"{tried} commands of ctp-run")


def check_museum(_case):
    """`tests/museum/run.py --catalogue` writes it."""
    sys.path.append(str(ROOT / "tests/museum"))
    import exhibit_list
    page = exhibit_list.PAGE.read_text()
    equal(page[len(exhibit_list.without(page)):], exhibit_list.text(), "the list of exhibits in docs/museum.md")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
