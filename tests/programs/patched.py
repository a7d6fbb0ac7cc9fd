# SPDX-License-Identifier: MIT
"""Programs whose switch function is in their own code and gets patched: each knows, or implies, how often it switched."""
import concurrent.futures
import os
import pathlib
import re
import signal
import socket
import struct
import time

from harness import free_port, need, until
from stage import HERE, Outcome, Row, built, listening, listens

PHP = """
$made = 0; $switches = 0;
function steps($n) { for ($i = 0; $i < $n; $i++) Fiber::suspend($i); }
for ($k = 0; $k < 300; $k++) {
    $f = new Fiber('steps'); $made++;
    $f->start(40); $switches += 2;
    while (!$f->isTerminated()) { $f->resume(); $switches += 2; }
}
echo "coroutines $made switches $switches", PHP_EOL;
"""
RUBY = """
made = switches = 0
200.times do
  f = Fiber.new { 50.times { |i| Fiber.yield i }; nil }
  made += 1
  while f.alive? do f.resume; switches += 2 end
end
e = (1..100).each
made += 1
100.times { e.next; switches += 2 }
puts "coroutines #{made} switches #{switches}"
"""
GREENLET = """
import greenlet, threading
made = switches = 0
def traced(event, args):
    global switches
    switches += args[0] is not args[1]
def make(body):
    global made
    made += 1
    return greenlet.greenlet(body)
def steps(n, depth=0):
    if depth < n % 7:
        return steps(n, depth + 1)
    for i in range(n):
        greenlet.getcurrent().parent.switch(i)
def nest(depth):
    if depth:
        make(nest).switch(depth - 1)
    greenlet.getcurrent().parent.switch(depth)
    raise ValueError
def work():
    greenlet.settrace(traced)
    for k in range(200):
        g = make(steps)
        g.switch(k % 40)
        while not g.dead:
            g.switch()
    kept = [make(steps) for k in range(10)]
    for turn in range(5):
        for g in kept:
            g.switch(8) if not turn else g.switch()
    try:
        g = make(nest)
        g.switch(5)
        g.switch()
    except ValueError:
        pass
    try:
        kept[0].throw(KeyError)
    except KeyError:
        pass
    del kept, g
    greenlet.settrace(None)
work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("coroutines", made, "switches", switches)
"""
GEVENT = """
import os, signal, sys, weakref
os.environ["GEVENT_RESOLVER"] = "block"  # else a thread looks names up, with a greenlet of its own, which nobody counts
import gevent, greenlet
from gevent.pywsgi import WSGIServer
made = switches = 0
main, seen = greenlet.getcurrent(), weakref.WeakSet()
def traced(event, args):
    global made, switches
    switches += args[0] is not args[1]
    if args[1] is not main and args[1] not in seen:
        seen.add(args[1])
        made += 1
def answer(env, start):
    start("200 OK", [("Content-Type", "text/plain")])
    for i in range(5):
        gevent.sleep(0)
        yield b"chunk %d" % i
greenlet.settrace(traced)
server = WSGIServer(("127.0.0.1", int(sys.argv[1])), answer, log=None)
gevent.signal_handler(signal.SIGTERM, server.stop)
server.serve_forever()
print("coroutines", made, "switches", switches, flush=True)
os._exit(0)
"""
LUA = """
local fiber, n, all = require('fiber'), 0, {}
for i = 1, 100 do
  all[i] = fiber.new(function() for k = 1, 50 do n = n + 1; fiber.yield() end end)
  all[i]:set_joinable(true)
end
for i = 1, 100 do all[i]:join() end
print('yields', n)
os.exit(0)
"""
# Where a thread gives way in a sort's comparison, perl is in a C function: it needs a stack of its own.
CORO = """use Coro;
my $n;
my @c = map { async { for (1..20) { $n++; my @sorted = sort { cede; $a <=> $b } 1..4 } } } 1..20;
$_->join for @c;
print "$n\\n";
"""


def said_itself(*argv):
    """A program that prints `coroutines C switches S`."""
    def work(run):
        done = run.whole(*argv)
        found = re.search(r"coroutines (\d+) switches (\d+)", done.out)
        need(found, f"no count: {done}")
        return Outcome(done.status, done.out + run.said(done), coroutines=int(found[1]), switches=int(found[2]))
    return work


def gevent(run):
    """A web server: each connection is a greenlet, and gevent's loop is one."""
    port = free_port()
    server = run.start("/usr/bin/python3", "-c", GEVENT, port)
    listening(server, port)
    began = time.monotonic()
    out = run.tool("ab", "-q", "-n", 300 * run.size, "-c", 10, f"http://127.0.0.1:{port}/")
    seconds = time.monotonic() - began
    os.kill(run.pid(server), signal.SIGTERM)  # not by ctp-run, whose last look would come before the last greenlets
    done = run.finish(server)
    found = re.search(r"coroutines (\d+) switches (\d+)", done.out)
    need(found, f"no count: {done}")
    kept = [x for x in out.splitlines() if re.match("Complete requests|Failed requests|HTML tran", x)]
    return Outcome(done.status, "\n".join(kept) + run.said(done), seconds=seconds, coroutines=int(found[1]), switches=int(found[2]))


def tarantool(run):
    (run.dir / "t.lua").write_text(LUA)
    done = run.whole("tarantool", "t.lua")
    yields = int(re.search(r"yields\s+(\d+)", done.out)[1])
    return Outcome(done.status, done.out, coroutines=(100, 110), switches=(2 * yields, 2 * yields + 1000))


def perl(run):
    done = run.whole("perl", "-e", CORO)
    return Outcome(done.status, done.out + run.said(done), coroutines=(1, None), switches=(2, None))


def state_threads(run):
    """Each thread passes the turn to the next: a switch; and one back to the first thread at the end."""
    threads, rounds = 5, 200 * run.size
    program = built(run, "gcc", "-O1", "-g", HERE / "threads_st.c", "-lst")
    done = run.whole(program, threads, rounds)
    return Outcome(done.status, done.out + run.said(done), coroutines=threads, switches=threads * rounds + 1)


def systemc(run):
    """A process waits: control goes to the kernel's own stack, and comes from there; three more at the begin and end."""
    rounds = 1000 * run.size
    program = built(run, "g++", "-O1", "-g", "-w", HERE / "processes.cpp", "-lsystemc")
    done = run.whole(program, rounds)
    return Outcome(done.status, re.sub(r"(?s).*(?=woken)", "", done.out), coroutines=2, switches=4 * rounds + 3)


SYSTEMC = pathlib.Path("/usr/share/doc/libsystemc/examples/sysc")


def systemc_example(path):
    """An example of the library's own: its processes are SC_THREADs, which have a stack each."""
    def work(run):
        sources = sorted((SYSTEMC / path).glob("*.cpp"))
        need(sources, f"no {SYSTEMC / path}")
        program = built(run, "g++", "-O1", "-w", *sources, "-lsystemc")
        done = run.whole(program)
        return Outcome(done.status, re.sub(r"(?s)^.*?ALL RIGHTS RESERVED", "", done.out), coroutines=(1, None), switches=(2, None))
    return work


def under_load(run, server, count):
    """Requests of 20 clients, whose connections stay; the seconds that they took."""
    port = server.wait_for("port ").split()[1]
    began = time.monotonic()
    said = run.tool("ab", "-q", "-k", "-n", count, "-c", 20, f"http://127.0.0.1:{port}/")
    need(re.search(rf"Complete requests: +{count}", said), said)
    return time.monotonic() - began


def static_server(run):
    """Boost.Asio's coroutines, linked into the program."""
    return built(run, "g++", "-O1", "-w", HERE.parent.parent / "bench/http.cpp", "-l:libboost_coroutine.a",
                 "-l:libboost_context.a", "-l:libboost_thread.a", "-lpthread")


def static_http(run):
    """A stripped server: for each request its coroutine is left and entered, at least."""
    run.tool("strip", "-o", run.dir / "server", static_server(run))
    server = run.start(run.dir / "server")
    count = 1000 * run.size
    seconds = under_load(run, server, count)
    done = run.finish(server, signal.SIGTERM)
    return Outcome(done.status, run.said(done), seconds=seconds, coroutines=(20, 60), switches=(2 * count, None))


def ruby_scheduler(run):
    """A server whose fibers are switched by a scheduler of Fiber's; it counts its fibers and switches."""
    server = run.start("ruby", HERE / "scheduler.rb")
    seconds = under_load(run, server, 500 * run.size)
    done = run.finish(server, signal.SIGTERM)
    found = re.search(r"coroutines (\d+) switches (\d+)", done.out)
    need(found, f"no count: {done}")
    return Outcome(done.status, run.said(done), seconds=seconds, coroutines=int(found[1]), switches=int(found[2]))


FPM_POOL = """[global]
error_log = {dir}/error.log
daemonize = no
[www]
listen = {dir}/socket
pm = static
pm.max_children = 2
"""


def record(kind, body):
    """One FastCGI record of request 1."""
    return struct.pack("!BBHHBB", 1, kind, 1, len(body), 0, 0) + body


def fastcgi(path, script):
    """What a script answers, through the server's socket."""
    given = {"SCRIPT_FILENAME": str(script), "REQUEST_METHOD": "GET"}
    words = b"".join(bytes([len(k), len(v)]) + k.encode() + v.encode() for k, v in given.items())
    got = b""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(record(1, struct.pack("!HB5x", 1, 0)) + record(4, words) + record(4, b"") + record(5, b""))
        while piece := s.recv(65536):
            got += piece
    out = b""
    while got:
        _, kind, _, length, padding = struct.unpack_from("!BBHHB", got)
        out += got[8:8 + length] if kind == 6 else b""
        got = got[8 + length + padding:]
    return out.decode()


def php_fpm(run):
    """Two workers, which the server forks, and four clients at once; each request counts its own fibers and switches."""
    (run.dir / "pool.conf").write_text(FPM_POOL.format(dir=run.dir))
    (run.dir / "fibers.php").write_text("<?php " + PHP.replace("300", "30"))
    server = run.start("php-fpm8.2", "-R", "-n", "-y", run.dir / "pool.conf")
    until(lambda: listens(run.dir / "socket"), "the server's socket")
    began = time.monotonic()
    count = 40 * run.size
    with concurrent.futures.ThreadPoolExecutor(4) as clients:
        answers = list(clients.map(lambda _: fastcgi(run.dir / "socket", run.dir / "fibers.php"), range(count)))
    seconds = time.monotonic() - began
    done = run.finish(server, signal.SIGTERM)
    said = [re.search(r"coroutines (\d+) switches (\d+)", x) for x in answers]
    need(all(said), f"answers: {answers}")
    return Outcome(done.status, "".join(sorted(answers)), seconds=seconds, coroutines=sum(int(x[1]) for x in said),
                   switches=sum(int(x[2]) for x in said))


def static_fibers(run):
    """Boost.Fiber linked into the program, which is stripped: as many switches as with its shared library, which is interposed."""
    source, words = HERE / "fibers_static.cpp", (20, 200 * run.size)
    shared = built(run, "g++", "-O1", "-w", source, "-lboost_fiber", "-lboost_context", "-lpthread")
    program = built(run, "g++", "-O1", "-w", source, "-s", "-l:libboost_fiber.a", "-l:libboost_context.a", "-lpthread")
    known = run.case.ctp("-o", run.dir / "shared", shared, *words)
    _, report = run.case.report(run.dir / "shared")
    need(report["trace"]["switches"] > 4000, f"with the shared library: {known}")
    done = run.whole(program, *words)
    return Outcome(done.status, done.out + run.said(done), coroutines=report["trace"]["coroutines"]["total"],
                   switches=report["trace"]["switches"])


ROWS = [
    Row("perl_coro", ("libcoro-perl",), "libcoro, patched", perl, counted=False),
    Row("python_greenlet", ("python3-greenlet",), "greenlet, patched", said_itself("/usr/bin/python3", "-c", GREENLET), counted=False),
    Row("python_gevent", ("python3-gevent", "apache2-utils"), "greenlet, patched", gevent, counted=False),
    Row("ruby_fiber", ("ruby",), "Ruby, patched", said_itself("ruby", "-e", RUBY), counted=False),
    Row("php_fiber", ("php-cli",), "Boost.Context, patched", said_itself("php", "-r", PHP), counted=False),
    Row("php_fpm", ("php8.2-fpm",), "Boost.Context, patched", php_fpm, counted=False, words=("-f",)),
    Row("fiber_static", ("libboost-fiber1.74-dev", "g++"), "Boost.Fiber, patched", static_fibers, counted=False),
    Row("tarantool", ("tarantool",), "libcoro, patched", tarantool, counted=False),
    Row("state_threads", ("libst-dev", "gcc"), "State Threads, patched", state_threads, counted=False),
    Row("systemc", ("libsystemc-dev", "g++"), "QuickThreads, patched", systemc, counted=False),
    *[Row(f"systemc_{pathlib.Path(path).name}", ("libsystemc-dev", "libsystemc-doc", "g++"), "QuickThreads, patched",
          systemc_example(path), counted=False) for path in ("simple_fifo", "2.1/scx_mutex_w_policy", "2.1/forkjoin", "2.1/scx_barrier")],
    Row("ruby_scheduler", ("ruby", "apache2-utils"), "Ruby, patched", ruby_scheduler, counted=False),
    Row("asio_static", ("libboost-coroutine1.74-dev", "libboost-thread1.74-dev", "g++", "apache2-utils"),
        "Boost.Coroutine, patched", static_http, counted=False),
]
