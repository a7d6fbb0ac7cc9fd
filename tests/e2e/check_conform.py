# SPDX-License-Identifier: MIT
"""What we interpose keeps the promises of its manual pages: programs that
check them themselves say and end the same, bare and under ctp."""

from check_engines import TARGETS, built, packages
from harness import equal, need, tool, until

BUILDS = ["O0", "O2", "O3", "cet"]
ENDS = ["end_no_link", "end_no_link_thread", "end_set_saved", "end_exit", "end_quick_exit", "end_abort", "end_signal",
        "end_main_thread", "end_overflow"]


def same(case, *argv, status=None):
    """Bare and under ctp; the report must be clean, and nothing lost."""
    bare = case.run(*argv)
    if status is not None:
        equal(bare.status, status, f"bare status ({bare})")
    done = case.ctp("--overflow=block", *argv)
    equal((done.status, done.out), (bare.status, bare.out), f"status and output ({done})")
    status, report = case.report()
    rules = {f["rule"] for f in report["findings"]}
    equal((rules, report["trace"]["lost"]), ({"CTP021"} if "end_overflow" in argv else set(), 0), "findings, lost")
    need(report["trace"]["switches"] > 0, "no switch seen")
    return bare


def check_all(case, build):
    bare = same(case, case.target(f"conform-{build}"), status=0)
    need(bare.out.count("ok ") > 25, bare.out)


def check_end(case, build, name):
    same(case, case.target(f"conform-{build}"), name)


def check_alone(case):
    """Preloaded without ctp-run, and turned off: this first, for the other leaves a trace."""
    program = case.target("conform-O2")
    bare = case.run(program)
    for env in ({"CTP_DISABLE": "1"}, {}):
        done = case.run(program, env={"LD_PRELOAD": str(case.lib), **env})
        equal((done.status, done.out), (bare.status, bare.out), f"status and output with {env} ({done})")
        equal((case.dir / "ctp.data").exists(), not env, f"a trace with {env}")
    manifest = case.dir / "ctp.data/ctp/trace.json"  # ctp-run outlives the program
    until(lambda: '"complete":true' in manifest.read_text(), "the end of the trace")


def check_ends_listed(case):
    equal(case.run(case.target("conform-O2"), "ends").out.split(), ENDS, "the program's own list")


BOOST = ["O0", "O2"]
BOOST_ENDS = ["end_throw_uc", "end_throw_uc_no_link", "end_throw_fc", "end_throw_fiber", "end_throw_caught_outside",
              "end_pthread_exit_fiber", "end_exit_fiber"]


def boost(case, build):
    packages.want("g++", "libboost-context1.74-dev")
    return built(case, f"t-conform-boost-{build}", tool("g++"), f"-{build}", "-g", "-w", "-D_GNU_SOURCE", "-frounding-math",
                 TARGETS / "conform_boost.cpp", "-lboost_context", "-lpthread")


def check_boost(case, build):
    bare = same(case, boost(case, build), status=0)
    need(bare.out.count("ok ") == 11, bare.out)


CHECKS = [(build, lambda case, build=build: check_all(case, build)) for build in BUILDS] + [
    (f"{build}_{name}", lambda case, build=build, name=name: check_end(case, build, name))
    for build in ("O0", "O3") for name in ENDS] + [("ends_listed", check_ends_listed), ("alone", check_alone)] + [
    (f"boost_{build}", lambda case, build=build: check_boost(case, build)) for build in BOOST] + [
    (f"boost_{name}", lambda case, name=name: same(case, boost(case, "O2"), name)) for name in BOOST_ENDS]
