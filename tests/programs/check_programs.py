# SPDX-License-Identifier: MIT
"""Programs that nobody here wrote, or that run on libraries that nobody here
wrote: the same output and status as without ctp, counts exact, nothing lost,
no finding."""
import pathlib
import subprocess
import threading

import packages
from check_counts import check_jsonl
from harness import Skip, equal, need, tool

HERE = pathlib.Path(__file__).resolve().parent


def built(case, *argv):
    done = case.run(*argv)
    if done.status != 0:
        raise Skip(f"does not build here: {done.err.strip()[-300:]}")


def as_without(case, *argv, same_output=True, count=None, coroutines=None):
    """Both forms of the trace against a run without ctp. Returns the report."""
    bare = case.run(*argv)
    done = case.ctp("--overflow=block", *argv)
    equal(done.status, bare.status, "status")
    if same_output:
        equal(done.out, bare.out, "output")
    shown = case.switches()
    status, report = case.report()
    trace = report["trace"]
    equal(report["findings"], [], "findings")
    equal(trace["lost"], 0, "lost")
    equal(trace["switches"], shown, "switches in the tables against those shown")
    need(shown > 0, "no switch seen")
    if count is not None:
        equal(shown, count, "switches")
    if coroutines is not None:
        equal(trace["coroutines"]["total"], coroutines, "coroutines")
    equal(status, 0, "ctp-analyze's status")
    return report


def check_tbb(case):
    packages.want("g++", "libtbb-dev")
    built(case, tool("g++"), "-O2", "-g", "-std=c++17", HERE / "tbb_suspend.cpp", "-o", "suspend", "-ltbb")
    report = as_without(case, "./suspend", "2000")
    need(report["trace"]["coroutines"]["total"] > 0, "no coroutine seen")


def check_tbb_lines(case):
    packages.want("g++", "libtbb-dev")
    built(case, tool("g++"), "-O2", "-g", "-std=c++17", HERE / "tbb_suspend.cpp", "-o", "suspend", "-ltbb")
    bare = case.run("./suspend", "500")
    done = case.ctp("--overflow=block", "-o", "x.jsonl", "./suspend", "500")
    equal((done.status, done.out), (bare.status, bare.out), "the program")
    need(len(check_jsonl(case.dir / "x.jsonl")) > 0, "no line")


def check_gdc(case):
    packages.want("gdc")
    built(case, tool("gdc"), "-O1", "-g", HERE / "generators.d", "-o", "generators")
    words = subprocess.run(["nm", "-D", str(case.dir / "generators")], capture_output=True, text=True).stdout
    if "swapcontext" not in words and "libgphobos" not in subprocess.run(
            ["ldd", str(case.dir / "generators")], capture_output=True, text=True).stdout:
        raise Skip("this D runtime switches without swapcontext")
    as_without(case, "./generators", "200", "100", count=40400)


_pth = {"lock": threading.Lock(), "path": None, "why": None}


def pth(case):
    """The directory of the built tests; built once for all checks."""
    with _pth["lock"]:
        if _pth["why"]:
            raise Skip(_pth["why"])
        if _pth["path"] is None:
            try:
                packages.want("gcc", "make", "libc6-dev")
                place = pathlib.Path(case.shared())
                folder = packages.source("pth", place)
                with open(place / "build.log", "w") as log:
                    subprocess.run("./configure --disable-shared && make && make -k "
                                   "test_std test_misc test_mp test_uctx test_philo test_sig", shell=True, cwd=folder, stdout=log,
                                   stderr=log, stdin=subprocess.DEVNULL, timeout=600, check=True)
                _pth["path"] = folder
            except Skip as reason:
                _pth["why"] = str(reason)
                raise
            except (OSError, subprocess.SubprocessError) as error:
                _pth["why"] = f"pth does not build here: {error}"
                raise Skip(_pth["why"])
        return _pth["path"]


def check_pth(name):
    return lambda case: as_without(case, pth(case) / f"test_{name}")


def check_pth_philo(case):
    """The philosophers eat for ever."""
    done = case.ctp("--overflow=block", "--timeout=4", pth(case) / "test_philo")
    equal(done.status, 124, f"status ({done})")
    shown = case.switches()
    status, report = case.report()
    equal((report["findings"], report["trace"]["lost"]), ([], 0), "findings, lost")
    equal(report["trace"]["switches"], shown, "switches")


CHECKS = [("tbb", check_tbb), ("tbb_lines", check_tbb_lines), ("gdc", check_gdc)] + [
    (f"pth_{name}", check_pth(name)) for name in ("std", "misc", "mp", "uctx")] + [("pth_philo", check_pth_philo)]
