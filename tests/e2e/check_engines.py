# SPDX-License-Identifier: MIT
"""Every way to switch: programs that know their own coroutines and switches,
bare and under ctp. Those on Boost are built here, from the packages."""
import copy
import json
import os
import pathlib
import re
import sys
import threading

import check_sound
from check_counts import check_lines, said
from harness import ROOT, Skip, equal, tool

sys.path.append(str(ROOT / "tests/programs"))
import packages  # noqa: E402

TARGETS = ROOT / "tests/targets"
SET = ["lwp", "lwp_scheduler", "link_to_saved", "link_to_coroutine", "gone", "copied", "one_stack", "thread_stack",
       "frames", "deep_native", "destructor", "at_exit"]
JUMP = ["qemu", "nested", "migrate", "kinds", "signals", "saved_once", "saved_once_scheduler", "up", "one_stack",
        "copied", "openssl"]
ERROR = ["error", "error_inside", "error_signal", "error_signal_inside", "signal_away", "born_here", "born_threads",
         "born_migrate", "error_out_of_read", "handler_switch"]
FORTIFIED = {"set": SET[:-3], "jump": ["up"], "error": ["error", "error_signal"]}
FCONTEXT = ["ping", "many", "heap", "heap_header", "mapped", "guarded", "nested", "ontop", "ontop_back", "migrate",
            "threads", "orphan", "scheduler", "sideways", "reuse", "unaligned", "fixed", "nosize", "created", "signals",
            "returns", "exits", "mixed"]
OLD = ["ping", "several", "migrate"] if os.uname().machine == "x86_64" else []
CXX = ["fiber", "unwind", "resume_with", "coroutine2", "coroutine1", "fibers", "fibers_threads", "fibers_sharing",
       "exceptions"]

_built = {}
_lock = threading.Lock()


def built(case, name, *argv):
    """The program that a compiler makes of these words; made once for all checks."""
    with _lock:
        if name not in _built:
            program = pathlib.Path(case.shared()) / name
            done = case.run(*argv, "-o", program)
            _built[name] = program if done.status == 0 else f"does not build here: {done.err.strip()[-300:]}"
    if isinstance(_built[name], str):
        raise Skip(_built[name])
    return _built[name]


def with_boost(case, name, *sources):
    packages.want("gcc", "libc6-dev", "libboost-context1.74-dev")
    return built(case, name, tool("gcc"), "-O1", "-g", "-w", "-D_GNU_SOURCE",
                 *[s if s[0] == "-" else TARGETS / s for s in sources], "-lboost_context", "-lpthread")


def fcontext(case):
    return with_boost(case, "t-engines-fcontext", "engines_fcontext.c", "engines.c", "must.c")


def lost_fcontext(case):
    return with_boost(case, "t-lost-fcontext", "lost.c", "keep.c", "co.c", "co_fcontext.c", "must.c")


def check_counts(case, *words):
    """A run under ctp: coroutines, switches and ends as the program itself counts them, where it knows the ends."""
    done = case.ctp("--overflow=block", *words)
    coroutines, switches = said(done.out)
    shown = case.switches()
    status, report = case.report()
    trace = report["trace"]
    equal((report["findings"], trace["lost"], status), ([], 0, 0), "findings, lost, ctp-analyze's status")
    c = trace["coroutines"]
    equal((c["total"], trace["switches"], shown), (coroutines, switches, switches), "coroutines, switches, ctp:switch")
    equal(c["total"], c["created"] + c["suspended"] + c["running"] + c["finished"] + c["destroyed"], f"sum of {c}")
    ends = re.search(r"^finished (\d+) destroyed (\d+)$", done.out, re.M)
    if ends:
        equal((c["finished"], c["destroyed"]), (int(ends[1]), int(ends[2])), f"finished, destroyed of {c}")
    return done


def check_counted(case, program, *words):
    """And the program itself is as bare."""
    bare = case.run(program, *words)
    done = check_counts(case, program, *words)
    equal((done.status, done.out), (bare.status, bare.out), "the program")


def mix(case):
    return with_boost(case, "t-engines-mix", "engines_mix.c", "engines.c", "must.c")


def check_who(case, seed):
    """Each switch leads from whom to whom it did: the program's numbers and our ids stand for each other."""
    done = case.ctp("--overflow=block", "-o", "x.jsonl", mix(case), "who", seed)
    equal(done.status, 0, f"{done}")
    truth = [line.split() for line in done.out.splitlines() if line[0].isdigit()]
    lines = [json.loads(line) for line in (case.dir / "x.jsonl").read_text().splitlines()]
    equal(len(lines), 2 * len(truth), "lines")
    ids, numbers = {}, {}
    for n, pair in enumerate(truth):
        for number, line in zip(pair, lines[2 * n:2 * n + 2]):
            who = line["probe_id"]
            equal((ids.setdefault(number, who), numbers.setdefault(who, number)), (who, number), f"switch {n}: {pair}")


# Programs that enter all their coroutines in turn, each from the thread's own stack: how many.
ROUNDS = {("set", "one_stack"): 20, ("set", "copied"): 8, ("set", "lwp"): 6, ("jump", "one_stack"): 20,
          ("jump", "openssl"): 10, ("fcontext", "many"): 10000}


def check_rounds(case, kind, name):
    """Coroutines copied through one stack, and others, are told from each other: round after round the same ids."""
    program = fcontext(case) if kind == "fcontext" else case.target(f"engines-{kind}")
    equal(case.ctp("--overflow=block", "-o", "x.jsonl", program, name).status, 0, "status")
    who = [json.loads(line)["probe_id"] for line in (case.dir / "x.jsonl").read_text().splitlines()]
    n = ROUNDS[kind, name]
    native, entered = who[0], who[1::4]
    equal((set(who[0::4]), set(who[3::4])), ({native}, {native}), "who enters")
    equal(entered, who[2::4], "who was entered and who leaves")
    equal(len(set(entered[:n])), n, "different ids")
    equal(entered, entered[:n] * (len(entered) // n), "rounds")


def counted(prefix, program, names, lines=()):
    for name in names:
        yield f"{prefix}_{name}", lambda case, name=name: check_counted(case, program(case), name)
    for name in lines:
        yield f"{prefix}_{name}.jsonl", lambda case, name=name: check_lines(case, [program(case), name])


def check_fortified(case):
    """Fortified programs do jump by __longjmp_chk."""
    if "__longjmp_chk" not in case.run(tool("nm"), "-D", case.target("engines-jump-fortified")).out:
        raise Skip("this C library's headers do not fortify longjmp")


def check_foreign(case):
    """Another library's jump_fcontext, with other arguments, is not ours to change."""
    bare = case.run(case.target("engines-foreign"))
    done = case.ctp(case.target("engines-foreign"))
    equal(bare.status, 0, f"bare: {bare}")
    equal((done.status, done.out), (bare.status, bare.out), "the program")
    status, report = case.report()
    equal((status, report["findings"]), (0, []), "analysis")


def check_plugins(case, how):
    """Boost's functions in a library that a plugin alone sees; others by the same name in other plugins."""
    packages.want("gcc", "libc6-dev", "libboost-context1.74-dev")
    source, shared = TARGETS / "engines_plugin.c", ["-fPIC", "-shared"]
    plugins = [built(case, name, tool("gcc"), "-O1", "-g", *shared, define, source, *libs) for name, define, libs in (
        ("plug-boost.so", "-DBOOST", ["-lboost_context"]), ("plug-1.so", "-DWHO=1", []), ("plug-2.so", "-DWHO=2", []))]
    check_counted(case, built(case, "t-engines-plugin", tool("gcc"), "-O1", "-g", source, "-ldl"), *plugins, how)


# ---- the library wraps read, accept and close, and switches inside

def wrapped(case, engine, behind):
    if engine == "fcontext":
        sources = ["wrapped.c", "co.c", "co_fcontext.c", "must.c"] + ([] if behind else ["wrap.c"])
        program = with_boost(case, f"t-wrapped-{engine}-{behind}", *sources, *(["-rdynamic"] if behind else []))
    else:
        program = case.target("wrapped-behind" if behind else "wrapped")
    preload = f"LD_PRELOAD={case.target('x').parent / 'libwrap.so'}"
    return ["-E", preload, program] if behind else [program]


def check_wrapped(case, engine, behind):
    equal(check_counts(case, *wrapped(case, engine, behind), "20", engine).status, 0, "status")


def check_hidden(case, engine, check, place):
    """check_sound's, where the coroutine switches by other means."""
    other = copy.copy(case)
    if engine == "fcontext":
        program = with_boost(case, "t-sound-fcontext", "sound_hide.c", "sound_places.c", "sound_stacks.c",
                             "sound_kernel.c", "sound_heap.c", "sound_ends.c", "sound_designs.c", "co.c", "co_fcontext.c", "must.c",
                             *["sound_registers.c"] * (os.uname().machine == "x86_64"))
        other.target = lambda name: program
    other.start = lambda *words, **kw: case.start(*words, env={"CO_ENGINE": engine}, **kw)
    check(other, place)


# ---- C++: calls are counted where the program makes them (ld's --wrap)

def cxx(case):
    packages.want("g++", *[f"libboost-{p}1.74-dev" for p in ("context", "coroutine", "fiber", "thread", "chrono")])
    return built(case, "t-engines-cxx", tool("g++"), "-O1", "-g", "-w", "-D_GNU_SOURCE",
                 TARGETS / "engines_cxx.cpp", TARGETS / "engines_wrap.S",
                 *[f"-Wl,--wrap={f}_fcontext" for f in ("make", "jump", "ontop")], "-Wl,-Bstatic",
                 *[f"-lboost_{p}" for p in ("fiber", "coroutine", "thread", "chrono")], "-Wl,-Bdynamic", "-lboost_context",
                 "-lpthread")


def check_cxx(case, name):
    """How fibers are scheduled differs from run to run: the program's own count of the same run."""
    program = cxx(case)
    equal(case.run(program, name).status, 0, "bare status")
    equal(check_counts(case, program, name).status, 0, "status")


CHECKS = [
    *counted("set", lambda case: case.target("engines-set"), SET, ["lwp", "copied"]),
    *counted("jump", lambda case: case.target("engines-jump"), JUMP, ["qemu", "openssl"]),
    *counted("error", lambda case: case.target("engines-error"), ERROR, ["born_here"]),
    *[c for kind, names in FORTIFIED.items() for c in counted(
        f"fortified_{kind}", lambda case, kind=kind: case.target(f"engines-{kind}-fortified"), names)],
    *counted("old", lambda case: case.target("engines-old"), OLD),
    *counted("fcontext", fcontext, FCONTEXT, ["ping", "heap"]),
    *[(f"cxx_{name}", lambda case, name=name: check_cxx(case, name)) for name in CXX],
    *[(f"mix_{how}_{seed}", lambda case, how=how, seed=seed: check_counts(case, mix(case), how, seed))
      for how in ("one", "threads") for seed in range(1, 4)],
    *[(f"mix_who_{seed}", lambda case, seed=seed: check_who(case, seed)) for seed in range(1, 4)],
    *[(f"rounds_{kind}_{name}", lambda case, kind=kind, name=name: check_rounds(case, kind, name)) for kind, name in ROUNDS],
    ("fortified", check_fortified),
    ("foreign", check_foreign),
    ("plugins_in_turn", lambda case: check_plugins(case, "in-turn")),
    ("plugins_together", lambda case: check_plugins(case, "together")),
    *[(f"wrapped_{engine}_{'behind' if behind else 'before'}",
       lambda case, engine=engine, behind=behind: check_wrapped(case, engine, behind))
      for engine in ("ucontext", "sjlj", "fcontext") for behind in (False, True)],
    *[(f"hidden_{engine}_{place}", lambda case, e=engine, place=place: check_hidden(case, e, check_sound.check_place, place))
      for engine in ("sjlj", "fcontext") for place in check_sound.PLACES],
    *[(f"hidden_{engine}_{place}_resumed",
       lambda case, e=engine, place=place: check_hidden(case, e, check_sound.check_resumed, place))
      for engine in ("sjlj", "fcontext") for place in ("packed", "pipe", "pool_raw", "tail")],
]
