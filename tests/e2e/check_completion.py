# SPDX-License-Identifier: MIT
"""Completion scripts, in the shells that they are for: options, the words of a choice, rules, the traced program's own words."""
import os
import pty
import select
import subprocess

from harness import Skip, equal, need, patience, tool

BASH = r"""
source "$1"
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); "$function"; echo "${COMPREPLY[@]}"; }
function=$2
shift 2
complete_words "$@" 2>/dev/null
"""


def scripts(case, shell):
    """A folder with a script for each command, named as this shell wants it; and the environment in which the commands are found."""
    place = case.dir / shell
    place.mkdir()
    names = {"bash": "{}", "zsh": "_{}", "fish": "{}.fish"}
    commands = case.run_tool, case.analyze_tool, case.build / "src/ps/ctp-ps", case.build / "src/ctl/ctp-ctl"
    for command in commands:
        done = case.run(command, f"--completion={shell}")
        equal((done.status, done.err), (0, ""), f"{command.name} --completion={shell}")
        (place / names[shell].format(command.name)).write_text(done.out)
    path = ":".join([*(str(command.parent) for command in commands), os.environ["PATH"]])
    return place, {**os.environ, "PATH": path, "HOME": str(place), "XDG_CONFIG_HOME": str(place), "TERM": "dumb"}


def has(got, wanted, what):
    need(set(wanted) <= set(got), f"{what}: {got}, not {wanted}")


def check_bash(case):
    place, env = scripts(case, "bash")

    def offered(*words):
        script = place / words[0]
        function = "_" + words[0].replace("-", "_")
        done = subprocess.run([tool("bash"), "--norc", "-c", BASH, "x", script, function, *words], env=env, cwd=case.dir,
                              capture_output=True, text=True, timeout=patience())
        equal(done.returncode, 0, f"{done}")
        return done.stdout.split()

    equal(offered("ctp-analyze", "--form"), ["--format="], "an option")
    has(offered("ctp-run", "-"), ["--output=", "--quiet", "--coroutines="], "all options")
    equal(offered("ctp-analyze", "--format", "=", "s"), ["sarif", "speedscope"], "words of a choice")
    equal(offered("ctp-analyze", "--format", "s"), ["sarif", "speedscope"], "words of a choice, apart")
    equal(offered("ctp-analyze", "--rule", "=", "ctp02")[0], "CTP020", "rules")
    (case.dir / "some.data").mkdir()
    equal(offered("ctp-analyze", "some"), ["some.data"], "files")
    equal(offered("ctp-run", "-o", "some"), ["some.data"], "a file after a letter")
    has(offered("ctp-run", "-o", "x", "--timeout", "=", "3", "ctp-ana"), ["ctp-analyze"], "the program")
    equal(offered("ctp-run", "ls", "--form"), [], "an option of the program's is not ours")
    equal(offered("ctp-ctl", "1", "sta"), ["status", "start"], "a verb")
    equal(offered("ctp-ctl", "--json", "1", "snapshot", "some"), ["some.data"], "where to")


def check_fish(case):
    fish = tool("fish")
    place, env = scripts(case, "fish")

    def offered(line):
        load = "".join(f"source {path}; " for path in sorted(place.glob("*.fish")))
        done = subprocess.run([fish, "--no-config", "-c", f"{load}complete -C '{line}'"], env=env, cwd=case.dir, capture_output=True,
                              text=True, timeout=patience())
        equal((done.returncode, done.stderr), (0, ""), f"{done}")
        return [text.split("\t")[0] for text in done.stdout.splitlines()]

    has(offered("ctp-analyze --form"), ["--format"], "an option")
    has(offered("ctp-run -"), ["--output", "--quiet", "-q"], "all options")
    equal(sorted(offered("ctp-run --overflow ")), ["block", "drop"], "words of a choice")
    has(offered("ctp-analyze --rule "), ["CTP001", "CTP030"], "rules")
    has(offered("ctp-run -o x ctp-ana"), ["ctp-analyze"], "the program")
    need("--output" not in offered("ctp-run ls --o"), "an option of the program's is not ours")
    has(offered("ctp-ctl 1 sta"), ["status", "start"], "verbs")


class Zsh:
    """zsh as on a terminal, with completion switched on."""

    def __init__(self, place, env, cwd):
        self.at, terminal = pty.openpty()
        self.process = subprocess.Popen([tool("zsh"), "-f", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, env=env, cwd=cwd,
                                        start_new_session=True)
        os.close(terminal)
        self.type(f"fpath=({place} $fpath); PS1='>'; unsetopt zle_bracketed_paste; LISTMAX=1000; autoload -U compinit; "
                  "compinit -u -D; zstyle ':completion:*' list-prompt ''; echo READ''Y\n")
        self.until("READY")

    def type(self, text):
        os.write(self.at, text.encode())

    def until(self, word):
        """What it says up to that word."""
        said = ""
        while word not in said:
            need(select.select([self.at], [], [], patience())[0], f"no {word!r}: {said!r}")
            said += os.read(self.at, 65536).decode(errors="replace")
        return said

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.at)


def check_zsh(case):
    place, env = scripts(case, "zsh")
    (case.dir / "some.data").mkdir()
    shell = Zsh(place, env, case.dir)
    try:
        for line, wanted in (("ctp-analyze --form\t", "--format="), ("ctp-run --overflow=b\t", "--overflow=block"),
                             ("ctp-analyze so\t", "some.data"), ("ctp-run -o x --timeout=1 ctp-anal\t", "ctp-analyze"),
                             ("ctp-ps --tr\t", "--tree"), ("ctp-analyze --rule=CTP03\t", "CTP030")):
            shell.type(line)
            shell.until(wanted)
            shell.type("\x15echo DON''E\n")  # ^U: the line is forgotten
            shell.until("DONE")
    finally:
        shell.end()


def check_installed(case):
    """They are installed where the shells look."""
    if not (case.build / "build.ninja").exists():
        raise Skip("no build tree to install from")
    done = case.run(tool("meson"), "introspect", "--targets", case.build)
    for name in ("bash-completion/completions/ctp-run", "site-functions/_ctp-analyze", "vendor_completions.d/ctp-ps.fish"):
        need(name in done.out, f"{name} is not installed")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
