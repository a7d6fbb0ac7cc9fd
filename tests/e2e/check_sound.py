# SPDX-License-Identifier: MIT
"""Ways back to a coroutine that nobody would think of: never PROVEN while one
of them is left, and clean once the program has gone it."""
import ctypes
import os
import signal
import socket

from harness import Skip, child_of, equal, need, tried, until, witness

PLACES = ["packed", "counted", "private_ro", "private_none", "shared_ro", "shared_none", "file_ro", "stream", "pipe",
          "socketpair", "tcp", "udp", "eventfd", "memfd", "signal", "timer", "nested", "pool_guards", "pool_fixed",
          "pool_raw", "pool_moved", "tail",
          # in and around stacks and saved contexts
          "end", "end_shared", "end_between", "bottom", "bottom_heap", "region", "frame", "frame_of_other", "events",
          "low", "low_row",
          # in what looks like freed memory
          "pool_list", "like_cache",
          # kept by the kernel
          "file_private", "file_private_rw", "file_moved", "fifo", "tcp_bulk", "tcp_over", "udplite", "raw", "netlink",
          "mqueue", "mq_notify", "msgqueue", "shm", "pty", "altstack", "offset", "closed_set",
          "replaced_set", "closed_set_row",
          # by the end of a stack, where something else begins
          "top_word", "top_link", "measured", "specific", "native_frame", "neighbour", "loader",
          # as servers keep their waiters
          "tag_low", "boxed", "packed44", "wheel", "paged_table", "segment", "file_table", "offset32", "chosen", "shifted32",
          "pool_memfd", "pool_shared", "pool_slices", "thread_end", "cleanup", "on_exit", "joiner", "helper",
          "helpers_memory", "passed", "secret"]
KEYS = ["key", "key_session", "key_private"]
WAKES = ["alarm", "timer_signal", "timer_thread", "timer_signalfd", "pwait", "reconfigure", "nested_timer", "sigchld",
         "pidfd", "reaper", "childs_pipe", "childs_eventfd", "forked", "watchdog", "timed_condition", "timed_semaphore",
         "thread_polls", "sigwait", "shared_condition", "msgrcv", "inotify", "mq_notify", "sigio", "aio", "kernel_aio"]
REGISTERS = []  # which not every CPU has
KEPT = []
FREED = ["freed_cached", "freed_fast", "freed_bin", "freed_top", "freed_thread"]
if os.uname().machine == "x86_64":
    REGISTERS = ["register_mm", "register_ymm", "register_zmm", "register_mask"]
    KEPT = ["register_callback", "register_main", "register_handler", "register_rbx", "register_rbp", "register_r12",
            "register_r15"]
    PLACES += ["vector", "process", "slot", "slot_second", "loop_slot", "gs", "unshared"]


def verdicts(case):
    _, report = case.report()
    return [(f["rule"], f["verdict"]) for f in report["findings"]], report


def turns(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))


def remove_queues(case, pid):
    """What System V keeps of a program that was killed: segments it made, queues it sent to."""
    for name, column, option in (("shm", 4, "-m"), ("msg", 5, "-q")):
        with open(f"/proc/sysvipc/{name}") as rows:
            for row in [line.split() for line in rows][1:]:
                if int(row[column]) == pid:
                    case.run("ipcrm", option, row[1])


def no_keys(case):
    """Why no key can be made here, if so."""
    done = case.run(case.target("sound-hide"), "key", "1")
    if "done" not in done.out:
        raise Skip("the kernel gives no keys here")


def base_readable():
    """Does the kernel let programs read %gs's base by an instruction (AT_HWCAP2, bit 1)?"""
    return ctypes.CDLL(None).getauxval(26) & 2


def check_place(case, place, target=None):
    if place == "gs" and not base_readable():
        raise Skip("a program cannot read %gs's base here without a system call: docs/limits.md")
    process = case.ctp_start(target or case.target("sound-hide"), place)
    process.wait_for("ready")
    program = child_of(process.pid)
    until(lambda: witness(case.dir / "ctp.data"), "a witness line")
    begun = turns(process.pid)
    until(lambda: turns(process.pid) > begun + 40, "turns of ctp-run")
    os.kill(program, signal.SIGKILL)
    equal(process.done().status, -signal.SIGKILL, "ctp-run's status")
    remove_queues(case, program)
    found, report = verdicts(case)
    need(all(v != "proven" for _, v in found), f"{place}: {report['findings']}")


def check_resumed(case, place, target=None):
    done = case.ctp(target or case.target("sound-hide"), place, "300")
    equal((done.status, "done" in done.out), (0, True), f"the program's end: {done}")
    found, _ = verdicts(case)
    equal(found, [], "findings")


@tried
def check_freed(case, place):
    """No way back: the word lies in memory that malloc has back."""
    process = case.ctp_start(case.target("sound-hide"), place)
    process.wait_for("ready")
    program = child_of(process.pid)
    until(lambda: any(e["id"] == "P6a" and e["holds"] for line in witness(case.dir / "ctp.data")
                      for e in line["evidence"]), "P6 in the witness")
    os.kill(program, signal.SIGKILL)
    equal(process.done().status, -signal.SIGKILL, "ctp-run's status")
    found, report = verdicts(case)
    equal(found, [("CTP001", "proven")], f"{place}: {report['findings']}")


def check_wake(case, wake):
    check_place(case, wake, case.target("sound-wakes"))


def check_woken(case, wake):
    check_resumed(case, wake, case.target("sound-wakes"))


def check_nothing_wakes(case):
    """None of these ways: the same program is quiet."""
    process = case.ctp_start(case.target("sound-wakes"), "nothing")
    process.wait_for("ready")
    program = child_of(process.pid)
    until(lambda: any(e["id"] == "P6b" and e["holds"] for line in witness(case.dir / "ctp.data")
                      for e in line["evidence"]), "P6 in the witness")
    os.kill(program, signal.SIGKILL)
    equal(process.done().status, -signal.SIGKILL, "ctp-run's status")
    found, report = verdicts(case)
    equal(found, [("CTP001", "proven")], report["findings"])
    equal(report["findings"][0]["closure"], "quiet", "closure")


MIXED = 64  # readers of tests/targets/lost_mixed.c


def check_mixed(case, megabytes=64, least=MIXED - 4):
    """Much data of all kinds: a few words may be a pointer by chance, or one in disguise; the finding stands."""
    process = case.ctp_start(case.target("lost-mixed"), str(megabytes))
    process.wait_for("ready")
    program = child_of(process.pid)

    def proven():
        last = {line["coroutine"]: line["evidence"] for line in witness(case.dir / "ctp.data")}
        return sum(any(e["id"] == "P6a" and e["holds"] for e in evidence) for evidence in last.values()) >= least
    until(proven, f"P6a of {least} coroutines in the witness")
    os.kill(program, signal.SIGKILL)
    equal(process.done().status, -signal.SIGKILL, "ctp-run's status")
    _, report = case.report()
    counts = {f["verdict"]: f["count"] for f in report["findings"] if f["rule"] == "CTP001"}
    equal(sum(counts.values()), MIXED, "all readers are in a finding")
    need(counts.get("proven", 0) >= least, f"{counts}")


def check_key(case, place):
    no_keys(case)
    check_place(case, place)


def check_key_resumed(case, place):
    no_keys(case)
    check_resumed(case, place)


def sent(case):
    """A run of t-sent, and the connection on which it sent its pipe's other end away, not yet taken."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(case.dir / "other"))
    server.listen()
    process = case.ctp_start("-q", case.target("sent"), case.dir / "other")
    process.wait_for("ready")
    return process, server.accept()[0]


def no_register(case, place):
    """Why this CPU cannot keep it there, if so."""
    done = case.run(case.target("sound-hide"), place, "1")
    if "no such register" in done.out:
        raise Skip("this CPU has no such register")


def check_register(case, place):
    no_register(case, place)
    check_place(case, place)


def check_register_resumed(case, place):
    no_register(case, place)
    check_resumed(case, place)


def check_sent(case):
    """What its loop waits for is on its way to another program: nobody holds the other end yet."""
    process, _there = sent(case)
    process.signal(signal.SIGTERM)
    process.done()
    findings, report = verdicts(case)
    equal(findings, [("CTP001", "likely")], f"verdicts: {report['findings']}")


def check_sent_taken(case):
    process, there = sent(case)
    _, fds, _, _ = socket.recv_fds(there, 1, 1)
    os.write(fds[0], b"o")
    done = process.done()
    equal((done.status, done.out), (0, "ready\nwoken\n"), "the other program's order")
    equal(verdicts(case)[0], [], "verdicts")


def checks():
    glibc = tuple(int(n) for n in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))
    for place in FREED if (2, 34) <= glibc < (2, 42) else []:  # whose lists the engine knows
        yield f"proven/{place}", lambda case, place=place: check_freed(case, place)
    for place in PLACES + KEPT:
        yield f"never_proven/{place}", lambda case, place=place: check_place(case, place)
        yield f"resumed/{place}", lambda case, place=place: check_resumed(case, place)
    for place in REGISTERS:
        yield f"never_proven/{place}", lambda case, place=place: check_register(case, place)
        yield f"resumed/{place}", lambda case, place=place: check_register_resumed(case, place)
    for place in ("left_frame", "left_below"):
        yield f"proven/{place}", lambda case, place=place: check_freed(case, place)
    if REGISTERS:
        yield "proven/dead_across_calls", lambda case: check_freed(case, "dead_across_calls")
    for place in KEYS:
        yield f"never_proven/{place}", lambda case, place=place: check_key(case, place)
        yield f"resumed/{place}", lambda case, place=place: check_key_resumed(case, place)
    for wake in WAKES:
        yield f"never_proven_wake/{wake}", lambda case, wake=wake: check_wake(case, wake)
        yield f"woken/{wake}", lambda case, wake=wake: check_woken(case, wake)
    yield "never_proven_wake/sent", check_sent
    yield "woken/sent", check_sent_taken
    yield "nothing_wakes", check_nothing_wakes
    yield "proven/below_ended", lambda case: check_freed(case, "below_ended")
    yield "proven/mixed_data", check_mixed


CHECKS = list(checks())
