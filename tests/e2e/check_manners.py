# SPDX-License-Identifier: MIT
"""A guest's manners: whatever the program does, it does as without us."""
import os
import pathlib
import re
import signal

from harness import OURS, ROOT, Skip, child_of, equal, need, tool, until, witness

BLOCK = "--overflow=block"


def bare_and_traced(case, *words, out=True, options=(BLOCK,), env=None):
    """The program alone and under ctp-run: same status, same stdout, nothing of ours on stderr but our lines."""
    bare = case.run(*words, env=env)
    done = case.ctp(*options, *words, env=env)
    equal((bare.status, done.status), (0, 0), f"status ({bare} {done})")
    if out:
        equal(done.out, bare.out, "stdout")
    ours = [x for x in done.err.splitlines() if x.startswith(OURS)]
    equal([x for x in done.err.splitlines() if x not in ours], bare.err.splitlines(), "stderr")
    return done


def said(done, what):
    return int(re.search(rf"{what} (\d+)", done.out)[1])


def same_switches(case, done, lost=0):
    """Every switch was seen, or is known to have been missed; no finding comes of it."""
    report = case.report()[1]
    trace = report["trace"]
    equal(trace["switches"] + trace["lost"], said(done, "switches"), "switches seen and lost")
    need(trace["lost"] <= lost * said(done, "switches"), f"{trace['lost']} lost of {said(done, 'switches')}")
    equal(report["findings"], [], "findings")
    if trace["lost"]:
        need(any("inside a hook" in f["message"] for f in report["facts"]), f"nothing says so: {report['facts']}")
    return trace


# ---- signals

def signals(case, *words, lost=0):
    done = bare_and_traced(case, case.target("signals"), *words, out=False)
    return same_switches(case, done, lost)


def check_signals_storm(case):
    """Handlers that close, write and register, nested and on an alternate stack, wherever they strike."""
    signals(case, "storm", "3000")


def check_signals_timer(case):
    signals(case, "timer", "3000")


def check_signals_switch(case):
    """Handlers that run another coroutine for a while, or the very one that was about to run."""
    for name in ("visit", "visit-alternate", "same"):
        trace = signals(case, name, "1000", lost=0.2)
        need(trace["coroutines"]["total"] <= 2, f"{name}: more coroutines than there are: {trace['coroutines']}")


def check_signals_jump(case):
    """Handlers that jump out of hooks: what follows is seen again."""
    for name in ("jump", "jump-inside", "jump-alternate", "jump-wait"):
        signals(case, name, "1000")
        facts = case.report()[1]["facts"]
        need(not any("number" in f["message"] for f in facts), f"{name}: a descriptor's entry was never given back: {facts}")


def check_signals_stop(case):
    """SIGSTOP and SIGCONT in the middle of waits: EINTR where there would have been one, and nowhere else."""
    done = bare_and_traced(case, case.target("signals"), "stop")
    equal(done.out.count("epoll_wait -1 EINTR\nread 1"), 2, "rounds")
    same_switches(case, done)


HEARS = """
import signal
few = {signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGTERM, signal.SIGALRM, signal.SIGCONT}
signal.pthread_sigmask(signal.SIG_BLOCK, few)
print("ready", flush=True)
while True:
    number = signal.sigwait(few)
    print("got", number.name, flush=True)
    if number == signal.SIGUSR2:
        break
"""


def heard(case, tell, options=()):
    """What a program hears, in order, if `tell` tells it something by way of ctp-run, until it is told to end."""
    process = case.ctp_start("-q", *options, tool("python3"), "-c", HEARS)
    process.wait_for("ready")
    tell(process)
    process.signal(signal.SIGUSR1)
    process.wait_for("got SIGUSR1")
    process.signal(signal.SIGWINCH)  # and what was sent on before the one has come in any case
    process.wait_for("got SIGWINCH")
    process.signal(signal.SIGUSR2)
    done = process.done()
    equal((done.status, done.err), (0, ""), f"{done}")
    return [x.split()[1] for x in done.out.splitlines() if x.startswith("got ")]


def check_signals_group(case):
    """A signal to the whole process group reaches the program once, as without ctp-run."""
    def tell(process):
        for number in (signal.SIGHUP, signal.SIGALRM, signal.SIGTERM):
            os.killpg(process.pid, number)
            process.wait_for(f"got {number.name}")

    for options in ((), ("-f",)):
        equal(heard(case, tell, options), ["SIGHUP", "SIGALRM", "SIGTERM", "SIGUSR1", "SIGWINCH", "SIGUSR2"],
              f"signals, {options}")


def check_signals_passed(case):
    """A signal to ctp-run alone is passed on, also one that it has no use for itself, after one to the group, too."""
    def tell(process):
        os.killpg(process.pid, signal.SIGHUP)
        process.wait_for("got SIGHUP")
        for number in (signal.SIGALRM, signal.SIGTERM):
            process.signal(number)
            process.wait_for(f"got {number.name}")

    equal(heard(case, tell), ["SIGHUP", "SIGALRM", "SIGTERM", "SIGUSR1", "SIGWINCH", "SIGUSR2"], "signals")


def check_signals_by_name(case):
    """Whoever ends ctp-run by its name, as `pkill ctp-run` does, ends the program, too: its second process has another one."""
    process = case.ctp_start("-q", tool("sleep"), "1000")
    child_of(process.pid, "sleep")
    other = child_of(process.pid, "ctp-group")
    need("ctp-run" not in pathlib.Path(f"/proc/{other}/comm").read_text(), "its name")
    process.signal(signal.SIGTERM)
    equal(process.done().status, -signal.SIGTERM, "status")


# ---- cancellation

def check_cancel(case):
    """Threads that are cancelled in hooked calls: cleanup handlers run, in coroutines too."""
    for how in ("deferred", "asynchronous"):
        for where, ends in (("native", 61), ("coroutine", 121)):
            done = bare_and_traced(case, case.target("cancel"), how, where, "60")
            need("cancelled 60 cleaned 60\n" in done.out, done.out)
            counts = same_switches(case, done)["coroutines"]
            equal((counts["running"], counts["finished"]), (0, ends), f"{how} in {where}: running, finished")


# ---- threads

def threads(case, *words, options=(BLOCK,)):
    done = bare_and_traced(case, case.target("threads"), *words, options=options)
    trace = same_switches(case, done)
    equal(trace["coroutines"]["total"], said(done, "coroutines"), "coroutines")
    return trace["coroutines"]


def check_threads_many(case):
    """Thousands one after the other, hundreds at once."""
    threads(case, "sequence", "5000", "4")
    threads(case, "at-once", "500")


def check_threads_churn(case):
    """Coroutines made, ended, freed suspended and never begun, on threads that come and go."""
    for kind in ("churn", "churn-maps"):
        counts = threads(case, kind, "8000", "4")
        equal((counts["finished"], counts["destroyed"]), (4000, 4000), f"{kind}: finished, destroyed")


def check_threads_recycled(case):
    """Stations go from the dead to the new while old stacks' memory is given back: nobody is destroyed by mistake."""
    counts = threads(case, "stale", "200000", options=(BLOCK, "-n", "200"))
    equal(counts["finished"], 200064, "finished")


def check_threads_heirs(case):
    """Coroutines whose makers have ended go on elsewhere."""
    counts = threads(case, "heirs", "500", "10")
    equal(counts["finished"], 500, "finished")


def check_threads_last_words(case):
    """Hooks in the destructors of thread-specific data, round after round."""
    threads(case, "destructors", "200")


def check_threads_little(case):
    """Threads with the smallest stack that there may be."""
    threads(case, "little", "200")


# ---- what is loaded, when, and where to

def loads(case, *words):
    return bare_and_traced(case, case.target("loads"), *words)


def modules(case):
    return [case.build / f"tests/targets/t-{name}.so" for name in ("module", "other")]


def check_modules(case):
    """Modules that switch, loaded and unloaded a thousand times: each coroutine is another one."""
    trace = same_switches(case, loads(case, "cycle", "1000", *modules(case)))
    equal(trace["coroutines"]["total"], 1000, "coroutines")


def check_modules_gone(case):
    """Who closed is named, though its module is long unloaded and another lies in its place."""
    process = case.ctp_start(case.target("loads"), "lost", "3", *modules(case))
    process.wait_for("ready")
    until(lambda: len([w for w in witness(case.dir / "ctp.data")]) >= 3, "the witness")
    process.signal(signal.SIGTERM)
    process.done()
    found = case.report()[1]["findings"]
    equal([f["count"] for f in found], [3], "findings")
    names = [f["symbol"] for f in found[0]["closer_stack"]]
    need("module_closes" in names and "other_closes" not in names, f"closed by {names}")


def check_namespace(case):
    """A second libc, in a namespace of its own (dlmopen): what is there is not seen, what is here is."""
    trace = same_switches(case, loads(case, "namespace", "100", modules(case)[0]))
    equal(trace["coroutines"]["total"], 1, "coroutines")


def check_early(case):
    """Libraries that call hooked functions before our constructor ran, and after our destructor."""
    for how in ("lazy", "now", "first"):
        for env in (None, {"LD_BIND_NOW": "1"}):
            done = bare_and_traced(case, case.target(f"loaded-{how}"), env=env)
            need("early 8 of 8\n" in done.out, done.out)
            switches = case.report()[1]["trace"]["switches"]
            need(switches in (2, 8, 14), f"{switches} switches: neither main's 2 nor with a constructor's or destructor's 6")


def check_allocators(case):
    """jemalloc and tcmalloc, preloaded or linked in: their free is found, and stacks are."""
    found = 0
    for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
        libs = [p for p in (f"/usr/lib/x86_64-linux-gnu/{name}", f"/usr/lib/{name}") if os.path.exists(p)]
        if not libs:
            continue
        found += 1
        linked = case.dir / f"linked-{name}"
        sources = [ROOT / "tests/targets" / f for f in ("manners_threads.c", "co.c", "must.c")]
        need(case.run(tool("gcc"), "-w", "-O1", "-D_GNU_SOURCE", "-Wl,--no-as-needed", *sources, libs[0], "-lpthread", "-o",
                      linked).status == 0, "does not build")
        for words in (["-E", f"LD_PRELOAD={libs[0]}", case.target("threads")], [linked]):
            done = case.ctp(BLOCK, *words, "churn", "1984", "4")
            equal(done.status, 0, f"{name}: status ({done})")
            counts = same_switches(case, done)["coroutines"]
            equal((counts["total"], counts["finished"], counts["destroyed"]), (1984, 992, 992), f"{name}: coroutines")
    if not found:
        raise Skip("neither libjemalloc.so.2 nor libtcmalloc_minimal.so.4 is installed")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items())
          if name.startswith("check_") and callable(function) and function.__module__ == __name__]
