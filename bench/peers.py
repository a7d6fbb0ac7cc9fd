# SPDX-License-Identifier: MIT
"""What a user would take instead, each with the program made for it: version-1 slots, an LTTng-UST
tracepoint, uftrace, a uprobe through perf."""
import os
import pathlib
import re
import shutil
import subprocess
import time

from figures import Missing
from stand import tool


def version1(stand, argv, coroutines=120):
    """libctp.so writing what a version-1 probe writes: two slots and two clock readings a switch."""
    region, stations = stand.dir / "v1", max(128, coroutines + 8)
    with open(region, "wb") as f:
        f.write((0x434F524F54524352).to_bytes(8, "little") + (1).to_bytes(4, "little") + stations.to_bytes(4, "little"))
        f.truncate(1024 + 1024 * stations)
    return stand.run(*argv, env={"LD_PRELOAD": str(stand.lib), "CTP_SHM_PATH": str(region), "CTP_SOCK_PATH": "/nonexistent",
                                 "CTP_MAX_STATIONS": str(stations)})


class Lttng:
    """A session of our own, with the default channel; a session daemon that runs is used, else one is started."""

    def __init__(self, stand):
        self.stand, self.out = stand, stand.dir / "lttng"
        self.name = f"ctp-bench-{os.getpid()}-{time.monotonic_ns()}"

    def command(self, *words):
        return self.stand.run("timeout", 60, tool("lttng"), "--no-sessiond", *words).out

    def daemon(self):
        """Ready when a client is answered; the daemon's messages of limits it cannot raise are no trouble."""
        tool("lttng-sessiond")
        if subprocess.run(["timeout", "20", tool("lttng"), "--no-sessiond", "list"], capture_output=True).returncode == 0:
            return
        process = self.stand.start("lttng-sessiond", "--no-kernel")
        self.stand.at_end.append(lambda: process.end(15))
        for _ in range(100):
            if subprocess.run(["timeout", "20", "lttng", "--no-sessiond", "list"], capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise Missing(f"no LTTng session daemon: {process.text(1).strip()[-200:]}")

    def __enter__(self):
        self.daemon()
        shutil.rmtree(self.out, ignore_errors=True)
        self.command("create", self.name, f"--output={self.out}")
        try:
            self.command("enable-event", "-s", self.name, "-u", "bench:*")
            self.command("start", self.name)
        except Missing:
            self.__exit__()
            raise
        return self

    def stop(self, made):
        """The events discarded, of those made. Its counter is known to wrap: then what is in the trace is counted."""
        self.command("stop", self.name)
        shown = self.command("--mi", "xml", "list", self.name)
        lost = re.search(r"<discarded_events>(\d+)", shown)
        if not lost:
            raise Missing("lttng does not say what it discarded")
        return int(lost[1]) if int(lost[1]) <= made else made - self.events()

    def events(self):
        said = self.stand.run(tool("babeltrace2"), self.out, "-c", "sink.utils.counter", "-p", "step=+0", good=None).out
        found = re.search(r"([\d,]+) Event messages", said)
        if not found:
            raise Missing("LTTng's count of what it discarded has wrapped, and babeltrace2 counts nothing")
        return int(found[1].replace(",", ""))

    def bytes(self):
        return sum(p.stat().st_size for p in self.out.rglob("*_*") if p.is_file() and "index" not in p.parts)

    def __exit__(self, *_):
        self.stand.run("timeout", 60, "lttng", "--no-sessiond", "destroy", self.name, good=None)
        shutil.rmtree(self.out, ignore_errors=True)


def lttng_words():
    tool("lttng")
    return ["-DLTTNG", "-llttng-ust", "-ldl"]


def lttng(stand, argv, made):
    """The run, and the events discarded of so many."""
    with Lttng(stand) as session:
        done = stand.run(*argv)
        return done, session.stop(made)


UFTRACE_WORDS = ("-DFUNCTIONS", "-finstrument-functions")


def uftrace(stand, argv):
    out = stand.dir / "uftrace"
    try:
        return stand.run(tool("uftrace"), "record", "--no-libcall", "-d", out, *argv)
    finally:
        shutil.rmtree(out, ignore_errors=True)


def uprobe(stand, argv):
    """perf counts a uprobe on libc's swapcontext. Tracing is mounted where nobody else sees it."""
    if os.geteuid() != 0:
        raise Missing("a uprobe needs root")
    maps = stand.run("ldd", "/bin/true").out
    libc = re.search(r"=> (\S*libc\.so\S*)", maps)
    if not libc:
        raise Missing("no libc.so for a uprobe")
    name = f"ctp_bench_{os.getpid()}"
    script = ("mount -t tracefs none /sys/kernel/tracing 2>/dev/null\n"
              "perf probe -q -x $1 $2=swapcontext || exit 97\n"
              "shift; name=$1; shift\n"
              "perf stat -o /dev/null -e \"probe_libc:$name\" -- \"$@\"; status=$?\n"
              "perf probe -q -d $name\nexit $status")
    tool("perf")
    return stand.run(tool("unshare"), "-m", "sh", "-c", script, "sh", libc[1], name, *argv)


def versions():
    """Those of the peers that are here."""
    found = []
    for name, words in (("LTTng-UST", ["lttng", "--version"]), ("uftrace", ["uftrace", "--version"]),
                        ("perf", ["perf", "--version"]), ("babeltrace2", ["babeltrace2", "--version"]),
                        ("valgrind", ["valgrind", "--version"]), ("qemu-img", ["qemu-img", "--version"]),
                        ("pdns_recursor", ["dpkg-query", "-W", "-f", "${Version}", "pdns-recursor"])):
        if shutil.which(words[0]):
            said = subprocess.run(words, capture_output=True, text=True)
            number = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)
            if said.returncode == 0 and number:
                found.append(f"{name} {number[0]}")
    return found


def boost_version():
    header = pathlib.Path("/usr/include/boost/version.hpp")
    found = re.search(r'BOOST_LIB_VERSION "([^"]+)"', header.read_text()) if header.exists() else None
    return found and found[1].replace("_", ".")
