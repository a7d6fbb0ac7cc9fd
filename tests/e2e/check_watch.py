# SPDX-License-Identifier: MIT
"""ctp-ps --watch, at a terminal of tmux's: what the screen shows of programs whose coroutines are
known one by one (tests/targets/ps.c), what keys do, and how it leaves the terminal behind."""
import os
import pathlib
import random
import re
import signal
import struct

from check_ps import EXT, hostile
from check_stackless import program as stackless
from harness import Failed, Skip, child_of, equal, need, proc_state, tool, until

ALONE = 54321  # a user who has no other process


class Screen:
    """A terminal in which a shell has run a command."""

    def __init__(self, case, command, lines=24, columns=80, env="", who=()):
        self.case, self.tmux = case, [tool("tmux"), "-S", str(case.dir / "tmux"), "-f", "/dev/null"]
        environ = {"LC_ALL": "C.UTF-8", "TERM": "xterm"}
        self.server = case.start(*who, *self.tmux, "-D", env=environ)
        until(lambda: (case.dir / "tmux").exists() or self.server.popen.poll() is not None, "tmux")
        script = case.dir / "script"
        script.write_text(f"stty -g >tty.before\n{env} {command}\necho \"left with $?\"\nstty -g >tty.after\nexec cat\n")
        until(lambda: self.do("new-session", "-d", "-x", columns, "-y", lines, "-c", case.dir, "sh", script).status == 0, "a window")
        self.environ = environ

    def do(self, *words):
        return self.case.run(*self.tmux, *words, env={"LC_ALL": "C.UTF-8"})

    def text(self, *words):
        return self.do("capture-pane", "-p", *words).out

    def keys(self, *names):
        equal(self.do("send-keys", *names).status, 0, f"keys {names}")

    def wait(self, pattern, *gone):
        """Until the screen shows the pattern, and none of `gone`; returns the screen. A terminal takes what is
        drawn in pieces: a screen counts once it is the same twice in a row."""
        last = ""

        def look():
            nonlocal last
            before, last = last, self.text()
            return before == last and re.search(pattern, last, re.M) and not any(re.search(g, last, re.M) for g in gone)
        try:
            until(look, pattern)
        except Failed:
            raise Failed(f"{pattern!r} without {gone} is not on the screen:\n{last}") from None
        return last

    def resize(self, columns, lines):
        equal(self.do("resize-window", "-x", columns, "-y", lines).status, 0, "resize")

    def pid(self):
        """Of ctp-ps."""
        shell = int(self.do("list-panes", "-F", "#{pane_pid}").out)
        return child_of(shell, "ctp-ps")

    def left(self, status):
        """It has ended so, and the terminal is as it was."""
        shown = self.wait(rf"^left with {status}$")
        until(lambda: (self.case.dir / "tty.after").exists() and (self.case.dir / "tty.after").read_text(), "stty")
        equal((self.case.dir / "tty.after").read_text(), (self.case.dir / "tty.before").read_text(), "the terminal's settings")
        need("coroutines:" not in shown, f"the screen is as it was before:\n{shown}")


def watch(case, program, *words, grouped=False, columns=120, **kw):
    """One by one and wide, unless said otherwise."""
    words = [case.build / "src/ps/ctp-ps", "--watch", *([] if grouped else ["--all"]), *words, program]
    return Screen(case, " ".join(str(w) for w in words), columns=columns, **kw)


def start(case, *words, options=()):
    process = case.ctp_start("-q", *options, case.target("ps"), *words)
    process.wait_for("ready")
    return process, child_of(process.pid)


def rows(shown):
    """The list's lines, by id: entry, state."""
    found = {}
    for line in shown.splitlines():
        m = re.match(r" *(\d+) (\w+) +(\w+!?) ", line)
        if m:
            found[int(m[1])] = (m[2], m[3])
    return found


def order(shown):
    return list(rows(shown))


def check_list(case):
    process, program = start(case, "mix")
    screen = watch(case, program)
    shown = screen.wait(r"^10 coroutines: 5 suspended, 4 created, 1 running  ended: 2$")
    need(re.search(rf"^pid {program} .*t-ps mix", shown), shown)
    need(re.search(rf"ctp-run {process.pid} ", shown), shown)
    shown = screen.wait(r"^\d+ switches/s  2 threads, CPU \d+%  0 lost", r" - +-  ")  # a second look has come
    found = rows(shown)
    equal(sorted(e for e, _ in found.values()), ["busy_main"] + ["fresh_main"] * 4 + ["pipe_main"] + ["reader_main"] * 3 + ["sleeper_main"],
          "entries")
    equal(sum(s == "running" for _, s in found.values()), 1, "running")
    need(re.search(r"reader_main +suspended +park ps.c:\d+ +\d+#1 IN +\d", shown), shown)
    need(re.search(r"busy_main +running .* \d+\.\d +[\d.]+ m?s +\d", shown), f"CPU and slice: {shown}")
    equal(len([line for line in shown.splitlines() if len(line) > 120]), 0, "width")
    screen.keys("q")
    screen.left(0)


def check_order(case):
    _, program = start(case, "mix")
    screen = watch(case, program)
    screen.wait("STATEv")
    screen.keys("I")
    shown = screen.wait("IDv")
    equal(order(shown), sorted(order(shown)), "by id")
    screen.keys("r")
    shown = screen.wait(r"ID\^")
    equal(order(shown), sorted(order(shown), reverse=True), "by id, the other way round")
    screen.keys(">")
    shown = screen.wait("ENTRYv")
    entries = [e for e, _ in rows(shown).values()]
    equal(entries, sorted(entries), "by entry")
    screen.keys(">")
    shown = screen.wait("STATEv")
    need(rows(shown)[order(shown)[0]][1].startswith("closed"), f"what is wrong comes first: {shown}")
    for column in ("WHEREv", "WAITS FORv", "SINCEv", "SW/Sv", "CPU%v", "SLICEv"):
        screen.keys(">")
        screen.wait(column)
    screen.keys(">")
    shown = screen.wait("SLICEv")
    equal(rows(shown)[order(shown)[0]][0], "busy_main", "the longest slice")


def check_filter(case):
    _, program = start(case, "mix")
    screen = watch(case, program)
    screen.wait("reader_main")
    for typed, entries in (("READ_requ", {"reader_main"}), ("sleeper", {"sleeper_main"}), ("running", {"busy_main"}),
                           ("descend", {"sleeper_main"}), ("#2", {"pipe_main"}), ("created", {"fresh_main"})):
        screen.keys("/")
        screen.wait("^look for: ")
        screen.keys("-l", typed)
        screen.wait(f"^look for: {re.escape(typed)}_$")
        screen.keys("Enter")
        screen.wait(re.escape(f"[/{typed}]"))
        until(lambda: {e for e, _ in rows(screen.text()).values()} == entries, f"{entries} by {typed}")
        screen.keys("Escape")
        screen.wait("reader_main.*\n(.*\n)*.*fresh_main", r"\[/")
    screen.keys("/", "x", "y", "z", "BSpace", "Enter")
    need("none of them" in screen.wait(r"\[/xy\]"), "nothing is found")


def check_groups(case):
    """It begins with groups, in 80 columns, those with findings first, and says where they are suspended."""
    _, program = start(case, "mix")
    screen = watch(case, program, grouped=True, columns=80)
    shown = screen.wait(r"^ +N ENTRY +STATEv +WHERE .*\n.*reader_main")
    need(re.search(r"^ +N ENTRY.*\n +1 reader_main +closed!? +park ps.c:\d+ ", shown, re.M), shown)
    counts = sorted((m[2], int(m[1])) for m in re.finditer(r"^ +(\d+) (\w+_main)", shown, re.M))
    equal(counts, [("busy_main", 1), ("fresh_main", 4), ("pipe_main", 1), ("reader_main", 1), ("reader_main", 2), ("sleeper_main", 1)],
          "groups; the one whose descriptor is closed stands apart")
    screen.keys("I")
    screen.wait("Nv")
    screen.keys("Home", "Enter")  # the largest
    shown = screen.wait(r"\[one group\]")
    equal([e for e, _ in rows(shown).values()], ["fresh_main"] * 4, "its members")
    screen.keys("Escape")
    screen.wait(r"^ +Nv ENTRY")
    equal(len([line for line in screen.text().splitlines() if len(line) > 80]), 0, "width")
    screen.keys("g")
    screen.wait(r"^ +IDv ENTRY")


def check_details(case):
    _, program = start(case, "mix")
    screen = watch(case, program, lines=40)
    screen.wait("reader_main")
    screen.keys("I")
    first = order(screen.wait("IDv"))[1]
    screen.keys("Down", "Enter")
    shown = screen.wait(r"last events, newest first\n(.*\n)*.*was created by thread")
    need(re.search(rf"^coroutine {first} reader_main  suspended for ", shown, re.M), shown)
    need(re.search(r"^created made  ps.c:\d+  by thread \d+'s own stack$", shown, re.M), shown)
    need(re.search(r"^resumed 1 times, ", shown, re.M), shown)
    need(re.search(r"^stack 0x\w+-0x\w+, 16 KiB, of which [\d.]+ KiB were ever used$", shown, re.M), shown)
    need(re.search(r"^  fd \d+#1 EPOLLIN  tcp 127.0.0.1:\d+ (<-|->) 127.0.0.1:\d+  in epoll fd \d+$", shown, re.M), shown)
    frames = re.findall(r"^  #\d +(\w+)", shown, re.M)
    equal(frames, ["park", "wait_for", "read_request", "reader_main"], "its stack")
    need(re.search(rf"switched to thread {program}'s own stack, at park  ps.c:\d+$", shown, re.M), shown)
    need(re.search(rf"resumed by thread {program}'s own stack, on thread {program}$", shown, re.M), shown)
    screen.resize(80, 8)  # now it must be scrolled
    screen.wait(f"^coroutine {first} ", "last events")
    screen.keys("End")
    screen.wait("was created by thread", f"^coroutine {first} ")
    screen.keys("Home")
    screen.wait(f"^coroutine {first} ")
    screen.keys("q")
    screen.wait("^10 coroutines:|ENTRY")
    screen.keys("?")
    screen.wait("^Keys")
    screen.keys("Escape")
    screen.wait("ENTRY", "^Keys")
    screen.keys("q")
    screen.left(0)


def check_cursor(case):
    """It stays with its coroutine when the list is sorted anew."""
    _, program = start(case, "mix")
    screen = watch(case, program)
    screen.wait("reader_main")
    screen.keys("I")
    ids = order(screen.wait("IDv"))
    screen.keys("Down", "Down", "r")
    screen.wait(r"ID\^")
    screen.keys("Enter")
    screen.wait(f"^coroutine {ids[2]} ")
    screen.keys("q", "End")
    screen.wait(r"ID\^")
    screen.keys("Enter")
    screen.wait(f"^coroutine {ids[0]} ")


def check_rates(case):
    """Two threads switch all the time; it is paused, and its pace is changed."""
    process, program = start(case, "spin")
    process.wait_for("spins")
    screen = watch(case, program, "-d", "0.2")
    screen.wait("STATEv")
    screen.keys("X")
    screen.wait("SW/Sv")
    screen.wait(r"^(\d+\.)?\d+[kM] switches/s")
    screen.wait(r"^ +\d+ spin_main .* (\d+\.)?\d+[kM] +\d+\.\d ")
    screen.wait(r"every 0.2 s")
    screen.keys("+")
    screen.wait(r"every 0.4 s")
    screen.keys("d", "1", ".", "5", "Enter")
    screen.wait(r"every 1.5 s")
    screen.keys("-", "-", "-")
    screen.keys("Space")
    screen.wait("PAUSED", "every")
    states = {pathlib.Path(f"/proc/{program}/task/{t}/stat").read_text().rsplit(")", 1)[1].split()[0]
              for t in os.listdir(f"/proc/{program}/task")}
    need(not states & {"T", "t"}, f"nobody is stopped: {states}")
    screen.keys("Enter")
    screen.wait("^coroutine .* spin_main")
    screen.keys("q", "Space")
    screen.wait("every", "PAUSED")
    screen.keys("q")
    screen.left(0)


def check_sizes(case):
    """Whatever the size is, and whatever is shown, keys go on doing what they do."""
    _, program = start(case, "mix")
    screen = watch(case, program)
    screen.wait("reader_main")
    for columns, lines in ((20, 5), (1, 1), (5, 2), (300, 80), (40, 12), (2, 60), (200, 1)):
        for key in ("g", "g", "Enter", "End", "?"):
            screen.resize(columns, lines)
            screen.keys(key)
        screen.resize(80, 24)
        screen.wait("^Keys")
        screen.keys("q")
        screen.wait("^coroutine ", "^Keys")
        screen.keys("q")
        screen.wait("^10 coroutines:")
    screen.keys("q")
    screen.left(0)


def check_end(case):
    """The program ends underneath: the last picture stays."""
    process, program = start(case, "mix")
    screen = watch(case, program)
    screen.wait("reader_main")
    os.kill(program, signal.SIGKILL)
    process.done()
    screen.wait(r"^pid \d+  has ended - the last picture")
    screen.keys("I")
    equal(len(rows(screen.wait("IDv"))), 10, "coroutines")
    screen.keys("Enter")
    shown = screen.wait("last events, newest first")
    need("read_request" in shown, f"its stack can still be read: {shown}")
    screen.keys("q", "q")
    screen.left(0)


def check_signals(case):
    _, program = start(case, "mix")
    screen = watch(case, program)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGTERM:
            for name in ("tmux", "tty.after"):
                (case.dir / name).unlink(missing_ok=True)
            screen = watch(case, program)
        screen.wait("reader_main")
        os.kill(screen.pid(), number)
        screen.left(128 + number)
        screen.server.end()


def check_stop(case):
    """Ctrl-Z gives the terminal back; fg brings the screen again."""
    _, program = start(case, "mix")
    screen = Screen(case, f"{tool('bash')} --norc --noprofile -i")
    screen.wait(r"[$#]$")
    screen.keys("-l", f"{case.build}/src/ps/ctp-ps --watch {program}")
    screen.keys("Enter")
    screen.wait("^10 coroutines:")
    screen.keys("C-z")
    screen.wait("Stopped", "^10 coroutines:")
    screen.keys("-l", "fg")
    screen.keys("Enter")
    screen.wait("^10 coroutines:")
    screen.keys("q")
    screen.wait(r"[$#]$", "^10 coroutines:")


def check_terminals(case):
    """Colors only where they are wanted; no screen where there can be none."""
    _, program = start(case, "mix")
    for n, (env, colors) in enumerate((("", True), ("NO_COLOR=1", False), ("TERM=vt100", False), ("TERM=linux", True),
                                       ("TERM=screen LC_ALL=C", True))):
        for name in ("tmux", "tty.after"):
            (case.dir / name).unlink(missing_ok=True)
        screen = watch(case, program, env=f"env {env}" if env else "")
        screen.wait("closed")
        equal("\x1b[31m" in screen.text("-e") or "\x1b[1;31m" in screen.text("-e") or "\x1b[1m\x1b[31m" in screen.text("-e"), colors,
              f"colors with {env or 'xterm'}: {screen.text('-e')!r}")
        screen.keys("q")
        screen.wait("^left with 0$")
        screen.server.end()
    for env in ("TERM=dumb", "TERM=", "TERM=no-such-thing"):
        (case.dir / "tmux").unlink(missing_ok=True)
        screen = watch(case, program, env=f"env {env}", columns=250)
        shown = screen.wait("^left with 2$")
        equal(len(re.findall(r"^ctp-ps: --watch .*; set TERM .*$", shown, re.M)), 1, f"one line: {shown}")
        screen.server.end()
    for words in (["--watch"], ["--watch", str(program)]):
        done = case.run(case.build / "src/ps/ctp-ps", *words)
        equal((done.status, done.out, done.err.count("\n")), (2, "", 1), f"without a terminal: {done}")
        need("terminal" in done.err and ";" in done.err, done.err)
    for words in (["--watch", "--json"], ["--delay=2"], ["--watch", "--delay=0"], ["--watch", "--delay=x"]):
        done = case.run(case.build / "src/ps/ctp-ps", *words)
        equal((done.status, done.err.count("\n")), (2, 1), f"{words}: {done}")


def check_refusals(case):
    """What can be said without a screen is said without one."""
    ended = case.run("sh", "-c", "echo $$")
    screen = watch(case, ended.out.strip(), columns=200)
    need("no such process" in screen.wait("^left with 1$"), screen.text())


def check_pick(case):
    """Without a PID: the only one of the user, else a list to pick from."""
    if os.getuid() != 0:
        raise Skip("needs root to become another user")
    setpriv = [tool("setpriv"), f"--reuid={ALONE}", f"--regid={ALONE}", "--clear-groups"]
    case.dir.chmod(0o777)
    if case.run(*setpriv, "test", "-x", case.run_tool).status:
        raise Skip("the build directory is closed to other users")
    screen = watch(case, "", columns=120, who=setpriv)
    need("no process of this user is traced" in screen.wait("^left with 1$"), screen.text())
    screen.server.end()
    (case.dir / "tmux").unlink(missing_ok=True)
    one = case.start(*setpriv, case.run_tool, "-q", "-o", "one.data", case.target("ps"), "one")
    one.wait_for("ready")
    screen = watch(case, "", who=setpriv)
    screen.wait("^1 coroutines: 1 suspended")
    screen.keys("q")
    screen.wait("^left with 0$")
    screen.server.end()
    (case.dir / "tmux").unlink(missing_ok=True)
    two = case.start(*setpriv, case.run_tool, "-q", "-o", "two.data", case.target("ps"), "mix")
    two.wait_for("ready")
    screen = watch(case, "", who=setpriv)
    shown = screen.wait("^Which of them")
    pids = [int(p) for p in re.findall(r"^ +(\d+) +\d+ +\d+ +\d+  ", shown, re.M)]
    equal(sorted(pids), sorted([child_of(one.pid), child_of(two.pid)]), "the list")
    for _ in range(pids.index(child_of(two.pid))):
        screen.keys("Down")
    screen.keys("Enter")
    screen.wait(rf"^pid {child_of(two.pid)} .*\n10 coroutines:")


def check_finding(case):
    """What ctp-run finds out while the program runs comes to the screen, with its evidence."""
    process = case.ctp_start("-q", "--prove", case.target("lost"), "n=3")
    process.wait_for("ready")
    screen = watch(case, child_of(process.pid), lines=40)
    shown = screen.wait(r"CTP001: 3")
    need(len(re.findall(r"closed!", shown)) == 3, shown)
    screen.keys("Enter")
    shown = screen.wait(r"^  CTP001 fd \d+#\d+ \(\w+")
    need(re.search(r"^    holds P3 ", shown, re.M) and re.search("closed since", shown), shown)
    need("ctp-analyze --explain CTP001" in shown, shown)
    need(shown.index("\nstack") < shown.index("\nfindings"), f"the stack comes first: {shown}")
    need(re.search(r"newest first\n +[\d.]+ \w+ ago fd \d+#\d+ closed, at \w+ +lost.c:\d+, by ", shown), f"who closed it: {shown}")


def check_standing(case):
    """Who is ready, and who is pooled."""
    _, program = start(case, "pool")
    screen = watch(case, program)
    shown = screen.wait(r"suspended \(3 pooled\)")
    equal(sorted(s for _, s in rows(shown).values()), ["created"] + ["pooled"] * 3 + ["suspended"] * 2, shown)
    screen.keys("/", "p", "o", "o", "l", "e", "d", "Enter")
    equal(len(rows(screen.wait(r"\[/pooled\]"))), 3, "those that are pooled")
    screen.server.end()
    (case.dir / "tmux").unlink(missing_ok=True)
    _, program = start(case, "ready", options=("-o", "r.data"))
    shown = watch(case, program).wait("^3 coroutines: 2 suspended")
    equal(sorted(s for _, s in rows(shown).values()), ["ready", "ready", "running"], shown)


def check_named(case):
    """What the program calls its coroutines stands before their function, and is found."""
    process = case.ctp_start("-q", case.target("named"), "lost")
    process.wait_for("ready")
    screen = watch(case, child_of(process.pid), columns=200)
    called = re.findall(r'^ +\d+ "([^"]+)" \w+ ', screen.wait('"'), re.M)
    equal(len(called), 4, "names: three connections, and who closes what they wait for")
    screen.keys("/")
    screen.wait("^look for")
    screen.keys("-l", called[1])
    screen.keys("Enter")
    shown = screen.wait(re.escape(f"[/{called[1]}]"))
    equal(re.findall(r'^ +\d+ "([^"]+)"', shown, re.M), [called[1]], "found by name")
    screen.keys("Enter")
    screen.wait(f'^coroutine .* "{called[1]}"')


def check_no_engine(case):
    process, program = start(case, "mix")
    screen = watch(case, program, lines=40)
    screen.wait(rf"ctp-run {process.pid}")
    os.kill(process.pid, signal.SIGKILL)
    process.done()
    screen.wait("ctp-run is gone")
    screen.keys("Enter")
    screen.wait("last events")


def check_exec(case):
    """The program becomes another: the screen goes along."""
    read, write = os.pipe()
    process = case.start(case.run_tool, "-q", "/bin/sh", "-c", f"echo reads; read x; exec {case.target('ps')} mix", stdin=read)
    os.close(read)
    process.wait_for("reads")
    program = child_of(process.pid)
    screen = watch(case, program)
    screen.wait("no coroutine yet")
    os.write(write, b"\n")
    os.close(write)
    process.wait_for("ready")
    screen.wait("^10 coroutines: 5 suspended, 4 created, 1 running")
    screen.keys("Enter")
    screen.wait("^coroutine .*_main")


def check_hostile(case):
    """Words of a region turned round under the screen: it goes on, and when they are back, so is the picture."""
    liar, fd, keep = hostile(case)
    header = os.pread(fd, 1024, 0)
    word = lambda at: struct.unpack_from("<Q", header, EXT + at)[0]
    threads, fds, cands, modules, index, words, rings, states = (
        word(at) for at in (0x18, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0xa8))
    screen = watch(case, liar, "-d", "0.1")
    screen.wait("reader_main")
    chance = random.Random(7)
    odd = [0, 1, 2**64 - 1, 2**63, 2**31, 2**32 - 1, 2**20, 2**40]
    places = [(EXT + 0x140, 64), (threads, 1024), (fds + 6 * 256, 1024), (cands, 512), (modules, 512), (index, 64), (words, 256),
              (rings, 2048)] + [(states + i * 448, 256) for i in range(10)]
    for place, room in places:
        was = os.pread(fd, room, place)
        for key in ("Enter", "End", "q", "g", ">", "/", "m", "Enter", "Escape", "g"):
            os.pwrite(fd, struct.pack("<Q", chance.choice(odd + [chance.getrandbits(64)])), place + 8 * chance.randrange(room // 8))
            screen.keys(key)
        os.pwrite(fd, was, place)
        if "left with" in screen.text():
            raise Failed(f"it ended after words at {place:#x}:\n{screen.text()}")
    screen.keys("?")
    screen.wait("^Keys")
    screen.keys("q")
    screen.wait(r"^10 coroutines: 5 suspended, 4 created, 1 running", "^Keys")
    screen.keys("q")
    screen.left(0)
    os.close(fd)
    os.close(keep)


def check_flight(case):
    _, program = start(case, "mix", options=("--flight",))
    screen = watch(case, program, lines=40)
    screen.wait("reader_main")
    screen.keys("I")
    screen.wait("IDv")
    screen.keys("Enter")
    screen.wait(r"last events, newest first\n.*switched to .*\n.*resumed by.*\n.*was created")


def check_led(case):
    """An event that led to a coroutine stands between its leaving and its going on."""
    server = case.ctp_start("-q", case.build / "tests/demo/demo-server")
    port = re.search(r":(\d+)", server.wait_for("listening"))[1]
    client = case.run(case.build / "tests/demo/demo-client", port, "20")
    equal(client.status, 0, f"the client: {client}")
    screen = watch(case, child_of(server.pid), lines=40)
    screen.wait("conn_main")
    screen.keys("I")
    screen.wait("IDv")
    screen.keys("Enter")
    shown = screen.wait(r"last events, newest first\n(.*\n)+.*an event on fd \d+#\d+ arrived for it\n.*switched to ")
    need(re.search(r"resumed by .*\n.*an event on fd \d+#\d+ arrived for it\n.*switched to ", shown), shown)
    need(" ended" not in shown, shown)


def check_many(case):
    """A hundred thousand: listed, sorted, filtered, grouped."""
    process = case.ctp_start("-q", case.target("million"), "epoll", "100000", "16384", "100")
    process.wait_for("ready")
    program = child_of(process.pid)
    screen = watch(case, program)
    shown = screen.wait("^100000 coroutines: 100000 suspended")
    equal(len(rows(shown)), 18, "lines of the list")
    screen.keys("I")
    ids = order(screen.wait("IDv"))
    equal(ids, sorted(ids), "by id")
    screen.keys("End")
    screen.wait(r"^ +100001 body")
    screen.keys("Enter")
    screen.wait("^coroutine 100001 body")
    screen.keys("q", "/", "5", "0", "#", "1", "Enter")
    shown = screen.wait(r"\[/50#1\]")
    need(all(w == "50#1" for w in re.findall(r" (\d+#\d+) IN", shown)), shown)
    screen.keys("Escape", "g")
    screen.wait(r"^ +100000 body +suspended", r"\[/")
    equal(proc_state(program), "S", "it sleeps on")
    screen.keys("q")
    screen.left(0)


def check_stackless(case):
    """C++20 coroutines, which no table has, stand in the same list and columns: groups, one by one, found by a text, in detail."""
    process = case.ctp_start("-q", stackless(case, "g++", "-O0"), "closed_deep")
    process.wait_for("ready")
    screen = watch(case, child_of(process.pid), grouped=True, columns=140, lines=40)
    shown = screen.wait(r"^9 coroutines: 9 suspended, 0 created, 0 running, 9 of C\+\+20  ended: 0$")
    for function in ("read_byte", "read_line", "session"):
        need(re.search(rf"^ +3 {function} +(closed|suspended) +{function} stackless\.cpp:\d+ +>", shown, re.M), f"{function}: {shown}")
    screen.keys("g")
    ids = re.findall(r"^ *(0x[0-9a-f]+) (read_byte|read_line|session) +\w+ +\w+ stackless\.cpp:\d+", screen.wait(r"^ *0x[0-9a-f]+ read_byte"), re.M)
    equal(sorted(f for _, f in ids), ["read_byte"] * 3 + ["read_line"] * 3 + ["session"] * 3, "one by one")
    screen.keys("/")
    screen.keys("-l", "read_byte")
    screen.keys("Enter")
    shown = screen.wait(r"\[/read_byte\]", " session +suspended")
    screen.keys("Home", "Enter")
    shown = screen.wait("^evidence")
    need(re.search(r"^coroutine 0x[0-9a-f]+ \w+ +(closed|suspended) for at least ", shown, re.M), shown)
    need(re.search(r"#0 +read_byte .*:\d+\n +#1 +read_line .*:\d+\n +#2 +session .*:\d+", shown), shown)
    need(re.search(r"^  awaited by 0x", shown, re.M), shown)
    process.signal(signal.SIGTERM)
    screen.wait(r"has ended|the last picture")
    screen.keys("q", "q")
    screen.left(0)


def check_untraced(case):
    """A program that nobody traces: the same screen, filled by search; what only tables know is left out."""
    process = case.start(case.target("ps"), "mix")
    process.wait_for("ready")
    screen = watch(case, process.pid, grouped=True)
    shown = screen.wait(r"^\d+ coroutines: \d+ suspended, 4 created, 1 running")  # it is seen while it sleeps
    need("not traced: found by search" in shown, shown)
    need(re.search(r"^ +3 reader_main +suspended +park ps\.c:\d+ +>", shown, re.M), f"groups: {shown}")
    need("ended:" not in shown and "ctp-run" not in shown and "switches/s" not in shown, f"what nobody knows: {shown}")
    equal([line for line in shown.splitlines() if len(line) > 120], [], "width")
    screen.keys("g")
    shown = screen.wait(r"^ *0x[0-9a-f]+ reader_main +suspended +park ps\.c:\d+ +\d+ IN")
    equal(len(re.findall(r"^ *0x[0-9a-f]+ reader_main ", shown, re.M)), 3, shown)
    screen.keys("/", "pipe_main", "Enter")
    screen.wait(r"\[/pipe_main\]", " reader_main ")
    screen.keys("Home", "Enter")
    shown = screen.wait("^evidence")
    need(re.search(r"^coroutine 0x[0-9a-f]+ pipe_main +suspended for at least ", shown, re.M), shown)
    need(re.search(r"^  #0 +\w", shown, re.M) and "behind swapcontext" in shown, shown)
    screen.keys("q", "Escape")
    screen.resize(80, 24)
    shown = screen.wait(r"^every [\d.]+ s", r"\[/")
    equal([line for line in shown.splitlines() if len(line) > 80], [], "80 columns")
    process.end()
    shown = screen.wait("has ended - the last picture")
    need(re.search(r"^0x[0-9a-f]+ reader_ma", shown, re.M), f"the last picture: {shown}")
    screen.keys("q")
    screen.left(0)


def check_untraced_stackless(case):
    """The same of C++20 coroutines: groups, and one in detail."""
    process = case.start(stackless(case, "g++", "-O0"), "closed_deep")
    process.wait_for("ready")
    screen = watch(case, process.pid, grouped=True, lines=40)
    shown = screen.wait(r"^9 coroutines: 9 suspended, 0 created, 0 running, 9 of C\+\+20$")
    for function in ("read_byte", "read_line", "session"):
        need(re.search(rf"^ +3 {function} +(closed|suspended) +{function} stackless\.cpp:\d+ +>", shown, re.M), f"{function}: {shown}")
    screen.keys("/", "session", "Enter")
    screen.wait(r"\[/session\]")
    screen.keys("g", "Home", "Enter")
    shown = screen.wait("^evidence")
    need(re.search(r"^  #\d +session .*:\d+$", shown, re.M) and "a C++20 coroutine" in shown, shown)
    screen.keys("q", "q", "q")
    process.end()


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
