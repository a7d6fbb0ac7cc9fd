# SPDX-License-Identifier: MIT
"""The programs, one row each: what installs them, what they do, what must hold.

A row's `work` drives one run and knows not whether it is traced: it starts the
program with run.start(), its helpers with run.tool() or run.helper(), and gives
an Outcome. The check (check_programs.py) and scripts/programs-table both use
the rows, so a new program is a row and, at most, a function.
"""
import grp
import os
import pathlib
import pwd
import re
import signal
import sys
import time

import clients
import packages
import patched
import pth
import radosgw
from harness import Skip, equal, free_port, need, until
from stage import HERE, Outcome, Row, built, digest, listening, listens

# QEMU: one swapcontext for each coroutine, then sigsetjmp and siglongjmp

def qemu_convert(*options):
    def work(run):
        run.file("in.raw", 8 * run.size)
        done = run.whole("qemu-img", "convert", *options, "-f", "raw", "-O", "qcow2", "in.raw", "out.qcow2")
        equal(done.status, 0, f"status ({done})")
        same = run.tool("qemu-img", "compare", "-f", "raw", "-F", "qcow2", "in.raw", "out.qcow2")
        return Outcome(done.status, done.out + run.said(done) + same, coroutines=(2, 200), switches=(20, None))
    return work


def bench(run, *words, **expected):
    """qemu-img bench, which measures itself."""
    done = run.whole("qemu-img", "bench", *words)
    time_said = re.search(r"(\d+\.\d+) seconds", done.out)
    return Outcome(done.status, re.sub(r"\d+\.\d+ seconds", "N seconds", done.out) + run.said(done),
                   seconds=float(time_said[1]) if time_said else None, **expected)


def qemu_bench_null(run):
    count, depth = 50000 * run.size, 64
    return bench(run, "-c", count, "-d", depth, "-f", "raw", "null-co://",
                 coroutines=depth + 1, switches=(2 * count, 2 * count + 4 * depth))


def qemu_bench_write(run):
    count, depth = 4000 * run.size, 32
    run.file("in.raw", 20)
    run.tool("qemu-img", "convert", "-f", "raw", "-O", "qcow2", "in.raw", "a.qcow2")
    return bench(run, "-w", "-c", count, "-d", depth, "-f", "qcow2", "a.qcow2",
                 coroutines=(depth + 1, 4 * depth), switches=(2 * count, None))


def qemu_nbd(run):
    run.file("in.raw", 16 * run.size)
    sock = run.dir / "s"
    server = run.start("qemu-nbd", "--persistent", "--shared=8", "--format=raw", f"--socket={sock}", "in.raw")
    until(lambda: listens(sock) or server.popen.poll() is not None, "the socket")
    began = time.monotonic()
    run.tool("nbdcopy", "--connections=4", "--requests=16", f"nbd+unix:///?socket={sock}", "out.raw")
    seconds = time.monotonic() - began
    silent = clients.silent(sock, 5)
    run.look(server, "qio_channel_yield", "qio_channel_read_all")
    done = run.finish(server, signal.SIGTERM)
    silent.close()
    equal(digest(run.dir / "out.raw"), digest(run.dir / "in.raw"), "the copy")
    return Outcome(done.status, done.out + run.said(done), coroutines=(4, 4000), switches=(100, None), seconds=seconds)


def qemu_io(run):
    """A script of 200 overlapping writes, and reads that check what they wrote."""
    run.tool("qemu-img", "create", "-q", "-f", "qcow2", "a.qcow2", "64M")
    script = []
    for i in range(200 * run.size):
        script += ["-c", f"aio_write -q -P {i % 251} {i % 1000 * 48}k 64k"]
    script += ["-c", "aio_flush"]
    for i in range(0, 200 * run.size - 1, 7):
        script += ["-c", f"read -q -P {i % 251} {i % 1000 * 48}k 48k"]
    done = run.whole("qemu-io", "-f", "qcow2", *script, "a.qcow2")
    run.tool("qemu-img", "convert", "-f", "qcow2", "-O", "raw", "a.qcow2", "a.raw")
    return Outcome(done.status, done.out + run.said(done) + digest(run.dir / "a.raw"),
                   coroutines=(2, None), switches=(400 * run.size, None))


# PowerDNS recursor: Boost.Context itself, stacks from malloc, many short coroutines

def recursor(run):
    """Names that begin with n are never answered; each question that is not is a coroutine."""
    count = int(8000 * run.size)
    packages.want("python3")
    stub = run.helper(sys.executable, HERE / "clients.py", "dns")
    authority = stub.wait_for("port ").split()[1]
    names = [("n" if i % 1000 == 7 else "a") + f"{i}.example.test A\n" for i in range(count)]
    (run.dir / "names").write_text("".join(names))
    for name in ("recursor.conf", "hosts"):
        (run.dir / name).touch()
    port = free_port()
    settings = {
        "config-dir": run.dir, "socket-dir": run.dir, "daemon": "no", "local-address": "127.0.0.1", "local-port": port,
        "forward-zones": f"example.test=127.0.0.1:{authority}", "dnssec": "off", "threads": 1, "max-mthreads": 4096,
        "security-poll-suffix": "", "hint-file": "no", "disable-packetcache": "yes", "write-pid": "no",
        "network-timeout": 2000, "setuid": "", "setgid": "", "quiet": "yes", "loglevel": 3,
        "etc-hosts-file": run.dir / "hosts", "webserver": "no", "udp-source-port-min": 10000}
    server = run.start("/usr/sbin/pdns_recursor", *[f"--{k}={v}" for k, v in settings.items()])
    control = ["rec_control", f"--config-dir={run.dir}", f"--socket-dir={run.dir}", "--timeout=5"]
    until(lambda: run.case.run(*control, "ping").status == 0 or server.popen.poll() is not None, "the recursor")
    need(server.popen.poll() is None, f"ended: {server.out()} {server.err()}")
    began = time.monotonic()
    out = run.tool("dnsperf", "-s", "127.0.0.1", "-p", port, "-d", "names", "-q", 200, "-t", 20, "-c", 1)
    seconds = time.monotonic() - began
    unanswered = clients.Questions("127.0.0.1", port)
    unanswered.ask(f"n{i}.example.test" for i in range(count, count + 5))
    run.look(server, "5 coroutines pdns_recursor+0x", "]  udp", "make_fcontext")
    unanswered.close()
    questions = int(run.tool(*control, "get", "questions"))
    run.tool(*control, "quit")
    done = run.finish(server)
    need(questions >= count, f"{questions} questions")
    codes = re.search(r"Response codes: +(.*)", out)
    answered = re.search(r"Queries completed: +(\d+)", out)
    return Outcome(done.status, f"{answered and answered[1]} {codes and codes[1]}", seconds=seconds,
                   coroutines=(questions, questions + 200), switches=(3 * questions, None))


# Boost's own examples

EXAMPLES = pathlib.Path("/usr/share/doc/libboost1.74-doc/examples/libs")
BOOST = ("libboost1.74-doc", "g++", "libboost1.74-dev", "libboost-context1.74-dev", "libboost-coroutine1.74-dev",
         "libboost-fiber1.74-dev", "libboost-thread1.74-dev", "libboost-chrono1.74-dev")


def example(run, path):
    """An example as it lies in the package, built."""
    source = EXAMPLES / path
    if not source.exists():
        raise Skip(f"no {source}: dpkg leaves documentation out here")
    return built(run, "g++", "-O1", "-g", "-w", source, *[f"-lboost_{x}" for x in (
        "fiber", "coroutine", "context", "thread", "chrono")], "-lpthread")


def boost(path, coroutines=None, unordered=False):
    """Runs it; where threads take turns, neither order nor their ids are the same twice."""
    def work(run):
        done = run.whole(example(run, path))
        lines = re.sub(r"0x[0-9a-f]+|\d{9,}", "N", done.out + run.said(done)).splitlines()
        return Outcome(done.status, "\n".join(sorted(lines) if unordered else lines), coroutines=coroutines)
    return work


def spawn_echo(run):
    """Each connection is two coroutines; some connections stay open, idle, until the server is ended."""
    program = example(run, "asio/example/cpp11/spawn/echo_server.cpp")
    port = free_port()
    server = run.start(program, port)
    listening(server, port)
    began = time.monotonic()
    talk = clients.Echo("127.0.0.1", port)
    talk.rounds(connections=100, rounds=10 * run.size)
    idle = talk.idle(20)
    seconds = time.monotonic() - began
    run.look(server, "echo_server.cpp:43")  # within a lambda, below what is inlined there
    done = run.finish(server, signal.SIGTERM)
    idle.close()
    return Outcome(done.status, done.out + run.said(done), seconds=seconds,
                   coroutines=(240, 245), switches=(2 * 1000 * run.size, None))


def parallel_grep(run):
    """A coroutine for each file, moving between the threads of a pool."""
    program = example(run, "asio/example/cpp11/spawn/parallel_grep.cpp")
    words = []
    for i in range(20):
        path = run.dir / f"f{i}"
        path.write_text("".join(f"line {n} of {i}{' needle' if n % 997 == i else ''}\n" for n in range(3000 * run.size)))
        words.append(path.name)
    done = run.whole(program, "needle", *words)
    return Outcome(done.status, "\n".join(sorted(done.out.splitlines())), coroutines=20,
                   switches=(2 * 20 * 300 * run.size, None))


# OpenSSL's asynchronous jobs: setcontext once, then _longjmp

def openssl_speed(run):
    jobs = 8
    done = run.whole("openssl", "speed", "-async_jobs", jobs, "-seconds", 1, "-bytes", 1024, "sha256")
    return Outcome(done.status, "", coroutines=jobs, switches=2 * jobs)


def certificate(run, key, path, name):
    run.tool("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", path, "-subj", f"/CN={name}",
             "-days", 2)


def openssl_server(run):
    count = 30 * run.size
    certificate(run, "k.pem", "c.pem", "localhost")
    (run.dir / "page").write_text("a page of its own\n" * 500)
    server = run.start("openssl", "s_server", "-async", "-accept", "127.0.0.1:0", "-cert", "c.pem", "-key", "k.pem",
                       "-WWW", "-naccept", count)
    port = int(server.wait_for("ACCEPT ").rsplit(":", 1)[1])
    began = time.monotonic()
    pages = {clients.tls_page("127.0.0.1", port, "page") for _ in range(count)}
    seconds = time.monotonic() - began
    done = run.finish(server)
    equal(len(pages), 1, "different pages")
    need(pages.pop().endswith("a page of its own\n"), "not the page")
    kept = [x for x in done.out.splitlines() if "accept" in x.lower() and "ACCEPT 1" not in x]
    return Outcome(done.status, "\n".join(kept), coroutines=(1, count), switches=(6 * count, None), seconds=seconds)


# Nix: coroutines that are destroyed by unwinding

def nix(run, *words, **kw):
    """The words of a nix command on a private store."""
    etc = run.dir / "etc"
    etc.mkdir(exist_ok=True)
    (etc / "nix.conf").write_text("build-users-group =\nsandbox = false\n")
    kw["env"] = {"NIX_STATE_DIR": run.dir / "state", "NIX_STORE_DIR": run.dir / "store", "NIX_LOG_DIR": run.dir / "log",
                 "NIX_CONF_DIR": etc, "NIX_LOCALSTATE_DIR": run.dir / "var", "HOME": run.dir / "home", "NIX_REMOTE": ""}
    kw["env"] = {k: str(v) for k, v in kw["env"].items()}
    return ["nix", "--extra-experimental-features", "nix-command", "--offline", *words], kw


def nix_paths(run):
    found = []
    for i in range(5):
        folder = run.dir / f"p{i}"
        folder.mkdir()
        for n in range(5):
            (folder / f"f{n}").write_text("".join(f"{k} {n} {i}\n" for k in range(4000 * run.size)))
        argv, kw = nix(run, "store", "add-path", folder)
        found.append(run.tool(*argv, **kw).strip())
    return found


def nix_copy(run):
    """Into a binary cache, each path packed by xz."""
    argv, kw = nix(run, "copy", "--no-check-sigs", "--to", f"file://{run.dir}/cache", *nix_paths(run))
    done = run.whole(*argv, **kw)
    stored = sorted(re.sub("^[a-z0-9]{32,}", "H", p.name) for p in (run.dir / "cache").rglob("*") if p.is_file())
    return Outcome(done.status, "\n".join(stored), coroutines=(1, 20), switches=(20, None))


def nix_copy_back(run):
    """From the binary cache into another store."""
    paths = nix_paths(run)
    argv, kw = nix(run, "copy", "--no-check-sigs", "--to", f"file://{run.dir}/cache?compression=none", *paths)
    run.tool(*argv, **kw)
    argv, kw = nix(run, "copy", "--no-check-sigs", "--from", f"file://{run.dir}/cache", "--to", run.dir / "other", *paths)
    done = run.whole(*argv, **kw)
    copied = sorted(digest(p) for p in (run.dir / "other").rglob("f?"))
    return Outcome(done.status, "\n".join(copied), coroutines=(1, 20), switches=(20, None))


# GNU Pth: swapcontext, and read, write and accept of its own that switch inside

def pth_httpd(run):
    packages.want("apache2-utils")
    port = free_port()
    server = run.start(pth.program(run.case, "httpd"), port)
    listening(server, port)
    began = time.monotonic()
    out = run.tool("ab", "-q", "-n", 1000 * run.size, "-c", 10, f"http://127.0.0.1:{port}/")
    seconds = time.monotonic() - began
    run.look(server, "ticker")
    done = run.finish(server, signal.SIGTERM)
    kept = [x for x in out.splitlines() if re.match("Complete requests|Failed requests|Document Length|HTML tran", x)]
    return Outcome(done.status, "\n".join(kept), seconds=seconds,
                   coroutines=(1000 * run.size, 1000 * run.size + 20), switches=(2 * 1000 * run.size, None))


def pth_test(name):
    def work(run):
        done = run.whole(pth.program(run.case, name))
        return Outcome(done.status, done.out)  # stderr speaks of time and threads
    return work


def pth_philo(run):
    """The philosophers eat for ever; when some lines of their table are seen they are told to stop."""
    table = run.start("stdbuf", "-oL", pth.program(run.case, "philo"))
    until(lambda: table.out().count("\n|") > 5 or table.popen.poll() is not None, "the philosophers")
    done = run.finish(table, signal.SIGTERM)
    return Outcome(done.status, "", coroutines=(5, 8), switches=(20, None))


# Libraries whose users are ours: TBB's task::suspend, the D runtime's fibers

def tbb(run):
    program = built(run, "g++", "-O2", "-g", "-std=c++17", HERE / "tbb_suspend.cpp", "-ltbb")
    done = run.whole(program, 500 * run.size)
    return Outcome(done.status, done.out + run.said(done), coroutines=(1, None))


def gdc(run):
    program = built(run, "gdc", "-O1", "-g", HERE / "generators.d")
    words = run.tool("nm", "-D", program) + run.tool("ldd", program)
    if "swapcontext" not in words and "libgphobos" not in words:
        raise Skip("this D runtime switches without swapcontext")
    done = run.whole(program, 200, 100 * run.size)
    return Outcome(done.status, done.out + run.said(done), switches=400 + 40000 * run.size)


def simgrid(factory, threads):
    def work(run):
        program = built(run, "g++", "-O1", "-g", HERE / "actors.cpp", "-lsimgrid")
        done = run.whole(program, 50, 40 * run.size, "--log=root.thres:warning",
                         f"--cfg=contexts/factory:{factory}", f"--cfg=contexts/nthreads:{threads}")
        return Outcome(done.status, done.out + run.said(done), coroutines=50, switches=(50 * 40 * run.size, None))
    return work


def pcl(run):
    """The library's own benchmark: coroutines made and deleted, then switched."""
    program = built(run, "gcc", "-O1", "-g", "-w", "/usr/share/doc/libpcl1-dev/examples/cobench.c", "-lpcl", "-lpthread")
    done = run.whole(program)
    return Outcome(done.status, re.sub(r"\[0x.*?\]|\d+\.\d+", "N", done.out + run.said(done)), coroutines=(1000, None))


# Servers of other kinds

def uwsgi(run):
    """uGreen: a coroutine for each request; the application yields five times."""
    (run.dir / "app.py").write_text(
        "def application(env, start):\n    start('200 OK', [('Content-Type', 'text/plain')])\n"
        "    for i in range(5):\n        yield b'chunk %d\\n' % i\n")
    port, count = free_port(), 300 * run.size
    server = run.start("uwsgi", "--plugins", "ugreen,python3", "--ugreen", "--async", 20, "--http-socket", f"127.0.0.1:{port}",
                       "--wsgi-file", "app.py", "--need-app", "--disable-logging", "--die-on-term")
    listening(server, port)
    began = time.monotonic()
    out = run.tool("ab", "-q", "-n", count, "-c", 10, f"http://127.0.0.1:{port}/")
    seconds = time.monotonic() - began
    done = run.finish(server, signal.SIGTERM)
    kept = [x for x in out.splitlines() if re.match("Complete requests|Failed requests|Document Length|HTML tran", x)]
    return Outcome(done.status, "\n".join(kept), seconds=seconds,
                   coroutines=(count, count + 30), switches=(12 * count, None))


def wesnothd(run):
    """A game server: each player that has come is two coroutines; some stay."""
    port = free_port()
    server = run.start("/usr/games/wesnothd-1.16", "-p", port)
    listening(server, port)
    players = clients.players("127.0.0.1", port, 40 * run.size)
    run.look(server, "wesnothd-1.16+0x", "coroutine_context::jump")
    for s in players[:20]:
        s.close()
    done = run.finish(server, signal.SIGTERM)
    players.close()
    return Outcome(done.status, "", coroutines=(80 * run.size, 82 * run.size + 10), switches=(4 * 40 * run.size, None))


ICINGA = """
include <itl>
object Endpoint "node" {{}}
object Zone "node" {{ endpoints = [ "node" ] }}
object ApiListener "api" {{
  bind_host = "127.0.0.1"
  bind_port = {port}
}}
object ApiUser "user" {{
  password = "word"
  permissions = [ "*" ]
}}
object Host "one" {{ check_command = "dummy" }}
"""


def icinga(run):
    """A monitor's API: the server is a grandchild of the process that is started; each request is some coroutines."""
    folders = {name: run.dir / name for name in ("DataDir", "LogDir", "CacheDir", "SpoolDir", "InitRunDir")}
    certs = folders["DataDir"] / "certs"
    for folder in [*folders.values(), certs]:
        folder.mkdir(exist_ok=True)
    certificate(run, certs / "node.key", certs / "node.crt", "node")
    (certs / "ca.crt").write_bytes((certs / "node.crt").read_bytes())
    port, count = free_port(), 30 * run.size
    (run.dir / "icinga2.conf").write_text(ICINGA.format(port=port))
    user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(os.getegid()).gr_name
    settings = {**folders, "NodeName": "node", "RunAsUser": user, "RunAsGroup": group, "StatePath": run.dir / "state",
                "PidPath": run.dir / "pid"}
    server = run.start("icinga2", "daemon", "-c", run.dir / "icinga2.conf", *[
        word for k, v in settings.items() for word in ("-D", f"{k}={v}")])
    listening(server, port)
    began = time.monotonic()
    answers = {clients.tls_page("127.0.0.1", port, "v1/objects/hosts/one", "user:word").splitlines()[0] for _ in range(count)}
    seconds = time.monotonic() - began
    done = run.finish(server, signal.SIGTERM)
    return Outcome(done.status, "\n".join(answers), seconds=seconds,
                   coroutines=(2 * count, 20 * count), switches=(10 * count, None))


AFS = """
set -e
ip link set lo up
for d in /etc/openafs /var/lib/openafs /var/log; do mount -t tmpfs none $d; done
mkdir -p /etc/openafs/server /var/lib/openafs/local /var/lib/openafs/db /var/log/openafs
printf '>test.example\\n127.0.0.1 #localhost\\n' | tee /etc/openafs/CellServDB > /etc/openafs/server/CellServDB
echo test.example | tee /etc/openafs/ThisCell > /etc/openafs/server/ThisCell
exec bosserver -noauth -nofork
"""


def openafs(run):
    """LWP: getcontext and setcontext only. In a network and mounts of its own, for its port and paths are fixed."""
    if os.geteuid() != 0 or run.case.run("unshare", "-nm", "true").status != 0:
        raise Skip("needs a network and mounts of its own (unshare -nm)")
    server = run.start("unshare", "-nm", "sh", "-c", AFS)
    bos = ["nsenter", "-t", run.pid(server), "-n", "-m", "bos"]
    until(lambda: run.case.run(*bos, "status", "localhost", "-noauth").status == 0 or server.popen.poll() is not None,
          "the server")
    run.tool(*bos, "create", "localhost", "sleeper", "simple", "/bin/sleep 1000", "-noauth")
    said = [run.tool(*bos, "status", "localhost", "-noauth") for _ in range(20 * run.size)]
    run.tool(*bos, "create", "localhost", "failing", "simple", "/bin/true", "-noauth")  # each end is a thread's end
    until(lambda: "too many errors" in run.tool(*bos, "status", "localhost", "-instance", "failing", "-noauth"), "its failure")
    run.look(server, "bosserver+0x")
    os.kill(run.pid(server), signal.SIGTERM)  # not by ctp-run, whose last look would come before the last coroutine
    done = run.finish(server)
    return Outcome(done.status, said[-1], coroutines=(5, None), switches=(20 * run.size, None))


SHORT_HISTORY = ("--max-size=64M",)  # for tens of millions of switches: the counts come from the tables

ROWS = [
    Row("qemu_convert", ("qemu-utils",), "swapcontext, siglongjmp", qemu_convert()),
    Row("qemu_convert_compressed", ("qemu-utils",), "swapcontext, siglongjmp", qemu_convert("-c")),
    Row("qemu_convert_parallel", ("qemu-utils",), "swapcontext, siglongjmp", qemu_convert("-c", "-m", "8", "-W")),
    Row("qemu_bench_null", ("qemu-utils",), "swapcontext, siglongjmp", qemu_bench_null, weight=3),
    Row("qemu_bench_write", ("qemu-utils",), "swapcontext, siglongjmp", qemu_bench_write, weight=3),
    Row("qemu_nbd", ("qemu-utils", "libnbd-bin"), "swapcontext, siglongjmp", qemu_nbd, weight=2),
    Row("qemu_io", ("qemu-utils",), "swapcontext, siglongjmp", qemu_io),
    Row("pdns_recursor", ("pdns-recursor", "dnsperf"), "Boost.Context", recursor),
    Row("asio_spawn_echo", BOOST, "Boost.Coroutine", spawn_echo, weight=12),
    Row("asio_parallel_grep", BOOST, "Boost.Coroutine", parallel_grep, weight=10),
    Row("fiber_work_sharing", BOOST, "Boost.Fiber", boost("fiber/examples/work_sharing.cpp", (29, 32), unordered=True)),
    Row("fiber_work_stealing", BOOST, "Boost.Fiber", boost("fiber/examples/work_stealing.cpp", (29, 32), unordered=True)),
    Row("fiber_wait_stuff", BOOST, "Boost.Fiber", boost("fiber/examples/wait_stuff.cpp", unordered=True)),
    Row("fiber_priority", BOOST, "Boost.Fiber", boost("fiber/examples/priority.cpp")),
    Row("fiber_barrier", BOOST, "Boost.Fiber", boost("fiber/examples/barrier.cpp")),
    Row("coroutine2_fibonacci", BOOST, "Boost.Coroutine2", boost("coroutine2/example/fibonacci.cpp", 1)),
    Row("coroutine2_same_fringe", BOOST, "Boost.Coroutine2", boost("coroutine2/example/same_fringe.cpp", 7)),
    Row("coroutine2_parser", BOOST, "Boost.Coroutine2", boost("coroutine2/example/parser.cpp", 1)),
    Row("coroutine2_segmented", BOOST, "Boost.Coroutine2", boost("coroutine2/example/segmented.cpp", 1),
        finds=("CTP021",)),  # it overflows where Boost is built without segmented stacks
    Row("coroutine_chaining", BOOST, "Boost.Coroutine", boost("coroutine/example/asymmetric/chaining.cpp")),
    Row("coroutine_parallel", BOOST, "Boost.Coroutine", boost("coroutine/example/asymmetric/parallel.cpp")),
    Row("coroutine_unwind", BOOST, "Boost.Coroutine", boost("coroutine/example/asymmetric/unwind.cpp", 1)),
    Row("coroutine_merge_arrays", BOOST, "Boost.Coroutine", boost("coroutine/example/symmetric/merge_arrays.cpp")),
    Row("context_ontop", BOOST, "Boost.Context", boost("context/example/fiber/ontop.cpp", 1)),
    Row("context_throw", BOOST, "Boost.Context", boost("context/example/fiber/throw.cpp", 1)),
    Row("context_jump_mov", BOOST, "Boost.Context", boost("context/example/callcc/jump_mov.cpp", 1)),
    Row("openssl_speed", ("openssl",), "setcontext, longjmp", openssl_speed),
    Row("openssl_server", ("openssl",), "setcontext, longjmp", openssl_server),
    Row("nix_copy", ("nix-bin",), "Boost.Context", nix_copy),
    Row("nix_copy_back", ("nix-bin",), "Boost.Context", nix_copy_back, weight=4),
    Row("pth_httpd", ("gcc", "make", "libc6-dev"), "swapcontext", pth_httpd, source="pth"),
    *[Row(f"pth_{name}", ("gcc", "make", "libc6-dev"), "swapcontext", pth_test(name), source="pth", words=SHORT_HISTORY)
      for name in ("std", "misc", "mp", "uctx")],
    Row("pth_philo", ("gcc", "make", "libc6-dev"), "swapcontext", pth_philo, source="pth"),
    Row("tbb_suspend", ("libtbb-dev", "g++"), "swapcontext", tbb, weight=20),
    Row("gdc_fibers", ("gdc",), "swapcontext", gdc, weight=8),
    Row("simgrid_boost", ("libsimgrid-dev", "g++"), "Boost.Context", simgrid("boost", 1), weight=15),
    Row("simgrid_boost_parallel", ("libsimgrid-dev", "g++"), "Boost.Context", simgrid("boost", 2), weight=15),
    Row("simgrid_ucontext_parallel", ("libsimgrid-dev", "g++"), "swapcontext", simgrid("ucontext", 2), weight=15),
    Row("pcl_cobench", ("libpcl1-dev", "gcc"), "swapcontext", pcl, words=SHORT_HISTORY),
    Row("uwsgi_ugreen", ("uwsgi-core", "uwsgi-plugin-python3", "apache2-utils"), "swapcontext", uwsgi, links=True, weight=3),
    Row("wesnothd", ("wesnoth-1.16-server",), "Boost.Coroutine", wesnothd, weight=5),
    Row("icinga2", ("icinga2-bin", "openssl"), "Boost.Coroutine", icinga, words=("-f",), counted=False),
    Row("openafs_bosserver", ("openafs-fileserver", "openafs-client", "iproute2", "util-linux"), "setcontext", openafs),
    Row("simgrid_raw", ("libsimgrid-dev", "g++"), "SimGrid, patched", simgrid("raw", 1), weight=15, counted=False),
    *radosgw.ROWS,
    *patched.ROWS,
]
