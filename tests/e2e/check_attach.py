# SPDX-License-Identifier: MIT
"""ctp-run -p: a process that runs already is attached to, recorded and left as it was."""
import hashlib
import json
import os
import platform
import re
import signal
import socket
import struct
import subprocess

import packages
from check_engines import built
from harness import ROOT, Skip, child_of, equal, need, proc_state, tool, until

TARGETS = ROOT / "tests/targets"
SAID = re.compile(r"^(\w) answered (\d+) interrupted (\d+) caught (\d+)$", re.M)


def words_into_libctp(pid):
    """How many words of mapped files' data lead into libctp.so: entries that call its hooks."""
    found, own, data = 0, [], []
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            fields = line.split(None, 5)
            lo, hi = (int(x, 16) for x in fields[0].split("-"))
            path = fields[5].strip() if len(fields) > 5 else ""
            if "libctp.so" in path:
                own.append((lo, hi))
            elif path.startswith("/") and "memfd:" not in path and "ld-linux" not in path and fields[1][0] == "r" and "x" not in fields[1]:
                data.append((lo, hi))
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for lo, hi in data:
            memory.seek(lo)
            blob = memory.read(hi - lo)
            for word, in struct.iter_unpack("<Q", blob[:len(blob) & ~7]):
                found += any(a <= word < b for a, b in own)
    return found


class Server:
    """The target, with a pipe to its commands."""

    def __init__(self, case, *words, before=(), **kw):
        if platform.machine() != "x86_64":
            raise Skip("attaching is made for x86_64")
        read, self.to = os.pipe()
        self.process = case.start(*before, case.target("attach"), *words, stdin=read, **kw)
        os.close(read)
        self.process.wait_for("ready")
        self.pid = self.process.pid
        self.sent = 0

    def say(self, letter):
        """Gives a command; what the server says: (answered, interrupted, caught)."""
        self.sent += 1
        os.write(self.to, letter.encode())
        until(lambda: len(SAID.findall(self.process.out())) == self.sent, f"an answer to {letter}")
        return tuple(int(x) for x in SAID.findall(self.process.out())[-1][1:])

    def rests(self):
        """Until it has come back to its loop: until then an event may be on its way, and nothing is decided."""
        def sleeps():
            with open(f"/proc/{self.pid}/wchan", encoding="ascii") as f:
                return "poll" in f.read()
        until(sleeps, "the server to sleep")

    def end(self):
        os.write(self.to, b"q")
        equal(self.process.done().status, 0, "the server's status")
        os.close(self.to)


def may_attach(case):
    """Can a process be traced here at all?"""
    done = case.run(tool("strace"), "-e", "trace=none", "-o", "/dev/null", "true")
    if done.status:
        raise Skip(f"nothing can be traced here: {done.err.strip()[:100]}")
    if not re.search(r"^Seccomp:\s*0$", open("/proc/self/status").read(), re.M):
        raise Skip("all programs run under a seccomp filter here, and such are refused")


def descriptors(pid):
    return sorted(os.listdir(f"/proc/{pid}/fd"), key=int)


def check_unnoticed(case):
    """The server goes on as before: no descriptor, thread, handler, interrupted call; its entries are its own again."""
    may_attach(case)
    server = Server(case, "5")
    before, fds = server.say("s"), descriptors(server.pid)
    ctp = case.ctp_start("-v", "-p", server.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    need(words_into_libctp(server.pid) > 5, "no entry leads to the hooks")
    equal(descriptors(server.pid), fds, "descriptors while attached")
    first = server.say("s")[0]
    until(lambda: server.say("s")[0] > first + 10, "answers while attached")
    ctp.signal(signal.SIGINT)
    done = ctp.done()
    equal(done.status, 0, f"status of ctp-run ({done})")
    equal(words_into_libctp(server.pid), 0, "entries that lead to libctp.so")
    equal(descriptors(server.pid), fds, "descriptors afterwards")
    answered = server.say("s")
    equal(answered[1:], before[1:], "interrupted calls, handlers")
    until(lambda: server.say("s")[0] > answered[0] + 10, "answers afterwards")
    server.end()
    report = case.report()[1]
    need(report["trace"]["switches"] > 20 and report["trace"]["coroutines"]["total"] >= 1, f"nothing recorded: {report['trace']}")
    need(any("attached while the program ran" in f["message"] for f in report["facts"]), f"does not say so: {report['facts']}")
    equal(report["findings"], [], "findings")


def check_lost(case):
    """A loss after the attach is told, with its lines, never as more than LIKELY for want of the past."""
    may_attach(case)
    server = Server(case, "3")
    ctp = case.ctp_start("-v", "-p", server.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    server.say("n")
    server.say("c")
    server.rests()
    ctp.signal(signal.SIGTERM)
    equal(ctp.done().status, 0, "status of ctp-run")
    server.end()
    finding, = case.report()[1]["findings"]
    equal((finding["rule"], finding["count"]), ("CTP001", 1), "the finding")
    need(finding["verdict"] in ("likely", "suspect"), f"{finding['verdict']}: the table of servers leads to it")
    need(any(f["symbol"] == "command" for f in finding["closer_stack"]), f"closed by {finding['closer_stack']}")


def check_opened(case):
    """A module that is opened after the attach: its coroutines, from its constructor on, by functions of the C library and by
    code of its own; and it is left as it was."""
    may_attach(case)
    server = Server(case, "3", case.build / "tests/targets/t-attach-module.so")
    for second in (False, True):
        case.run("rm", "-rf", "ctp.data")
        ctp = case.ctp_start("-v", "-p", server.pid)
        ctp.wait_for("ctp-run: attached to", stream="err")
        if second:
            server.say("x")
        else:
            server.say("o")
            need(words_into_libctp(server.pid) > 5, "no entry leads to the hooks")
        ctp.signal(signal.SIGINT)
        equal(ctp.done().status, 0, "status of ctp-run")
        equal(words_into_libctp(server.pid), 0, "entries that lead to libctp.so")
        report = case.report()[1]
        if second:
            finding, = [f for f in report["findings"] if f["rule"] == "CTP001"]
            need(any(f["symbol"] == "opened_close" for f in finding["closer_stack"]), f"closed by {finding['closer_stack']}")
            need(any(f["symbol"] == "opened_wait" for f in finding["waiter_stack"]), f"waits at {finding['waiter_stack']}")
        else:
            equal(report["trace"]["coroutines"]["total"], 6, "three from before, three of the module")
            need(re.search(r"t-attach-module\.so has its own [^;]*, patched", " ".join(case.analyze().out.split())), "its own code")
    server.end()
    other = Server(case, "3", case.build / "tests/targets/t-attach-module.so")
    other.say("o")
    equal(case.ctp("-o", "other", "-p", other.pid, "--timeout=0.05").status, 0, "status of ctp-run")
    report = case.report("other")[1]
    said = [*report["trace"]["coverage"], *(f["message"] for f in report["facts"])]
    need(any("t-attach-module.so" in x and (", patched" in x or "memory that is in use" in x) for x in said), f"what was there already: {said}")
    other.end()


RESOLVER = """
static long call(long number, long a, const void *b, long c)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}
static int yes(void) { return 1; }
static void *choose(void)
{
	struct { int fd; short events, came; } input = {0, 1, 0};
	char byte;
	call(1, 2, "relocating\\n", 11);
	call(7, (long)&input, (void *)1, -1); // poll: a thread that waits for events can be stopped
	call(0, 0, &byte, 1);
	return yes;
}
int chosen(void) __attribute__((ifunc("choose")));
int (*module_chosen)(void) = chosen;
"""


def entry_of(pid, path):
    """The word of a mapped object that names its DT_INIT function, in memory and in its file."""
    blob = path.read_bytes()
    phoff, = struct.unpack_from("<Q", blob, 32)
    headers = [struct.unpack_from("<IIQQQQQQ", blob, phoff + 56 * i) for i in range(struct.unpack_from("<H", blob, 56)[0])]
    offset, address, size = next((h[2], h[3], h[5]) for h in headers if h[0] == 2)
    at = next(i for i in range(0, size, 16) if blob[offset + i:offset + i + 8] == struct.pack("<Q", 12)) + 8
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        base = next(int(x.split("-")[0], 16) for x in maps if x.rstrip().endswith(str(path)))
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        memory.seek(base + address + at)
        return memory.read(8), blob[offset + at:offset + at + 8]


def check_between(case):
    """ctp-run goes while the loader relocates an object, before its first code: the object begins as ever, and is left as it was."""
    may_attach(case)
    targets = ROOT / "tests/targets"
    (case.dir / "resolver.c").write_text(RESOLVER)
    module = case.dir / "between.so"
    done = case.run(tool("gcc"), "-shared", "-fPIC", "-O1", "-w", "-D_GNU_SOURCE", "resolver.c",
                    *[targets / x for x in ("attach_module.c", "patched_module.c", "switchers.S")], "-o", module)
    if done.status:
        raise Skip(f"does not build here: {done.err[-300:]}")
    server = Server(case, "3", module)
    ctp = case.ctp_start("-v", "-p", server.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    os.write(server.to, b"o")
    server.process.wait_for("relocating", stream="err")
    there, own = entry_of(server.pid, module)
    need(there != own, "its first function is not ours meanwhile: this check looks at nothing")
    ctp.signal(signal.SIGINT)
    equal(ctp.done().status, 0, "status of ctp-run")
    server.say("g")  # which the resolver reads
    equal(*entry_of(server.pid, module), "the word that names its first function")
    equal(words_into_libctp(server.pid), 0, "entries that lead to libctp.so")
    done = case.ctp("-o", "again", "-p", server.pid, "--timeout=0.05")
    equal(done.status, 0, f"status of ctp-run ({done})")
    equal(words_into_libctp(server.pid), 0, "entries that lead to libctp.so")
    server.end()


def check_forks(case):
    """Children of an attached process run as they would, untraced, and it is said how many there were."""
    may_attach(case)
    server = Server(case, "3")
    for i in range(2):  # what hears of forks is there once, however often one attaches
        ctp = case.ctp_start("-v", "-o", f"trace{i}", "-p", server.pid)
        ctp.wait_for("ctp-run: attached to", stream="err")
        server.say("f")
        server.say("f")
        ctp.signal(signal.SIGINT)
        equal(ctp.done().status, 0, "status of ctp-run")
        need("(2 more not traced)" in ctp.err(), ctp.err())
        need("2 children that the process forked meanwhile are not traced" in case.analyze(f"trace{i}").out, "covered")
    server.say("f")
    server.end()


def check_room(case):
    """Each attach takes the address space of the one before."""
    may_attach(case)
    server = Server(case, "3")
    sizes = []
    for i in range(12):
        done = case.ctp("-q", "-p", server.pid, "--timeout=0.01")
        equal(done.status, 0, f"round {i}: {done}")
        sizes.append(int(re.search(r"^VmSize:\s+(\d+) kB", open(f"/proc/{server.pid}/status").read(), re.M)[1]))
    need(sizes[-1] - sizes[0] < 1 << 20, f"KB of address space: {sizes}")
    was = server.say("s")
    equal(was[1], 0, "interrupted calls")
    until(lambda: server.say("s")[0] > was[0] + 5, "answers afterwards")
    server.end()


def check_again(case):
    """Twenty times, each with counts of its own."""
    may_attach(case)
    server = Server(case, "3")
    for i in range(20):
        done = case.ctp("-q", "-p", server.pid, "--timeout=0.05")
        equal(done.status, 0, f"round {i}: {done}")
    equal(words_into_libctp(server.pid), 0, "entries that lead to libctp.so")
    equal(server.say("s")[1], 0, "interrupted calls")
    server.end()


def check_killed(case):
    """SIGKILL of ctp-run: the server's entries are put back all the same. Who does that holds no lock of the trace meanwhile."""
    may_attach(case)
    server = Server(case, "3")
    ctp = case.ctp_start("-v", "-p", server.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    keeper = child_of(ctp.pid, "ctp-keeper")
    os.kill(keeper, signal.SIGSTOP)
    until(lambda: proc_state(keeper) == "T", "the keeper to stand still")
    ctp.signal(signal.SIGKILL)
    ctp.done()
    equal(case.run(tool("flock"), "-n", case.dir / "ctp.data", "true").status, 0, "is the trace's lock free?")
    os.kill(keeper, signal.SIGCONT)
    until(lambda: words_into_libctp(server.pid) == 0, "the entries to be put back")
    was = server.say("s")[0]
    until(lambda: server.say("s")[0] > was + 5, "answers afterwards")
    server.end()


def check_ends(case):
    """The process ends by itself: status 0, and the trace is whole."""
    may_attach(case)
    server = Server(case, "3")
    ctp = case.ctp_start("-v", "-p", server.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    server.say("s")
    server.end()
    equal(ctp.done().status, 0, "status of ctp-run")
    need(case.report()[1]["trace"]["switches"] > 0, "no switch")


def listed(case, pid, *words):
    done = case.run(case.build / "src/ps/ctp-ps", "--json", "--all", *words, pid)
    equal((done.status, done.err), (0, ""), f"ctp-ps: {done}")
    return json.loads(done.out)


def check_before(case):
    """Who has not run since the attach is in the tables, once, as found by search; and afterwards all are found."""
    may_attach(case)
    server = Server(case, "3")
    server.say("n")
    server.say("n")
    ctp = case.ctp_start("-v", "-p", server.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    was = server.say("s")[0]
    until(lambda: server.say("s")[0] > was + 5, "answers")
    list_ = listed(case, server.pid)
    old = [c for c in list_["coroutines"] if c["source"] == "search"]
    new = len(list_["coroutines"]) - len(old)
    need(new > 0 and len(old) > 1 and new + len(old) == 5, f"each once: {list_['coroutines']}")
    equal({c["state"] for c in old}, {"suspended"}, f"from before: {old}")
    need(all("when ctp-run attached" in c["evidence"][0] for c in old), f"evidence: {old}")
    text = case.run(case.build / "src/ps/ctp-ps", server.pid).out
    need(f"\n{len(old)} of them are from before ctp-run attached" in text and ", at least " in text, text)
    equal(case.run(case.build / "src/ps/ctp-ps", "--lost", "--stop", server.pid).status, 0, "--lost of an attached process")
    ctp.signal(signal.SIGINT)
    equal(ctp.done().status, 0, "status of ctp-run")
    equal({c["source"] for c in listed(case, server.pid)["coroutines"]}, {"search"}, "after the detach")
    kept = int(re.search(r"^RssShmem:\s+(\d+) kB", open(f"/proc/{server.pid}/status").read(), re.M)[1])
    need(kept < 100000, f"{kept} KB of the region were made by looking")
    server.end()


def refused(case, status, why, *words):
    done = case.ctp(*words)
    equal(done.status, status, f"{words}: {done}")
    need(why in done.err and done.err.count("\n") == 1, f"{words}: {done.err}")
    need(not (case.dir / "ctp.data").exists(), f"{words}: a trace")


def check_refused(case):
    """Each with one line, and nothing is changed."""
    server = Server(case, "3")
    thread = next(t for t in os.listdir(f"/proc/{server.pid}/task") if int(t) != server.pid)
    refused(case, 126, "no such process", "-p", 2 ** 22 + 12345)
    refused(case, 126, "it is a thread", "-p", thread)
    refused(case, 125, "a process that runs already", "-p", server.pid, "true")
    refused(case, 125, "not with -f", "-f", "-p", server.pid)
    refused(case, 125, "--pid", "-p", "0")
    source = case.dir / "nap.c"
    source.write_text('#include <unistd.h>\nint main(void) { return write(1, "ready\\n", 6) == 6 ? pause() : 1; }\n')
    filtered = case.dir / "filtered.c"
    filtered.write_text('#include <sys/prctl.h>\n#include <linux/seccomp.h>\n#include <linux/filter.h>\n#include <unistd.h>\n'
                        'int main(void) { struct sock_filter f = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW); struct sock_fprog p = {1, &f};\n'
                        'if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 1;\n'
                        'return write(1, "ready\\n", 6) == 6 ? pause() : 1; }\n')
    process = case.start(built(case, "filtered", tool("gcc"), "-O1", "-w", filtered))
    process.wait_for("ready")
    refused(case, 126, "seccomp filter", "-p", process.pid)
    static = built(case, "static-nap", tool("gcc"), "-static", "-O1", source)
    process = case.start(static)
    process.wait_for("ready")
    refused(case, 126, "static program", "-p", process.pid)
    ctp = case.start(case.run_tool, "-o", "first", "--", case.target("attach"), "3", stdin=subprocess.PIPE)
    ctp.wait_for("ready")
    traced = until(lambda: [int(p) for p in open(f"/proc/{ctp.pid}/task/{ctp.pid}/children").read().split()], "the program")[0]
    refused(case, 126, "", "-p", traced)
    equal(words_into_libctp(server.pid), 0, "entries that lead to libctp.so")
    server.end()


def check_user(case):
    """Without root: one's own process; another user's is refused."""
    may_attach(case)
    if os.getuid():
        raise Skip("needs root to become another user")
    nobody = [tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    case.dir.chmod(0o777)
    ours = Server(case, "3")
    done = case.run(*nobody, case.run_tool, "-p", ours.pid, "--timeout=0.05")
    equal(done.status, 126, f"root's process: {done}")
    need("be its user" in done.err, done.err)
    ours.end()
    theirs = Server(case, "3", before=nobody)
    done = case.run(*nobody, case.run_tool, "-p", theirs.pid, "--timeout=0.05")
    if done.status and "does not allow it" in done.err:
        raise Skip("the kernel lets nobody trace their own processes here")
    equal(done.status, 0, f"its own: {done}")
    equal(words_into_libctp(theirs.pid), 0, "entries that lead to libctp.so")
    theirs.end()


class Demo:
    """The demo's server, bare, with 60 clients, of whom 47 are to hang up."""

    def __init__(self, case):
        if platform.machine() != "x86_64":
            raise Skip("attaching is made for x86_64")
        self.process = case.start(case.build / "tests/demo/demo-server")
        self.pid = self.process.pid
        self.process.wait_for("listening on")
        port = int(re.search(r"listening on .*:(\d+)", self.process.out())[1])
        self.clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        for client in self.clients:
            ask(client)
        self.open = len(descriptors(self.pid))

    def lose(self):
        for client in self.clients[:47]:
            client.close()
        until(lambda: len(descriptors(self.pid)) == self.open - 47, "the server to close them")

    def attach(self, case):
        ctp = case.ctp_start("-v", "-p", self.pid)
        ctp.wait_for("ctp-run: attached to", stream="err")
        need("; 60 coroutines were found" in ctp.err(), ctp.err())
        return ctp

    def detach(self, ctp):
        ctp.signal(signal.SIGINT)
        equal(ctp.done().status, 0, "status of ctp-run")
        for client in self.clients[47:]:
            ask(client)


def ask(client):
    client.sendall(b"hello\n")
    equal(client.recv(64), b"hello\n", "the server's answer")


def check_after(case):
    """Descriptors from before, closed under their coroutines after the attach: each is told, with the closer's line."""
    may_attach(case)
    demo = Demo(case)
    ctp = demo.attach(case)
    demo.lose()
    for client in demo.clients[47:52]:
        ask(client)
    until(lambda: "CTP001 likely so far: 47 " in case.run(case.build / "src/ps/ctp-ps", demo.pid).out, "the witness to see it")
    demo.detach(ctp)
    report = case.report()[1]
    equal({f["rule"] for f in report["findings"]}, {"CTP001"}, "rules")
    equal({f["verdict"] for f in report["findings"]} - {"likely"}, set(), "verdicts")
    equal(sum(f["count"] for f in report["findings"]), 47, "how many")
    for f in report["findings"]:
        need(any(x["symbol"] == "conn_drop" for x in f["closer_stack"]), f"closed by {f['closer_stack']}")
        need(any(x["symbol"] == "wait_readable" for x in f["waiter_stack"]), f"waits at {f['waiter_stack']}")
    equal((report["accounting"]["healthy"], report["accounting"]["suspended"]), (13, 60), "healthy, suspended")


def check_closed_before(case):
    """Descriptors that were closed under their coroutines before the attach: told as far as can be known."""
    may_attach(case)
    demo = Demo(case)
    demo.lose()
    ctp = demo.attach(case)
    for client in demo.clients[47:52]:
        ask(client)
    demo.detach(ctp)
    report = case.report()[1]
    for f in report["findings"]:
        equal((f["rule"], f["verdict"]), ("CTP003", "likely"), "the finding")
        need(any(x["symbol"] == "wait_readable" for x in f["waiter_stack"]), f"waits at {f['waiter_stack']}")
    # A stale word in memory may lead to one or two.
    found = sum(f["count"] for f in report["findings"])
    need(40 <= found <= 47, f"{found} of 47 found")
    equal(sum(report["accounting"][k] for k in ("in_findings", "parked")), 47, "those that are lost")
    equal(report["accounting"]["healthy"], 13, "healthy")


class Fibers:
    """A server with Boost.Context in its own code."""

    def __init__(self, case, connections, threads):
        may_attach(case)
        packages.want("g++", "libboost-context1.74-dev")
        program = built(case, "attach-fibers", tool("g++"), "-O1", "-g", "-w", TARGETS / "attach_fibers.cpp",
                        "-l:libboost_context.a", "-lpthread")
        read, self.to = os.pipe()
        self.process = case.start(program, connections, threads, stdin=read)
        os.close(read)
        self.process.wait_for("ready")
        self.pid, self.program = self.process.pid, program

    def say(self, letter, answer):
        said = self.process.out().count(answer)
        os.write(self.to, letter.encode())
        until(lambda: self.process.out().count(answer) > said, f"{answer} after {letter}")

    def code(self):
        """A digest of its own code, as it is in memory."""
        digest = hashlib.sha256()
        with open(f"/proc/{self.pid}/maps", encoding="ascii", errors="replace") as maps, \
                open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
            for line in maps:
                if line.rstrip().endswith(str(self.program)) and line.split()[1] == "r-xp":
                    lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
                    memory.seek(lo)
                    digest.update(memory.read(hi - lo))
        return digest.hexdigest()

    def end(self):
        self.say("q", "balanced")
        equal(self.process.done().status, 0, "the server's status")
        os.close(self.to)


def check_engine(case):
    """An engine in the program's own code is patched while it runs, and gets its code back."""
    server = Fibers(case, 10, 0)
    before = server.code()
    ctp = case.ctp_start("-v", "-p", server.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    need("; 10 coroutines were found" in ctp.err(), ctp.err())
    need(server.code() != before, "nothing is patched")
    server.say("t", "touched")
    server.say("c", "closed")
    server.say("t", "touched")
    ctp.signal(signal.SIGINT)
    equal(ctp.done().status, 0, "status of ctp-run")
    equal(server.code(), before, "its code afterwards")
    server.say("t", "touched")
    server.end()
    report = case.report()[1]
    finding, = report["findings"]
    equal((finding["rule"], finding["verdict"], finding["count"]), ("CTP001", "likely", 5), "the finding")
    need(any(f["symbol"] == "drop_all" for f in finding["closer_stack"]), f"closed by {finding['closer_stack']}")
    need(any("wait_readable" in (f["symbol"] or "") for f in finding["waiter_stack"]), f"waits at {finding['waiter_stack']}")
    equal(report["trace"]["switches"], 20, "switches: five in, five out, twice")
    need(re.search(r"has its own Boost\.Context 1\.63, patched", " ".join(case.analyze().out.split())), "the engine is named")


def check_engine_under_threads(case):
    """The same beside threads that switch as fast as they can, again and again: none goes astray."""
    server = Fibers(case, 2, 3)
    before = server.code()
    for i in range(10):
        done = case.ctp("-q", "--overflow=drop", "-p", server.pid, "--timeout=0.05")
        equal(done.status, 0, f"round {i}: {done}")
        equal(server.code(), before, f"its code after round {i}")
        server.say("t", "touched")
    server.end()


PHP = """<?php
function counts() { for ($n = 1; ; $n++) Fiber::suspend($n); }
$fibers = []; $said = array_fill(0, 5, 0);
foreach ($said as $i => $_) { $fibers[$i] = new Fiber('counts'); $said[$i] = $fibers[$i]->start(); }
$pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
echo "ready\n";
for ($rounds = 0; !file_exists('stop'); $rounds++) {
    $said[$rounds % 2] = $fibers[$rounds % 2]->resume();
    $read = [$pair[0]]; $none = null;
    stream_select($read, $none, $none, 0, 2000);
}
echo array_sum($said) - $rounds, " of 5\n";
"""


def check_php(case):
    """PHP's fibers: those that were there are found, those that run are counted, and the script's sum is right."""
    may_attach(case)
    packages.want("php8.2-cli")
    (case.dir / "fibers.php").write_text(PHP)
    process = case.start(tool("php8.2"), "fibers.php")
    process.wait_for("ready")
    ctp = case.ctp_start("-v", "-p", process.pid)
    ctp.wait_for("ctp-run: attached to", stream="err")
    until(lambda: re.search(r"5 coroutines: 5 suspended", case.run(case.build / "src/ps/ctp-ps", process.pid).out), "five fibers")
    ctp.signal(signal.SIGINT)
    equal(ctp.done().status, 0, "status of ctp-run")
    (case.dir / "stop").touch()
    done = process.done()
    equal((done.status, done.out), (0, "ready\n5 of 5\n"), "the script")
    report = case.report()[1]
    equal(report["trace"]["coroutines"]["total"], 5, "fibers")
    need(report["trace"]["switches"] > 0, "no switch")
    equal(report["findings"], [], "findings")


CHECKS = [("engine", check_engine), ("php", check_php), ("engine_under_threads", check_engine_under_threads), ("closed_before", check_closed_before), ("unnoticed", check_unnoticed), ("lost", check_lost), ("opened", check_opened), ("between", check_between), ("forks", check_forks), ("room", check_room),
          ("after", check_after), ("again", check_again), ("killed", check_killed), ("ends", check_ends),
          ("before", check_before), ("refused", check_refused), ("user", check_user)]
