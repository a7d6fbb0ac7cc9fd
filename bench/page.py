# SPDX-License-Identifier: MIT
"""The page: tables between two marks, so that the rest of the file is left as it is."""
import datetime
import os
import pathlib
import platform
import re
import subprocess
import textwrap

import peers

BEGIN, END = "<!-- bench: begin (written by make bench) -->", "<!-- bench: end -->"
HEAD = ("what", "goal", "with ctp", "without", "met")
COLUMNS = 150


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def row(cells):
    return "| " + " | ".join(map(cell, cells)) + " |"


def table(rows):
    """A table, and below it what was measured instead or besides, as lines of their own: a row has to fit into a line."""
    lines, more = [row(HEAD), "|---|---|---|---|---|"], []
    for r in rows:
        got, besides = str(r.got), str(r.others)
        line = row((r.what, r.goal, got, r.bare, r.met()))
        if len(line) > COLUMNS and "; " in got:
            got, apart = got.split("; ", 1)
            line, besides = row((r.what, r.goal, got, r.bare, r.met())), "; ".join(filter(None, (apart, besides)))
        lines.append(line)
        if besides:
            more.append(textwrap.fill(f"{r.what}: {besides}", COLUMNS, initial_indent="- ", subsequent_indent="  ",
                                      break_long_words=False, break_on_hyphens=False))
    return "\n".join(lines + (["", "Instead of it, or more of it:", ""] + more if more else []))


def said(*words, cwd=None):
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd)
    return (done.stdout + done.stderr).strip() if done.returncode == 0 else ""


def machine():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) >> 20
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    virtual = " of a virtual machine" if "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text() else ""
    return f"{os.cpu_count()} cores{virtual} ({cpu[1] if cpu else platform.machine()}), {memory} GiB, {system}, " \
           f"Linux {platform.release()}"


def versions(stand):
    compiler = re.search(r"\d+\.\d+[.\d]*", said("cc", "--version"))
    here = pathlib.Path(__file__).parent
    commit = said("git", "rev-parse", "--short", "HEAD", cwd=here)
    changed = said("git", "status", "--porcelain", "--untracked-files=no", "--", "../src", cwd=here)
    found = [said(stand.run_tool, "--version") + (f" ({commit}{' with changes' if changed else ''})" if commit else ""),
             f"glibc {platform.libc_ver()[1]}", f"gcc {compiler[0]}" if compiler else ""]
    boost = peers.boost_version()
    return ", ".join(x for x in [*found, f"Boost {boost}" if boost else "", *peers.versions()] if x)


def text(stand, sections, plots, load):
    """`sections`: [(title, rows)]; `load`: of the machine when we began."""
    busy = "" if load < 0.5 else " The machine was not idle: read the ratios, and the spread."
    quick = " (--quick: short runs, few rounds)" if stand.quick else ""
    lines = [BEGIN, "", f"Written by `make bench` on {datetime.date.today()}{quick}.",
             f"Machine: {machine()}; load {load:.1f} when it began.{busy}", f"Versions: {versions(stand)}.", "",
             "A figure is the median of runs that were set side by side, in brackets the least and the most. `+` is what is",
             "added to the same program without it, in the same round; `x` the ratio. A goal is met, or not, by the middle",
             "half of the rounds, and unclear where they are on both sides. What stands as *not measured* says why.", ""]
    for title, rows in sections:
        lines += [f"### {title}", "", table(rows), ""]
    lines += [f"![{title}]({name})" for name, title in plots] + [""] * bool(plots)
    return "\n".join(lines + [END])


def put(path, new):
    """Between the marks of the file; it gets a section of its own if it has no marks yet."""
    old = path.read_text() if path.exists() else "# Performance\n"
    if BEGIN in old and END in old:
        old = old[:old.index(BEGIN)] + new + old[old.index(END) + len(END):]
    else:
        old = f"{old.rstrip()}\n\n## Measured\n\n{new}\n"
    path.parent.mkdir(exist_ok=True)
    path.write_text(old)
