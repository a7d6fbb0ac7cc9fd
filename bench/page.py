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


def commit():
    here = pathlib.Path(__file__).parent
    found = said("git", "rev-parse", "--short", "HEAD", cwd=here)
    changed = said("git", "status", "--porcelain", "--untracked-files=no", "--", "../src", cwd=here)
    return found and f"{found}{' with changes' if changed else ''}"


def versions(stand):
    compiler = re.search(r"\d+\.\d+[.\d]*", said("cc", "--version"))
    found = [f"glibc {platform.libc_ver()[1]}", f"gcc {compiler[0]}" if compiler else ""]
    boost = peers.boost_version()
    return ", ".join(x for x in [*found, f"Boost {boost}" if boost else "", *peers.versions()] if x)


def measured(stand, load, quick):
    """The line of a section."""
    when = f"{datetime.date.today()}, {said(stand.run_tool, '--version')} ({commit()})" if commit() else f"{datetime.date.today()}"
    return f"({when}, load {load:.1f} when it began{', short runs' if quick else ''}.)"


def sections_of(old):
    """{title: its lines}, of a page that was written before."""
    if BEGIN not in old or END not in old:
        return {}
    parts = re.split(r"^### (.*)\n", old[old.index(BEGIN) + len(BEGIN):old.index(END)], flags=re.M)
    return {title: re.sub(r"\n*(!\[.*\]\(.*\)\n*)*\Z", "", body).strip("\n") for title, body in zip(parts[1::2], parts[2::2])}


def text(stand, old, order, new):
    """`order`: all titles; `new`: {title: (rows, load when it began)}. A section that was not measured now stays as it was."""
    lines = [BEGIN, "", f"Written by `make bench`. Machine of the last run: {machine()}.",
             textwrap.fill(f"Versions: {versions(stand)}.", COLUMNS), "",
             "A figure is the median of runs that were set side by side, in brackets the least and the most. `+` is what is",
             "added to the same program without it, in the same round; `x` the ratio. A goal is met, or not, by the middle",
             "half of the rounds, and unclear where they are on both sides. What stands as *not measured* says why.",
             "Where the machine was not idle, read the ratios, and the spread.", ""]
    kept = sections_of(old)
    for title in order:
        if title in new:
            rows, load = new[title]
            lines += [f"### {title}", "", measured(stand, load, stand.quick), "", table(rows), ""]
        elif title in kept:
            lines += [f"### {title}", "", kept[title], ""]
    return lines


def put(path, lines, plots):
    """Between the marks of the file; it gets a section of its own if it has no marks yet. `plots`: [(file, title)]; those of before
    stay where none is new."""
    old = path.read_text() if path.exists() else "# Performance\n"
    shown = dict(re.findall(r"^!\[(.*)\]\((.*)\)$", old, flags=re.M)) | {title: name for name, title in plots}
    new = "\n".join(lines + [f"![{title}]({name})" for title, name in shown.items()] + [""] * bool(shown) + [END])
    if BEGIN in old and END in old:
        old = old[:old.index(BEGIN)] + new + old[old.index(END) + len(END):]
    else:
        old = f"{old.rstrip()}\n\n## Measured\n\n{new}\n"
    path.parent.mkdir(exist_ok=True)
    path.write_text(old)
