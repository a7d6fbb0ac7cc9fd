# SPDX-License-Identifier: MIT
"""ctp-run -p and mlockall: no program gets ctp's gigabytes as memory of its own."""
import ctypes
import re
import signal

from check_attach import Server, may_attach, refused, words_into_libctp
from harness import Skip, equal, need, tool

MUCH_KB = 1 << 20
SIZE = 64 << 30


def may_lock():
    """May as much address space be locked here as ctp-run maps?"""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.mlock2.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    at = libc.mmap(None, SIZE, 0, 0x4022, -1, 0)  # PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    if at == ctypes.c_void_p(-1).value:
        raise Skip("no address space of 64 GiB here")
    failed = libc.mlock2(at, SIZE, 1)  # MLOCK_ONFAULT
    libc.munmap(at, SIZE)
    if failed:
        raise Skip("so much memory may not be locked here")


def kb(pid, what):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(rf"^{what}:\s+(\d+) kB", status.read(), re.M)[1])


def check_locked(case):
    """A program whose mappings get all their memory at once is refused, and nothing is left in it; unlocked, it is not."""
    may_attach(case)
    may_lock()
    server = Server(case, "3")
    server.say("l")
    locked, was = kb(server.pid, "VmLck"), server.say("s")
    need(locked > 0, "nothing is locked: this check looks at nothing")
    refused(case, 126, "(mlockall)", "-p", server.pid)
    equal((kb(server.pid, "VmLck"), words_into_libctp(server.pid), server.say("s")[1:]), (locked, 0, was[1:]), "what is left")
    need(kb(server.pid, "VmRSS") < MUCH_KB, "memory")
    server.say("u")
    ctp = case.ctp_start("-v", "-p", server.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    server.say("l")  # our hook leaves out what is ours
    need(0 < kb(server.pid, "VmLck") < MUCH_KB and kb(server.pid, "VmRSS") < MUCH_KB, "locked while attached")
    ctp.signal(signal.SIGINT)
    equal(ctp.done().status, 0, "status of ctp-run")
    case.run(tool("rm"), "-rf", "ctp.data")
    refused(case, 126, "(mlockall)", "-p", server.pid)
    need(kb(server.pid, "VmRSS") < MUCH_KB, "memory after the second attach")
    server.end()


def check_locked_on_fault(case):
    """What is locked only when it is used does no harm."""
    may_attach(case)
    may_lock()
    server = Server(case, "3")
    server.say("m")
    need(kb(server.pid, "VmLck") > 0, "nothing is locked: this check looks at nothing")
    for i in range(2):
        done = case.ctp("-q", "-o", f"trace{i}", "-p", server.pid, "--timeout=0.05")
        equal(done.status, 0, f"round {i}: {done}")
        need(kb(server.pid, "VmRSS") < MUCH_KB, f"memory after round {i}")
    server.end()


CHECKS = [("locked", check_locked), ("locked_on_fault", check_locked_on_fault)]
