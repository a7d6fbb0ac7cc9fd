# SPDX-License-Identifier: MIT
"""The shipped queries over a fleet that is made out of one real trace, and what a row takes on disk."""
import pathlib
import signal
import sys
import time

from figures import Missing, Row, missing, short, told

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/e2e"))
import fleet  # noqa: E402
import harness  # noqa: E402
import servers  # noqa: E402

QUERIES = ("lost_sites", "new_since_deploy", "regressions", "coroutine_leaks", "coverage")


def asked(stand, url, query):
    began = time.monotonic()
    stand.run(stand.analyze_tool, f"--fleet={url}", query)
    return time.monotonic() - began


def demo_trace(stand):
    """The demo server's, which has hung: 20,000 switches and a finding."""
    trace, demo = stand.dir / "demo.data", stand.build / "tests/demo"
    process = stand.start(*stand.ctp(trace=trace), demo / "demo-server")
    port = process.wait_for("listening on ").rpartition(":")[2]
    stand.run(demo / "demo-client", port)
    process.wait_for("0 requests/s, 47 connections open")
    process.popen.send_signal(signal.SIGINT)
    process.done(good=(0, -signal.SIGINT))
    return trace


def make(stand, server):
    """Rows of each table: 1,000 hosts, each with 1,000 findings and five histories of the demo's."""
    stand.run(stand.analyze_tool, f"--export={server.url}", demo_trace(stand))
    hosts = stand.size(1000, 20)
    return fleet.multiply(f"http://127.0.0.1:{server.http}/?database=default", hosts, per_host=hosts, histories=stand.size(5, 1))


def sizes(server, rows):
    on_disk = {table: int(n) for table, n in server.ask(
        "SELECT table, sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'default' GROUP BY table")}
    for table in ("switches", "waits", "slices", "findings", "sites", "histograms"):
        yield Row(f"bytes on disk for a row of {table}", f"{on_disk[table] / rows[table]:.1f}", "", f"{short(rows[table])} rows")


def queries(stand):
    """The fleet's questions"""
    case = harness.Case("bench", stand.build)
    try:
        server = servers.ClickHouse(case)
        rows = make(stand, server)
        among = f"{short(rows['switches'])} switches, {short(rows['findings'])} findings"
        found = []
        for query in QUERIES:
            seconds = [asked(stand, server.url, query) for _ in range(stand.few)]
            found.append(Row(f"{query}, among {among}", told(seconds, "s"), "", "", "at most 1 s", seconds, 1.0))
        return found + list(sizes(server, rows))
    except (Missing, harness.Skip, harness.Failed, OSError) as why:
        return [missing(queries.__doc__, why)]
    finally:
        case.close()


MEASURES = [queries]
