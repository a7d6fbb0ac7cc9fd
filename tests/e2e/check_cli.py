# SPDX-License-Identifier: MIT
"""Command lines that are nearly right: long forms, capitals, and what a mistyped word is told."""
import os
import shlex

from check_ps import NOBODY
from harness import ROOT, Skip, equal, need, tool


def commands(case):
    return case.run_tool, case.analyze_tool, case.build / "src/ps/ctp-ps", case.build / "src/ctl/ctp-ctl"


def check_mistyped(case):
    """A mistyped option is told the nearest one, a word that is like none is not."""
    for command, word, meant in zip(commands(case), ("--timout=1", "--formt=json", "--whatch", "--jsn"), ("--timeout", "--format", "--watch", "--json")):
        done = case.run(command, word, "x")
        need(done.status in (2, 125) and done.err.startswith(f"{command.name}: ") and f"did you mean {meant}?" in done.err, f"{done}")
        done = case.run(command, "--nothing-like-it", "x")
        need(done.status in (2, 125) and "did you mean" not in done.err and "--help" in done.err, f"{done}")
        equal(done.err.count("\n"), 1, "lines")


def check_rule_names(case):
    """Rules go by any case; one that is not there is named."""
    for words in (["--rule=ctp001"], ["--rule=Ctp002,CTP001"], ["--lost-wakeup"]):
        case.ctp(case.target("counts"), "basic")
        equal(case.analyze("ctp.data", *words).status, 0, f"{words}")
    equal(case.run(case.analyze_tool, "--explain", "ctp005").out, case.run(case.analyze_tool, "--explain", "CTP005").out, "--explain")
    for words in (["--rule=CTP001,ctp999"], ["--explain=ctp999"]):
        done = case.run(case.analyze_tool, *words)
        equal((done.status, done.out), (2, ""), f"{words}")
        need("no such rule: ctp999" in done.err and "--list-rules" in done.err, done.err)


def check_two_traces(case):
    """--diff wants both traces named: nothing is compared with itself by default."""
    case.ctp(case.target("counts"), "basic")
    done = case.run(case.analyze_tool, "--diff", "ctp.data")
    equal((done.status, done.out), (2, ""), "one trace")
    need("compares two traces" in done.err, done.err)
    equal(case.analyze("ctp.data", "--diff", "ctp.data").status, 0, "two")


def check_long_forms(case):
    """Each letter of ctp-run has a long form that does the same."""
    words = ("--quiet", "--output=x.data", "--coroutines=100", "--env=WORD=here", case.target("misc"), "env", "WORD")
    done = case.ctp(*words)
    equal((done.status, done.err), (0, ""), f"{words}")
    need((case.dir / "x.data").is_dir() and not (case.dir / "ctp.data").exists(), "--output")
    need("ctp-run: " in case.ctp("--verbose", case.target("misc"), "exit", "0").err, "--verbose")
    for words in (["--coroutines=0"], ["-n", "0"]):
        done = case.ctp(*words, case.target("misc"), "exit", "0")
        need(done.status == 125 and "--coroutines=0: a number from 1" in done.err, f"{done}")
    for command in commands(case):
        rows = [line.split()[0] for line in case.run(command, "--help").out.splitlines() if line.startswith("  -") and line[3] != "-"]
        need(rows and all(row.endswith(",") for row in rows), f"{command.name}: a letter without a long form: {rows}")


def check_next_command(case):
    """The last line is a command for a shell: it names the trace, whatever its name is."""
    for name in ("plain", "two words", "it's", "it's \"$(5)\" `x`", "\\", "-", "-x", "- y"):
        for program, hint in ((case.target("counts"), "run: "), (tool("true"), "so nothing was checked; ")):
            done = case.ctp("--check", f"--output={name}", program, "basic")
            last = [line for line in done.err.splitlines() if hint in line][-1].split(hint)[-1].split(" says what was")[0]
            command, *words = shlex.split(last)
            equal((command, [os.path.normpath(word) for word in words]), ("ctp-analyze", [name]), last)
            equal(case.run(case.analyze_tool, *words).status, 0, last)


def check_of_another(case):
    """A trace of another user is in the place: that it may not be read is what is said."""
    setpriv = [tool("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if os.geteuid():
        raise Skip("not root")
    os.chmod(case.dir, 0o755)
    if case.run(*setpriv, "test", "-x", case.run_tool).status or case.run(*setpriv, "test", "-x", case.dir).status:
        raise Skip("the build tree or the folder is not open to other users")
    case.ctp(case.target("counts"), "basic")
    done = case.run(*setpriv, case.run_tool, tool("true"))
    equal((done.status, done.out, done.err.count("\n")), (125, "", 1), f"{done}")
    need("ctp.data: Permission denied; the program was not started" in done.err, done.err)


def check_folder(case):
    """A folder is no program, however it is named."""
    for name in (".", "..", "/tmp"):
        done = case.ctp(name)
        need(done.status == 126 and "is a directory, not a program" in done.err, f"{done}")


def check_implied(case):
    """--fail-on and --error-exitcode each imply --check."""
    for words in (["--fail-on=proven"], ["--error-exitcode=9"]):
        done = case.ctp(*words, case.target("counts"), "basic")
        need(done.status == 0 and "0 findings" in done.err, f"{words}: {done}")


def check_manual(case):
    """The manual pages have no warnings of the formatter, and say by example how a command is used, and what it cannot do."""
    man = tool("man")
    for command in commands(case):
        equal(case.run(command, "--man").out, (ROOT / f"man/{command.name}.1").read_text(), f"man/{command.name}.1 is what --man prints")
    for name in (*(command.name for command in commands(case)), "ctp-push"):
        done = case.run(man, "--warnings", "-E", "UTF-8", "-l", ROOT / f"man/{name}.1", env={"LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
        equal((done.status, done.err), (0, ""), f"man --warnings {name}")
        for part in ("EXAMPLES", "BUGS", "EXIT STATUS", "SEE ALSO"):
            need(f"\n{part}\n" in done.out, f"{name}: no {part}: {done.out[-500:]}")
        need(f"       {name} " in done.out.split("\nEXAMPLES\n")[1], f"{name}: no example of it")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
