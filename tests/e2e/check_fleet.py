# SPDX-License-Identifier: MIT
"""--fleet: the shipped queries on a real ClickHouse, with the traces of many hosts (bench/fleet.py makes them of one), and on two
servers with Distributed tables over them."""
import json
import os
import re
import sys

from check_export import ask_sqlite, hold, lost_trace
from harness import ROOT, equal, need, tool
from servers import ClickHouse

sys.path.append(str(ROOT / "bench"))
import fleet as made  # noqa: E402

QUERIES = sorted(p.stem for p in (ROOT / "share/ctp/sql/fleet").glob("*.sql"))
HOSTS = 56
CLUSTER = """<remote_servers><both><shard><replica><host>127.0.0.1</host><port>{mine}</port></replica></shard>
<shard><replica><host>127.0.0.1</host><port>{other}</port></replica></shard></both></remote_servers>"""


def fleet(case, url, query):
    done = case.run(case.analyze_tool, f"--fleet={url}", "--format=json", query)
    equal((done.status, done.err), (0, ""), f"status of {query}: {done}")
    answer = json.loads(done.out)
    equal((answer["version"], answer["query"]), (1, query), "what was asked")
    return answer["rows"]


def http(server, database="default"):
    return f"http://127.0.0.1:{server.http}/?database={database}"


def check_queries(case):
    """What is known of the fleet comes out; two servers give the same as one."""
    lost_trace(case)
    servers = [ClickHouse(case), ClickHouse(case)]
    one, two = servers
    hold(case, one.url)
    trace = one.ask("SELECT * FROM traces")[0]
    made.multiply(http(one), HOSTS)
    share_out(one, two)
    sites = fleet(case, one.url, "lost_sites")
    equal(len(sites), 1, "sites that lose wakeups")
    # the one real host, and those that were made; three coroutines each
    equal((sites[0]["hosts"], sites[0]["traces"], sites[0]["lost"], sites[0]["first_build"]), (HOSTS + 1, HOSTS + 1, 3 * HOSTS + 3, "0ld"),
          "where wakeups are lost")
    need(sites[0]["at"] and sites[0]["source_line"], sites[0])
    equal(fleet(case, one.url, "new_since_deploy"), [], "new since the deploy: the older build had it")
    equal(fleet(case, one.url, "regressions"), [], "regressions, of so few samples")
    leaks = fleet(case, one.url, "coroutine_leaks")
    need(leaks and leaks[0]["hosts"] > 1 and leaks[0]["left_over"] % 3 == 0, leaks)
    equal(fleet(case, one.url, "coverage"), [], "hosts that lost records")
    one.ask("INSERT INTO traces SELECT " + ", ".join({"host": "'h9'", "uuid": "'another'", "lost": "7", "id": "id + 5000"}.get(n, f'"{n}"')
            for n in made.columns(http(one), "traces")) + f" FROM traces WHERE id = {trace[0]}")
    equal([(r["host"], r["lost_records"]) for r in fleet(case, one.url, "coverage")], [("h9", 7)], "hosts that lost records")
    check_new(case, one, trace)
    text = case.run(case.analyze_tool, f"--fleet={one.url}", "lost_sites").out.splitlines()
    need(text[0].endswith("?") and text[2].split()[:2] == ["rule", "at"] and text[3].startswith("CTP001"), text)
    check_distributed(case, one, two)


def check_new(case, one, trace):
    """A finding that only the newest build has, and a place that became slower with it."""
    names = made.columns(http(one), "findings")
    values = ", ".join({"fingerprint": "'f00d'", "id": "id + 100"}.get(n, f'"{n}"') for n in names)
    one.ask(f"INSERT INTO findings SELECT {values} FROM findings WHERE trace = {trace[0]}")
    equal([(r["fingerprint"], r["hosts"]) for r in fleet(case, one.url, "new_since_deploy")], [("f00d", 1)], "new since the deploy")
    for place, slow in (("slower", 8388608), ("as_before", 1310720)):
        one.ask("INSERT INTO histograms (trace, stack, measure, le_ns, site, n) SELECT id, 1, 'latency', "
                f"if(build_id = '0ld', 1048576, {slow}), '{place}', 1000 FROM traces")
    equal([(r["measure"], r["site"], r["newest_p99_ms"], r["older_p99_ms"]) for r in fleet(case, one.url, "regressions")],
          [("latency", "slower", 8.389, 1.049)], "what became slower")


def share_out(one, two):
    """The second server gets tables, and no rows yet."""
    for kind in ("schema",):
        for statement in (ROOT / f"share/ctp/sql/{kind}.clickhouse.sql").read_text().split(";\n"):
            if "CREATE" in statement:
                two.ask(statement)


def check_distributed(case, one, two):
    want = {q: fleet(case, one.url, q) for q in QUERIES}
    for server, other in ((one, two), (two, one)):
        server.more = CLUSTER.format(mine=server.tcp, other=other.tcp)
    # half of the traces go to the second server
    tables = [t for t, in one.ask("SELECT name FROM system.tables WHERE database = 'default' AND engine = 'MergeTree'")]
    for server in (one, two):
        server.kill()
        server.start()
    for table in tables:
        key = "id" if table == "traces" else "trace"
        names = ", ".join(f'"{n}"' for n in made.columns(http(one), table))
        two.ask(f"INSERT INTO {table} ({names}) SELECT {names} FROM remote('127.0.0.1:{one.tcp}', 'default', '{table}') WHERE {key} % 2 = 1")
        one.ask(f"CREATE TABLE kept_{table} AS {table}")
        one.ask(f"INSERT INTO kept_{table} ({names}) SELECT {names} FROM {table} WHERE {key} % 2 = 0")
        one.ask(f"DROP TABLE {table}")
        one.ask(f"RENAME TABLE kept_{table} TO {table}")
    one.ask("CREATE DATABASE fleet")
    for table in tables:
        one.ask(f"CREATE TABLE fleet.{table} AS default.{table} ENGINE = Distributed(both, default, {table})")
    url = one.url.replace("/default", "/fleet")
    for query in QUERIES:
        equal(fleet(case, url, query), want[query], f"{query} over two servers")
    counts = [s.ask("SELECT count() FROM findings")[0][0] for s in (one, two)]
    need(all(int(n) > 5 for n in counts), f"findings of the two servers: {counts}")


def check_refused(case):
    for words, part in ((["--fleet=sqlite:x", "coverage"], "it takes clickhouse://"), (["--fleet=clickhouse://127.0.0.1:1/d", "nothing"], "there is no query"),
                        (["--fleet=clickhouse://127.0.0.1:1/d"], "the queries are " + ", ".join(QUERIES)),
                        (["--fleet=clickhouse://127.0.0.1:1/d", "coverage"], "refused|connect"), (["--fleet=clickhouse://h/d", "--export=csv:x"], "leave out")):
        done = case.run(case.analyze_tool, *words)
        equal((done.status, done.out, len(done.err.splitlines())), (2, "", 1), f"{words}: {done}")
        need(re.search(part, done.err), f"{words}: {done.err}")


def push(case, *words):
    return case.run(ROOT / "scripts/ctp-push", *words, env={"CTP_ANALYZE": str(case.analyze_tool)})


def check_spool(case):
    """Traces wait while the server is away, the oldest go first where they take too much, and arrive once it is there."""
    spool = case.dir / "spool"
    spool.mkdir()
    for i in range(3):
        case.ctp("-q", "-o", spool / f"t{i}", case.target("counts"), "basic")
        os.utime(spool / f"t{i}/ctp/trace.json", (1000 + i, 1000 + i))
    (spool / "notes").mkdir()
    (spool / "t0/ballast").write_bytes(bytes(4 << 20))
    away = f"sqlite:{case.dir}/away/x.db"
    done = push(case, away, spool, "1000", "--label=a=b")
    equal((done.status, sorted(p.name for p in spool.iterdir() if p.name[0] != ".")), (1, ["notes", "t0", "t1", "t2"]), "while it is away")
    done = push(case, away, spool, "3")
    equal(sorted(p.name for p in spool.iterdir() if p.name[0] != "."), ["notes", "t1", "t2"], "with too much in it")
    need("1 traces were removed, 1 in all" in done.err and (spool / ".dropped").read_text() == "1\n", done)
    (case.dir / "away").mkdir()
    done = push(case, away, spool, "1000", "--label=a=b")
    equal((done.status, sorted(p.name for p in spool.iterdir() if p.name[0] != ".")), (0, ["notes"]), f"when it is there: {done}")
    equal(ask_sqlite(case.dir / "away/x.db", "SELECT count(*), min(labels) FROM traces"), [[2, '{"a":"b"}']], "what has arrived")
    equal(push(case, away, case.dir / "none").status, 2, "without a spool")


def check_units(case):
    analyze = tool("systemd-analyze")
    for path in (ROOT / "share/ctp/systemd").glob("ctp-push.*"):
        text = path.read_text().replace("@bindir@", str(ROOT / "scripts")).replace("@docdir@", str(ROOT))
        (case.dir / path.name.removesuffix(".in")).write_text(text)
    units = [case.dir / f"ctp-push.{kind}" for kind in ("service", "path", "timer")]
    done = case.run(analyze, "verify", "--man=no", *units)
    ours = [line for line in (done.out + done.err).splitlines() if "ctp-push" in line]
    equal((ours, done.status), ([], 0), f"what systemd says: {done}")


CHECKS = [("queries", check_queries), ("spool", check_spool), ("units", check_units), ("refused", check_refused)]
