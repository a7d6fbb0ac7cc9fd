# SPDX-License-Identifier: MIT
"""Whole programs, with ctp and without it, one after the other: how much less work they get done."""
import contextlib
import os
import pathlib
import re
import shutil
import socket
import sys

from figures import Missing, Row, median, missing, paired, told
from stand import closing, tool

CLIENTS = pathlib.Path(__file__).resolve().parents[2] / "tests/programs/clients.py"


def found(pattern, text, what):
    match = re.search(pattern, text)
    if not match:
        raise Missing(f"{what} gave no figure: {text.strip()[-200:]}")
    return float(match[1])


def row(stand, what, unit, limit, once, rounds=None):
    """`once(words)` gives the work done a second, under what the words start, how much it was, and the process that
    did it. The figure is what the program's own threads need for each: client, server and ctp-run share the cores, so
    the work done a second says less."""
    goal, lost, cpu = f"at most +{limit} %", [], {"bare": [], "ctp": []}

    def bare():
        rate, work, done = once([])
        cpu["bare"].append(done.cpu / work)
        return rate

    def ours():
        rate, work, done = once(stand.ctp())
        lost.append(closing(done)[2])
        cpu["ctp"].append((done.cpu - done.own) / work)
        return rate

    try:
        runs = stand.side_by_side({"bare": bare, "ctp": ours}, rounds)
        for values in runs.values():
            if isinstance(values, Missing):
                raise values
    except Missing as why:
        return missing(what, why, goal)
    _, ratios = paired(runs["ctp"], runs["bare"])
    less = told([100 * (1 - 1 / r) for r in ratios], "% less")
    more = [100 * (x - 1) for x in paired(cpu["bare"], cpu["ctp"])[1]]
    its = f"work done {less} of {told(runs['bare'], unit)}; lost {median(lost):.0f}"
    return Row(f"CPU time of {what}", told(more, "%", plus=True), told(cpu["bare"], "us", scale=1e6), its, goal, more, limit)


def qemu(stand):
    count = stand.size(1000000, 200000)

    def once(words):
        done = stand.run(*words, tool("qemu-img"), "bench", "-c", count, "-d", 64, "-f", "raw", "null-co://")
        return count / found(r"([\d.]+) seconds", done.out, "qemu-img"), count, done
    return row(stand, f"qemu-img bench on null-co, {count:,} requests, 64 at a time", "requests/s", 5, once)


def free_port():
    """For UDP and TCP."""
    for _ in range(20):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            udp.bind(("127.0.0.1", 0))
            with contextlib.suppress(OSError):
                tcp.bind(udp.getsockname())
                return udp.getsockname()[1]
    raise Missing("no port that is free for UDP and TCP")


def recursor(stand):
    """Every name is in its cache, so that the answer costs least; each question is a coroutine all the same."""
    seconds = stand.size(5, 0.5)

    def once(words):
        server = shutil.which("pdns_recursor", path="/usr/sbin:" + os.environ["PATH"]) or tool("pdns_recursor")
        tool("dnsperf")
        authority = stand.start(sys.executable, CLIENTS, "dns")
        process = None
        try:
            (stand.dir / "names").write_text("".join(f"a{i}.example.test A\n" for i in range(500)))
            for name in ("recursor.conf", "hosts"):
                (stand.dir / name).touch()
            port, upstream = free_port(), authority.wait_for("port ").split()[1]
            settings = {"config-dir": stand.dir, "socket-dir": stand.dir, "daemon": "no", "local-address": "127.0.0.1",
                        "local-port": port, "forward-zones": f"example.test=127.0.0.1:{upstream}", "dnssec": "off",
                        "threads": 1, "security-poll-suffix": "", "hint-file": "no", "setuid": "", "setgid": "",
                        "disable-packetcache": "yes", "write-pid": "no", "quiet": "yes", "loglevel": 3, "webserver": "no",
                        "etc-hosts-file": stand.dir / "hosts"}
            process = stand.start(*words, server, *[f"--{k}={v}" for k, v in settings.items()])
            perf = ["dnsperf", "-s", "127.0.0.1", "-p", port, "-d", "names", "-q", 100, "-t", 2]
            control = ["rec_control", f"--config-dir={stand.dir}", f"--socket-dir={stand.dir}", "--timeout=5"]
            answers(stand, control, process)
            stand.run(*perf, "-n", 2)
            said = stand.run(*perf, "-l", seconds).out
            stand.run(*control, "quit", good=None)
            asked = found(r"Queries completed: +(\d+)", said, "dnsperf")
            return found(r"Queries per second: +([\d.]+)", said, "dnsperf"), asked, process.done(good=None)
        finally:
            authority.end()
            if process:
                process.end(15)
    return row(stand, f"pdns_recursor, cached names, dnsperf for {seconds} s", "questions/s", 5, once)


def answers(stand, control, process):
    for _ in range(200):
        if process.over():
            raise Missing(f"pdns_recursor ended: {process.text(1).strip()[-200:]}")
        if stand.run(*control, "ping", good=None).status == 0:
            return
    raise Missing("pdns_recursor does not answer")


def http(stand):
    count = stand.size(200000, 20000)
    words = ["-lboost_coroutine", "-lboost_context", "-lboost_thread"]

    def once(prefix):
        ab = tool("ab")
        server = stand.start(*prefix, stand.program("bench-http", *words, source="http.cpp"))
        try:
            port = server.wait_for("port ").split()[1]
            said = stand.run(ab, "-q", "-k", "-n", count, "-c", 32, f"http://127.0.0.1:{port}/").out
            if re.search(r"Failed requests: +[1-9]", said):
                raise Missing("ab: failed requests")
            server.popen.terminate()
            return found(r"Requests per second: +([\d.]+)", said, "ab"), count, server.done(good=None)
        finally:
            server.end(15)
    return row(stand, f"an Asio server of HTTP, ab -k -n {count} -c 32", "requests/s", 4, once)


def programs(stand):
    """Whole programs"""
    return [qemu(stand), recursor(stand), http(stand)]


MEASURES = [programs]
