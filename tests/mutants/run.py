#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries the mutations of table.py: run.py [--texts] [--list] [--folder=DIR] [WORD...]

Each takes away a condition that a verdict rests on, in a copy of the tree (kept in DIR, which
makes the next run quick). The copy is built, then the unit tests of the mutation's row are run,
and where none fails its end-to-end checks: what passes all of them survives. A WORD keeps the
mutations whose file, text or tests contain it. --texts: only that each text is there once.

Prints `killed FILE: WHY (by TEST)` or `SURVIVES FILE: WHY`, and last how many. Exit status 1 if one
survives that its row does not explain.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BOUND = 300  # seconds for one test
PROGRAMS = {"witness": ["tests/targets/t-witness"]}  # that a unit test runs, and does not link
sys.path.insert(0, str(HERE))
from table import MUTATIONS  # noqa: E402


def squeezed(text):
    """The text without blanks and line ends, and where each character that is left stands in it: how code is laid out
    is not a row's to say."""
    places = [i for i, c in enumerate(text) if not c.isspace()]
    return "".join(text[i] for i in places), places


def places(text, old):
    """(start, end) of each place at which `old` stands in the text."""
    (all_of, at), (wanted, _) = squeezed(text), squeezed(old)
    found, i = [], all_of.find(wanted)
    while i >= 0:
        found.append((at[i], at[i + len(wanted) - 1] + 1))
        i = all_of.find(wanted, i + 1)
    return found


def wrong_texts():
    """Rows whose text does not stand in its file exactly once, or which change nothing."""
    wrong = []
    for m in MUTATIONS:
        path = ROOT / m.file
        n = len(places(path.read_text(), m.old)) if path.is_file() else 0
        if n != 1 or squeezed(m.old)[0] == squeezed(m.new)[0]:
            wrong.append(f"{m.file}: {n} times: {m.old!r}")
    return wrong


def copy_tree(folder):
    """The tree as git and the editor have it; files that did not change keep their times."""
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\0")
    for name in filter(None, files):
        source, target = ROOT / name, folder / "tree" / name
        if not source.is_file() or (target.is_file() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def environment():
    env = dict(os.environ)
    if os.path.isdir("/usr/lib/ccache"):
        env["PATH"] = "/usr/lib/ccache:" + env["PATH"]
    return env


class Copy:
    def __init__(self, folder):
        self.tree, self.build = folder / "tree", folder / "build"
        self.passing = set()
        copy_tree(folder)
        if not (self.build / "build.ninja").is_file():
            self.call("meson", "setup", self.build, self.tree)

    def call(self, *words):
        try:
            return subprocess.run([str(w) for w in words], cwd=self.tree, env=environment(), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BOUND, text=True, errors="replace")
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(words, -1, late.stdout or "")

    def make(self, *targets):
        done = self.call("ninja", "-C", self.build, *targets)
        return done.returncode == 0, done.stdout

    def fails(self, test):
        """Does the test fail? `unit:NAME`, `e2e:WORD` or `museum:WORD`."""
        kind, name = test.split(":", 1)
        if kind == "unit":
            return self.call(self.build / f"tests/unit/test_{name}").returncode != 0
        run = "tests/museum/run.py" if kind == "museum" else "tests/e2e/run.py"
        return self.call(sys.executable, run, f"--build={self.build}", name).returncode != 0

    def targets(self, tests):
        names = [t[5:] for t in tests if t.startswith("unit:")]
        return [f"tests/unit/test_{n}" for n in names] + [program for n in names for program in PROGRAMS.get(n, ())]

    def passes(self, tests):
        """Those tests must pass as long as nothing is mutated; one that fails then kills nothing."""
        new = [t for t in tests if t not in self.passing]
        units = all(t.startswith("unit:") for t in new)
        built, said = self.make(*self.targets(new) if units else ()) if new else (True, "")
        broken = said if not built else " ".join(t for t in new if self.fails(t))
        if broken:
            sys.exit(f"without any mutation: {broken}")
        self.passing.update(new)

    def killed_by(self, m, tests):
        """The one of these tests that fails with this mutation; None: it survives them."""
        path = self.tree / m.file
        text = path.read_text()
        (start, end), = places(text, m.old)
        path.write_text(text[:start] + m.new + text[end:])
        try:
            units = all(t.startswith("unit:") for t in tests)
            built, said = self.make(*self.targets(tests) if units else ())
            if not built:
                return "the compiler" if "error:" in said else sys.exit(said)
            return next((t for t in tests if self.fails(t)), None)
        finally:
            path.write_text(text)

    def attempt(self, m):
        units = [t for t in m.tests if t.startswith("unit:")]
        rest = [t for t in m.tests if t not in units]
        by = self.killed_by(m, units) if units else None
        if by or not rest:
            return by
        self.passes(rest)
        return self.killed_by(m, rest)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), f"ctp-mutants-{os.getuid()}"))
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    wrong = wrong_texts()
    if wrong or args.texts:
        sys.exit("\n".join(wrong) if wrong else 0)
    chosen = [m for m in MUTATIONS if not args.words or any(w in " ".join((m.file, m.old, m.why, *m.tests)) for w in args.words)]
    if args.list:
        print("\n".join(f"{m.file}: {m.why}: {' '.join(m.tests)}" for m in chosen))
        return 0
    copy = Copy(pathlib.Path(args.folder))
    copy.passes(sorted({t for m in chosen for t in m.tests if t.startswith("unit:")}))
    survive = unexplained = 0
    for m in chosen:
        by = copy.attempt(m)
        survive += by is None
        unexplained += by is None and not m.survives
        how = f"killed {m.file}: {m.why} (by {by})" if by else f"SURVIVES {m.file}: {m.why}" + (f" ({m.survives})" if m.survives else "")
        print(how, flush=True)
    print(f"{len(chosen) - survive} of {len(chosen)} killed, {survive} survive, {unexplained} of them unexplained")
    return unexplained > 0


if __name__ == "__main__":
    sys.exit(main())
