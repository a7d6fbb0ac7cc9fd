# SPDX-License-Identifier: MIT
"""Events of a program that is not ours: memcached, built from its Debian source package with a patch as its user would
write it (data/memcached-events.patch). What is recorded is what its clients did, and what memcached itself counts."""
import collections
import pathlib
import re
import socket
import subprocess
import threading

import packages
from check_events import shown, shown_all, tasks
from harness import ROOT, Skip, equal, free_port, need
from stage import HERE

CLIENTS, ROUNDS = 8, 25
_lock = threading.Lock()
_built = {}


def program(case):
    """The server with its events; built once for all checks."""
    with _lock:
        if not _built:
            try:
                _built["program"] = build(pathlib.Path(case.shared()))
            except Skip as why:
                _built["why"] = str(why)
            except (OSError, subprocess.SubprocessError) as error:
                _built["why"] = f"memcached does not build here: {error}"
    if "why" in _built:
        raise Skip(_built["why"])
    return _built["program"]


def build(place):
    packages.want("gcc", "make", "patch", "libc6-dev", "libevent-dev")
    folder = packages.source("memcached", place)
    with open(place / "build.log", "w") as log:
        def run(*argv, **kw):
            subprocess.run(argv, cwd=folder, stdout=log, stderr=log, timeout=600, check=True, **kw)
        with open(HERE / "data/memcached-events.patch") as patch:
            try:
                run("patch", "-p1", stdin=patch)
            except subprocess.CalledProcessError as error:
                raise Skip(f"the patch is for another version than {folder.name}") from error
        run("./configure", "--disable-docs", "--disable-coverage", "CFLAGS=-O2 -g", f"CPPFLAGS=-I{ROOT}/include")
        run("make", "-j2", "memcached")
    return folder / "memcached"


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.lines = self.socket.makefile("rb")

    def ask(self, text, last):
        """The answer's lines, up to the one that begins with `last`."""
        self.socket.sendall(text.encode())
        got = []
        while not got or not got[-1].startswith(last):
            line = self.lines.readline().decode()
            need(line, f"the server closed the connection: {got}")
            got.append(line.strip())
        return got

    def close(self):
        self.lines.close()
        self.socket.close()


def work(clients):
    """Each client stores, finds and misses keys of its own, in turns. {what: how often}."""
    did = collections.Counter()
    for n in range(ROUNDS):
        for i, client in enumerate(clients):
            value = "x" * (n * 10 + i)
            equal(client.ask(f"set key{i}.{n} 0 0 {len(value)}\r\n{value}\r\n", "STORED"), ["STORED"], "set")
            equal(client.ask(f"get key{i}.{n}\r\n", "END")[1:], [value, "END"], "get")
            equal(client.ask(f"get none{i}.{n}\r\n", "END"), ["END"], "get of nothing")
            did.update(store=1, hit=1, miss=1, command=3)
    return did


def serve(case, start, *words):
    """What clients did with a server, and its own counts at the end."""
    port = free_port()
    server = start(*words, program(case), "-l", "127.0.0.1", "-p", port, "-t", 4, "-U", 0, "-u", "root")
    first = connect(server, port)
    clients = [Client(port) for _ in range(CLIENTS)]
    did = work(clients)
    for client in clients:
        client.close()
    stats = dict(line.split()[1:3] for line in first.ask("stats\r\n", "END")[:-1])
    first.close()
    did["command"] += 1
    server.signal(15)
    done = server.done()
    need(done.status in (0, -15, 143), f"its end: {done}")
    return did, stats, done


def connect(server, port):
    for _ in range(3000):
        try:
            return Client(port)
        except ConnectionRefusedError:
            need(server.popen.poll() is None, f"the server ended: {server.err()}")
            threading.Event().wait(0.01)
    raise Skip("the server does not listen")


def check_events(case):
    did, stats, done = serve(case, case.ctp_start, "--overflow=block", "-o", "x")
    need(" 0 lost" in done.err, f"closing line: {done}")
    events = shown(case, "x")
    names = collections.Counter(name for name, _ in events)
    hits = collections.Counter(e["hit"] for name, e in events if name == "memcached:get")
    got = {"store": names["memcached:store"], "hit": hits["1"], "miss": hits["0"], "command": names["memcached:command"]}
    equal(got, dict(did), "what the clients did")
    equal((got["hit"], got["miss"], got["store"]), tuple(int(stats[k]) for k in ("get_hits", "get_misses", "cmd_set")), "its own counts")
    equal(names["memcached:conn_open"], int(stats["total_connections"]) - 1, "connections, but for the one that listens")
    need(names["memcached:conn_close"] >= CLIENTS, f"closed: {names}")
    lines = [e["line"] for name, e in events if name == "memcached:command"]
    need('"set key7.3 0 0 37"' in lines and '"get none0.24"' in lines and '"stats"' in lines, f"commands: {lines[:5]}")
    keys = [bytes(int(x) for x in re.findall(r"= (\d+)", e["key"])).decode() for name, e in events if name == "memcached:store"]
    equal(sorted(keys), sorted(f"key{i}.{n}" for i in range(CLIENTS) for n in range(ROUNDS)), "keys")
    sizes = sorted(int(e["bytes"]) for name, e in events if name == "memcached:store")
    equal(sizes, sorted(n * 10 + i for i in range(CLIENTS) for n in range(ROUNDS)), "sizes")
    equal({k: (y["begun"], y["ended"]) for k, y in tasks(case, "x").items()}, {"command": (did["command"],) * 2}, "tasks")
    need(f"{did['command']} memcached:command (memcached.h:" in case.analyze("x").out, "the report names them")


def check_chosen(case):
    """Events that are not chosen, and a run without ctp: the server does the same."""
    did, stats, _ = serve(case, case.ctp_start, "-q", "--overflow=block", "-o", "x", "--events=memcached:get,!ctp:*")
    there = collections.Counter(name for name, _ in shown_all(case, "x"))
    equal({k: n for k, n in there.items() if k.startswith(("memcached:", "ctp:task"))}, {"memcached:get": did["hit"] + did["miss"]}, "chosen")
    _, bare, _ = serve(case, case.start)
    counted = ("get_hits", "get_misses", "cmd_set", "total_items", "bytes")
    equal({k: bare[k] for k in counted}, {k: stats[k] for k in counted}, "without ctp")
    listed = case.run(case.run_tool, "--list-events", program(case)).out
    need("memcached:store(ctp_bytes key, int bytes)" in listed, listed)


CHECKS = [("events", check_events), ("chosen", check_chosen)]
