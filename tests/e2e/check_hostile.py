# SPDX-License-Identifier: MIT
"""Traces and object files that were made to harm whoever reads them."""
import os
import pathlib
import shutil
import subprocess

from harness import equal, need


def lost(case):
    """(trace, the program whose stacks it holds): a synthetic one, with findings."""
    make = case.build.resolve() / "tests/golden/make-trace"
    trace = case.dir / "lost"
    subprocess.run([make, "lost", trace], check=True)
    return trace, make


def say_module(trace, old, new):
    """The trace says that another object file was mapped."""
    table = trace / "ctp/image0/modules"
    data, old, new = table.read_bytes(), os.fsencode(old), os.fsencode(new)
    need(data.count(old + b"\0") == 1 and len(new) < 200, f"{old} once in {table}")
    at = data.index(old + b"\0")
    room = max(len(old), len(new)) + 1
    need(not data[at + len(old):at + room].strip(b"\0"), "there is room for the path")
    table.write_bytes(data[:at] + new.ljust(room, b"\0") + data[at + room:])


def check_repair_links(case):
    """--repair shortens neither what a link leads to nor what has another name, says so, and repairs the rest."""
    trace, _ = lost(case)
    whole = (trace / "t0.0").read_bytes()
    precious = case.dir / "precious"
    precious.write_text("dear\n")
    (trace / "t0.0").write_bytes(whole + bytes(50))
    (trace / "t9.0").symlink_to("../precious")
    (trace / "t8.0").write_bytes(whole + bytes(50))
    os.link(trace / "t8.0", case.dir / "other")
    done = case.analyze(trace, "--repair")
    equal(done.status, 1, str(done))
    equal(precious.read_text(), "dear\n", "what a link leads to")
    equal((case.dir / "other").read_bytes(), whole + bytes(50), "what has two names")
    equal((trace / "t0.0").read_bytes(), whole, "the other one")
    for words in ("t9.0 is not read: it is a symbolic link", "t8.0 was cut off", "it has another name (a hard link)", "t0.0 was cut off"):
        equal(done.err.count(words), 1, f"{words}: {done}")
    need("t9.0 is not read" in done.out, f"in the report: {done}")


def check_names(case):
    """A name in a trace steers no terminal."""
    trace, _ = lost(case)
    (trace / "t0\x1b[2J").write_bytes((trace / "t0.0").read_bytes() + bytes(50))
    for words in ([], ["--format=json"], ["--format=markdown"], ["--diff", trace]):
        done = case.analyze(trace, *words)
        need("\x1b" not in done.out + done.err, f"{words}: {done}")


def check_debug_fifo(case):
    """Debug files that an object file names are FIFOs: nothing waits for them."""
    trace, make = lost(case)
    for way in ("debuglink", "build-id"):
        shutil.rmtree(trace)
        trace, make = lost(case)
        program, debug = case.dir / "program", case.dir / "program.debug"
        subprocess.run(["objcopy", "--only-keep-debug", make, debug], check=True)
        subprocess.run(["objcopy", "--strip-debug", "--remove-section=.gnu_debuglink", f"--add-gnu-debuglink={debug}", make, program], check=True)
        say_module(trace, make, program)
        done = case.analyze(trace)
        need(done.status == 1 and "people.c" in done.out, f"with its debug file: {done}")
        debug.unlink()
        if way == "debuglink":
            os.mkfifo(debug)
        else:
            folder = case.dir / "symfs/usr/lib/debug/.build-id"
            folder.mkdir(parents=True)
            words = ["--symfs", case.dir / "symfs"]
            notes = subprocess.run(["readelf", "-n", make], check=True, capture_output=True, text=True).stdout
            print_ = notes.split("Build ID: ")[1].split()[0]
            (folder / print_[:2]).mkdir()
            os.mkfifo(folder / print_[:2] / (print_[2:] + ".debug"))
            inside = case.dir / "symfs" / str(program).lstrip("/")
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(program, inside)
            done = case.analyze(trace, *words)
            need(done.status == 1 and "people_wait_readable" in done.out, f"{way}: {done}")
        done = case.analyze(trace)
        need(done.status == 1 and "people_wait_readable" in done.out and "people.c" not in done.out, f"{way}: {done}")
        program.unlink()
        debug.unlink(missing_ok=True)


def check_own_program(case):
    """An object file that came with the trace names functions and places, and has no line of the reader's files shown."""
    trace, make = lost(case)
    source = pathlib.Path(__file__).resolve().parent.parent / "golden/people.c"
    done = case.analyze(trace)
    shown = [x.strip() for x in source.read_text().splitlines() if len(x.strip()) > 8 and x.strip() in done.out]
    need(shown, f"lines of the program's: {done}")
    inside = trace / "program"
    shutil.copy(make, inside)
    say_module(trace, make, inside)
    done = case.analyze(trace)
    need(done.status == 1 and "people.c" in done.out, f"places: {done}")
    for format_ in ("text", "html", "sarif", "markdown"):
        done = case.analyze(trace, f"--format={format_}")
        need(not any(x in done.out for x in shown), f"{format_}: {done.out}")


def check_module_is(case):
    """A module's file is a FIFO, a device, a folder, a text: its frames have no names, and the report is made."""
    trace, make = lost(case)
    fifo, text = case.dir / "lib.so", case.dir / "text.so"
    os.mkfifo(fifo)
    text.write_text("no ELF\n")
    last = make
    for path in (fifo, "/dev/zero", "/proc/kmsg", case.dir, text, "lost/t0.0", "/"):
        say_module(trace, last, path)
        done = case.analyze(trace)
        need(done.status == 1 and "people_" not in done.out, f"{path}: {done}")
        last = path


def check_endless_input(case):
    """What never ends is refused in a line, and what ends at once is taken as empty."""
    lost(case)
    for words, why in ((("lost", "--suppress=/dev/zero"), "/dev/zero: it is not a regular file"),
                       (("lost", "--suppress=lost"), "lost: Is a directory"),
                       (("lost", "--baseline=/dev/zero"), "/dev/zero: not a JSON report"),
                       (("/dev/zero",), "/dev/zero: it is not a regular file")):
        bound = ["prlimit", f"--as={4 << 30}"]  # bytes: a reader that takes all there is ends here
        done = case.start(*bound, case.analyze_tool, *words).done(60)
        equal((done.status, done.out, len(done.err.splitlines())), (2, "", 1), f"{words}: {done.err}")
        need(why in done.err, done.err)
    equal(case.analyze("lost", "--suppress=/dev/null").status, case.analyze("lost").status, "status with /dev/null")


CHECKS = [("endless_input", check_endless_input), ("repair_links", check_repair_links), ("names", check_names), ("debug_fifo", check_debug_fifo),
          ("own_program", check_own_program), ("module_is", check_module_is)]
