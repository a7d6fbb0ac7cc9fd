# SPDX-License-Identifier: MIT
"""--export: the same tables in every target, the same answers to the views' questions and the same counts as the
JSON report; a trace twice is there once; names that would be SQL are names."""
import csv
import os
import re
import sqlite3
import subprocess

from check_verdicts import ready
from harness import ROOT, Skip, equal, need, tool, until, witness
from servers import ClickHouse, Maria, Postgres, Relay

csv.field_size_limit(1 << 26)
SQL = ROOT / "share/ctp/sql"
VIEWS = re.findall(r"^CREATE VIEW (\w+)", (SQL / "views.sql").read_text(), re.M)
SCHEMA = (SQL / "schema.sqlite.sql").read_text()
TABLES = re.findall(r'^CREATE TABLE IF NOT EXISTS "(\w+)"', SCHEMA, re.M)
HISTORY = ("switches", "waits", "slices", "events")


def hold(case, tables, *words, trace="ctp.data", status=0, env=None):
    """ctp-analyze --export, which must end so."""
    done = case.run(case.analyze_tool, f"--export={tables}", *words, trace, env=env)
    equal(done.status, status, f"status of --export={tables}: {done}")
    equal(done.out, "", "on stdout")
    return done


def lost_trace(case):
    """A trace with findings, and a history."""
    process = ready(case, case.target("lost"), "n=3")
    until(lambda: len({line["coroutine"] for line in witness(case.dir / "ctp.data")}) == 3, "3 looks")
    os.kill(process.pid, 15)
    process.done()


# ------------------------------------------------------------------- asking

def plain(value):
    """A value as every target's reader gives it, after this."""
    if value is None or value == "\\N":
        return None
    if isinstance(value, (bytes, bytearray)):
        value = value.decode()
    if isinstance(value, bool):
        return int(value)
    text = str(value)
    return int(text) if re.fullmatch(r"-?\d+", text) and len(text) < 20 else text


def rows_of(rows):
    return sorted(([plain(v) for v in row] for row in rows), key=repr)


def ask_sqlite(path, query):
    with sqlite3.connect(path) as db:
        db.text_factory = lambda b: b.decode()
        return rows_of(db.execute(query).fetchall())


def load_csv(folder, path):
    """Files of CSV into a database, by Python's reader; what stands there unquoted and empty is null."""
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    for file in folder.glob("*.csv"):
        text = file.read_bytes().decode()
        need(text.endswith("\r\n") and "\n" not in re.sub('"(?:[^"]|"")*"', "", text.replace("\r\n", "")),
             f"{file.name}: lines do not end in CR LF")
        # the reader cannot tell "" from nothing: mark the quoted one
        marked = re.sub('(^|,)""(?=,|\r|$)', "\\1\"\x01\"", text, flags=re.M)
        lines = list(csv.reader(marked.splitlines(keepends=True)))
        head, body = lines[0], lines[1:]
        values = [[None if v == "" else "" if v == "\x01" else v for v in line] for line in body]
        db.executemany(f"INSERT INTO {file.stem} ({','.join(head)}) VALUES ({','.join('?' * len(head))})", values)
    db.commit()
    db.close()


def answers(ask):
    return {view: ask(f"SELECT * FROM {view}") for view in VIEWS}


def all_rows(ask, tables=TABLES):
    columns = {t: re.search(rf'"{t}" \((.*?)\n\)', SCHEMA, re.S)[1] for t in tables}
    names = {t: [n for n in re.findall(r'^  "(\w+)"', c, re.M) if n != "loaded_ns"] for t, c in columns.items()}
    quote = getattr(ask, "quote", '"')
    return {t: ask(f"SELECT {', '.join(quote + n + quote for n in names[t])} FROM {t}") for t in tables}


def same(got, want, what):
    for name in want:
        if got[name] != want[name]:
            only = [r for r in got[name] if r not in want[name]][:2], [r for r in want[name] if r not in got[name]][:2]
            equal(only, ([], []), f"{what}: {name}, {len(got[name])} rows for {len(want[name])}")
        equal(len(got[name]), len(want[name]), f"{what}: rows of {name}")


def check_counts(ask, report):
    """What is there says the same as the JSON report."""
    trace = report["trace"]
    one = ask("SELECT coroutines, created, suspended, running, finished, destroyed, switches, events, lost, threads, duration_ns, "
              "healthy_waiters, in_findings, healthy, parked, pooled, undecided, findings FROM traces")
    c, a = trace["coroutines"], report["accounting"]
    equal(one, [[c["total"], c["created"], c["suspended"], c["running"], c["finished"], c["destroyed"], trace["switches"],
                 trace["events"], trace["lost"], trace["threads"], trace["duration_ns"], trace["healthy_waiters"], a["in_findings"],
                 a["healthy"], a["parked"], a["pooled"], a["undecided"], len(report["findings"])]], "the row in traces")
    equal(ask("SELECT uuid FROM traces"), [[report["run"]["uuid"]]], "uuid")
    found = ask("SELECT rule, verdict, fingerprint, coroutines, message FROM findings")
    equal(found, rows_of((f["rule"], f["verdict"], f["fingerprint"], f["count"], f["message"]) for f in report["findings"]), "findings")
    members = ask("SELECT finding, coroutine, suspended_ns, changes FROM finding_coroutines")
    equal(members, rows_of((i + 1, m["id"], m["suspended_ns"], m["switches"])
                           for i, f in enumerate(report["findings"]) for m in f["coroutines"]), "their coroutines")
    proofs = ask("SELECT finding, proof, holds, text FROM evidence WHERE proof <> 'open'")
    equal(proofs, rows_of((i + 1, e["id"], e["holds"], e["text"]) for i, f in enumerate(report["findings"]) for e in f["evidence"]),
          "evidence")
    equal(ask("SELECT rule, n, message FROM facts"), rows_of((f["rule"], f["count"], f["message"]) for f in report["facts"]), "facts")
    if trace["lost"]:
        return
    states = dict(ask("SELECT state, count(*) FROM coroutines WHERE kind = 'coroutine' GROUP BY state"))
    equal(states, {k: n for k, n in c.items() if n and k != "total"}, "states of coroutines")
    equal(ask("SELECT count(*) FROM switches"), [[trace["switches"]]], "rows of switches")
    events = ask("SELECT count(*) FROM events")[0][0]
    equal(events + trace["switches"], trace["events"], "rows of events and switches")


# ----------------------------------------------------------------- the checks

def check_csv_and_sqlite(case):
    lost_trace(case)
    _, report = case.report()
    hold(case, "csv:out")
    hold(case, "sqlite:x.db")
    load_csv(case.dir / "out", case.dir / "csv.db")
    ask = lambda query: ask_sqlite(case.dir / "x.db", query)
    ask_csv = lambda query: ask_sqlite(case.dir / "csv.db", query)
    check_counts(ask, report)
    need(len(ask("SELECT * FROM findings_by_site")) == 1, "one finding")
    # the one file whose columns hold a time of the export is compared without that
    same(all_rows(ask_csv), all_rows(ask), "CSV beside SQLite")
    # two queries lead to the faulty line
    stack = ask("SELECT trace, closer_stack FROM findings WHERE rule = 'CTP001'")[0]
    line = ask(f"SELECT file, line FROM frames WHERE trace = {stack[0]} AND stack = {stack[1]} AND symbol = 'end_one' ORDER BY level")[0]
    want = [f for f in report["findings"][0]["closer_stack"] if f["symbol"] == "end_one"][0]
    equal(line, [want["file"], want["line"]], "the line that closed")


def check_twice(case):
    """What is there is not written twice; what is there with less is replaced."""
    lost_trace(case)
    ask = lambda query: ask_sqlite(case.dir / "x.db", query)
    hold(case, "sqlite:x.db", "--tables=findings,coroutines")
    equal(ask("SELECT count(*) FROM switches"), [[0]], "switches that nobody wanted")
    few = all_rows(ask, ["findings", "coroutines"])
    hold(case, "sqlite:x.db")
    need(ask("SELECT count(*) FROM switches") != [[0]], "no switches when all was wanted")
    same(all_rows(ask, ["findings", "coroutines"]), few, "replaced by more")
    all_ = all_rows(ask)
    for words in ([], ["--tables=findings"]):
        done = hold(case, "sqlite:x.db", *words)
        need("has this trace already: nothing was written" in done.err, done.err)
        same(all_rows(ask), all_, "twice")
    hold(case, "sqlite:x.db", "--label=deploy=blue", "--label=it's=\"quoted\"")
    equal(ask("SELECT labels FROM traces"), [['{"deploy":"blue","it\'s":"\\"quoted\\""}']], "labels")
    case.ctp("-o", "other", case.target("counts"), "basic")
    hold(case, "sqlite:x.db", trace="other")
    equal(ask("SELECT count(*) FROM traces"), [[2]], "two traces")
    done = hold(case, "csv:out")
    done = hold(case, "csv:out")  # its own export may be written anew
    done = hold(case, "csv:out", trace="other", status=2)
    need("holds the export of another trace" in done.err, done.err)


def check_stdout(case):
    case.ctp(case.target("counts"), "basic")
    report = case.report()[1]["trace"]
    out = case.run(case.analyze_tool, "--export=csv:-", "--table=switches", "ctp.data").out
    equal(len(out.splitlines()), report["switches"] + 1, "lines of switches")
    case.run("sh", "-c", f"{case.analyze_tool} --export=csv:z --compress ctp.data")
    packed = subprocess.run([tool("zstd"), "-dc", case.dir / "z/switches.csv.zst"], capture_output=True, check=True).stdout
    equal(len(packed.decode().splitlines()), len(out.splitlines()), "lines, packed")
    case.ctp("-o", "x.jsonl", case.target("counts"), "basic")
    hold(case, "csv:lines", trace="x.jsonl")
    lines = (case.dir / "lines/switches.csv").read_text().splitlines()
    equal(len(lines), report["switches"] + 1, "switches of JSON lines")


def check_refused(case):
    """One line, status 2, and nothing half."""
    case.ctp(case.target("counts"), "basic")
    (case.dir / "text").write_text("This is no database, but somebody's text.\n" * 40)
    full = pathlib_full(case)
    for words, part in ((["--export=sqlite:text"], "not a database"), (["--export=sqlite:none/x.db"], "unable to open"),
                        (["--export=csv:none/out"], "No such file"), (["--export=oracle:x"], "it takes csv:DIR"),
                        (["--export=csv:o", "--tables=nothing"], "there is no table 'nothing'"), (["--export=csv:-"], "--table="),
                        (["--export=csv:o", "--format=json"], "leave out"), (["--tables=findings"], "add that"),
                        *(([f"--export=csv:{full}/o"], "No space left"), ([f"--export=sqlite:{full}/x.db"], "full")) * bool(full)):
        done = case.run(case.analyze_tool, *words, "ctp.data")
        equal((done.status, done.out, len(done.err.splitlines())), (2, "", 1), f"{words}: {done}")
        need(part in done.err, f"{words}: {done.err}")
    need("somebody's" in (case.dir / "text").read_text(), "a text was written over")
    if full:
        equal(list((full / "o").iterdir()), [], "half an export")
        subprocess.run(["umount", full], check=True)


def loaded(case, tool_path, *words):
    """Which of our modules and the databases' libraries a command loads."""
    done = case.run(tool_path, *words, env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(case.dir / "loads")})
    [told] = case.dir.glob("loads.*")
    names = set(re.findall(r"calling init: \S*/(ctp-export-\w+|libsqlite3|libpq|libmariadb|libcurl)\.so", told.read_text()))
    need("calling init: " in told.read_text(), "the loader told nothing")
    told.unlink()
    return done, names


def check_modules(case):
    """A database's library is loaded for an export to it alone, by an installed ctp-analyze as well; what is not
    there any more is named."""
    if not (case.build / "build.ninja").exists():
        raise Skip("no build tree to install from")
    case.ctp(case.target("counts"), "basic")
    done = case.run(tool("meson"), "install", "-C", case.build, "--no-rebuild", "--destdir", case.dir / "root")
    equal(done.status, 0, f"{done}")
    [installed] = (case.dir / "root").rglob("bin/ctp-analyze")
    nowhere = "127.0.0.1:1/d"
    for words, names, status in ((["--version"], set(), 0), (["--export=csv:out", "ctp.data"], set(), 0),
                                 (["--export=sqlite:x.db", "ctp.data"], {"ctp-export-sqlite", "libsqlite3"}, 0),
                                 ([f"--export=postgresql://{nowhere}", "ctp.data"], {"ctp-export-postgresql", "libpq"}, 2),
                                 ([f"--export=mysql://{nowhere}", "ctp.data"], {"ctp-export-mariadb", "libmariadb"}, 2),
                                 ([f"--export=clickhouse://{nowhere}", "ctp.data"], {"ctp-export-clickhouse", "libcurl"}, 2),
                                 ([f"--fleet=clickhouse://{nowhere}", "lost_sites"], {"ctp-export-clickhouse", "libcurl"}, 2)):
        if not all((case.build / f"src/analyze/{name}.so").exists() for name in names if name.startswith("ctp-")):
            continue  # built without it
        done, got = loaded(case, installed, *words)
        equal((done.status, got), (status, names), f"{words}: {done}")
    for module in (case.dir / "root").rglob("ctp-export-sqlite.so"):
        module.unlink()
        done = case.run(installed, "--export=sqlite:y.db", "ctp.data")
        equal((done.status, done.err), (2, "ctp-analyze: cannot export to sqlite:y.db: ctp-export-sqlite.so is not where it "
                                           "was installed, nor beside ctp-analyze; reinstall\n"), "without the module")


def pathlib_full(case, size="64k", owner=0):
    """A file system of so many bytes, if one can be mounted here."""
    place = case.dir / "small"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},uid={owner},mode=755", "none", place], capture_output=True)
    return None if done.returncode else place


HOSTILE = "x'); DROP TABLE traces; --\"`\\\t\n,\\N\xff\x80".encode("latin-1")
PROGRAM = r"""
#include <ctp/task.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <ucontext.h>
#include <unistd.h>
static ucontext_t loop, task;
static char stack[65536];
static int set, ends[2];
void evil(void);
void evil(void) { swapcontext(&task, &loop); __asm__ volatile(""); }
void long_name(void) __asm__("LONG");
void long_name(void) { evil(); __asm__ volatile(""); }
static void run(void)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = &task};
	ctp_set_name("NAME");
	epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e);
	long_name();
}
int main(void)
{
	struct epoll_event e;
	set = epoll_create1(0);
	if (pipe(ends))
		return 1;
	getcontext(&task);
	task.uc_stack.ss_sp = stack;
	task.uc_stack.ss_size = sizeof(stack);
	makecontext(&task, run, 0);
	swapcontext(&loop, &task);
	close(ends[0]);
	puts("ready");
	fflush(stdout);
	epoll_wait(set, &e, 1, -1);
	return 0;
}
"""


def hostile_trace(case):
    """A program whose function names are what would harm whoever pastes them into SQL; one is a megabyte long."""
    name = "a" * (1 << 20)
    text = "".join(f"\\{b:03o}" for b in HOSTILE[:40])
    (case.dir / "evil.c").write_text(PROGRAM.replace("LONG", name).replace("NAME", text))
    for words in (["gcc", "-O0", f"-I{ROOT / 'include'}", "-c", "evil.c"], ["objcopy", b"--redefine-sym=evil=" + HOSTILE, "evil.o"],
                  ["gcc", "-o", "evil", "evil.o"]):
        done = subprocess.run(words, cwd=case.dir, capture_output=True)
        need(not done.returncode, f"{words[0]}: {done.stderr.decode(errors='replace')[-300:]}")
    process = ready(case, "-o", "evil.data", case.dir / "evil")
    os.kill(process.pid, 15)
    process.done()
    return name


def hostile_names(ask, name):
    want = re.sub("[\t\n\ufffd]", "?", HOSTILE.decode(errors="replace"))  # as in every report (base/text.c)
    symbols = {s for s, in ask("SELECT DISTINCT symbol FROM frames")}
    need(want in symbols, f"no {want!r} in {[s[:60] for s in symbols if s]}")
    need(name in symbols, f"the long name is not there: {sorted(len(s) for s in symbols if s)[-3:]}")
    names = [n for n, in ask("SELECT name FROM coroutines WHERE name IS NOT NULL")]
    need(len(names) == 1 and names[0].startswith("x'); DROP TABLE traces; --"), f"the name that the program gave: {names}")
    equal(ask("SELECT count(*) FROM traces"), [[1]], "traces")


def check_hostile(case):
    tool("gcc"), tool("objcopy")
    name = hostile_trace(case)
    hold(case, "sqlite:x.db", trace="evil.data")
    hold(case, "csv:out", trace="evil.data")
    load_csv(case.dir / "out", case.dir / "csv.db")
    hostile_names(lambda q: ask_sqlite(case.dir / "x.db", q), name)
    hostile_names(lambda q: ask_sqlite(case.dir / "csv.db", q), name)


CHECKS = [("csv, sqlite", check_csv_and_sqlite), ("twice", check_twice), ("stdout", check_stdout), ("refused", check_refused),
          ("hostile names", check_hostile)]


# ------------------------------------------------------------------- databases

def asks(server):
    """As ask_sqlite, of a server."""
    ask = lambda query: rows_of(server.ask(query))
    ask.quote = "`" if server.name == "mariadb" else '"'
    return ask


def check_server(case, kind):
    """The same as SQLite: rows, answers, counts; twice; hostile names; one that is killed in the middle."""
    lost_trace(case)
    _, report = case.report()
    hold(case, "sqlite:x.db")
    ask_lite = lambda query: ask_sqlite(case.dir / "x.db", query)
    server = kind(case)
    ask = asks(server)
    hold(case, server.url, "--tables=findings")
    equal(ask("SELECT count(*) FROM coroutines"), [[0]], "coroutines that nobody wanted")
    hold(case, server.url)
    until(lambda: ask("SELECT count(*) FROM findings") == [[len(report["findings"])]] and ask("SELECT count(*) FROM traces") == [[1]],
          "the replaced rows to go")
    check_counts(ask, report)
    compare(ask, ask_lite)
    done = hold(case, server.url)
    need("has this trace already: nothing was written" in done.err, done.err)
    compare(ask, ask_lite)
    hostile_trace(case)
    for url in ("sqlite:x.db", server.url):
        hold(case, url, "--label=quoted='\"\\", trace="evil.data")
    compare(ask, ask_lite)
    check_denied(case, server)
    check_killed(case, server, ask, ask_lite)


def compare(ask, ask_lite, rows=True):
    """Two targets, with the uuid of each trace instead of its id, which may be by chance."""
    def all_of(a):
        ids = {i: u for i, u in a("SELECT id, uuid FROM traces")}
        parts = {**(all_rows(a) if rows else {}), **answers(a)}
        return {name: rows_of([ids.get(v, v) for v in row] for row in got) for name, got in parts.items()}
    same(all_of(ask), all_of(ask_lite), "beside SQLite")


def check_denied(case, server):
    """Another database, and a password among the words: one line each, and no password in it."""
    nowhere = re.sub("/(postgres|ctp|default)", "/nowhere", server.url, count=1)
    secret = re.sub("://([a-z]*@)?", "://ctp:hunter2@", server.url, count=1)
    for url, part in ((nowhere, "nowhere"), (secret, "a password on the command line can be read by others")):
        done = hold(case, url, status=2)
        equal(len(done.err.splitlines()), 1, f"lines of {done}")
        need(part in done.err and "hunter2" not in done.err, done.err)
    (case.dir / "password").write_text("wrong\n")
    if server.name != "postgresql":  # that one trusts whoever comes by its socket
        done = hold(case, server.url, "--password-file=password", status=2)
        need(re.search("denied|password", done.err, re.I) and len(done.err.splitlines()) == 1, done.err)


def check_killed(case, server, ask, ask_lite):
    """The server dies in the middle: nothing of it counts, and again works."""
    case.ctp("-q", "-o", "many.data", case.target("million"), "switch", 100, 16384, 5000)
    done = hold(case, Relay(server, 1000000).url, trace="many.data", status=2)
    equal(len(done.err.splitlines()), 1, f"lines of {done}")
    server.start()
    equal(ask("SELECT count(*) FROM traces"), [[2]], "traces, of which one failed")
    compare(ask, ask_lite, rows=False)
    for url in ("sqlite:x.db", server.url):
        hold(case, url, trace="many.data")
    compare(ask, ask_lite, rows=server.name != "clickhouse")  # where rows of what failed stay, and do not count


def check_full_server(case):
    """A server whose disk is full: one line, nothing counts; with room again it works."""
    full = pathlib_full(case, size="2m", owner=65534)
    if not full:
        raise Skip("nothing can be mounted here")
    try:
        case.ctp("-q", "-o", "many.data", case.target("million"), "switch", 100, 16384, 15000)
        server = Postgres(case)
        server.ask(f"CREATE TABLESPACE small LOCATION '{full}'")
        server.ask("ALTER DATABASE postgres SET default_tablespace = small")
        done = hold(case, server.url, trace="many.data", status=2)
        equal(len(done.err.splitlines()), 1, f"lines of {done}")
        need("No space left" in done.err, done.err)
        subprocess.run(["mount", "-o", "remount,size=64m", full], check=True)
        hold(case, server.url, trace="many.data")
        hold(case, "sqlite:x.db", trace="many.data")
        compare(asks(server), lambda query: ask_sqlite(case.dir / "x.db", query))
        server.kill()
    finally:
        subprocess.run(["umount", "--lazy", full], check=True)


CHECKS += [("full_server", check_full_server), ("modules", check_modules)]
CHECKS += [(kind.name, lambda case, kind=kind: check_server(case, kind)) for kind in (Postgres, Maria, ClickHouse)]
