# SPDX-License-Identifier: MIT
"""Rows of switches a second that --export writes, each beside the target's own bulk load of the same rows."""
import pathlib
import sys
import time
import urllib.request

from figures import Missing, Row, median, missing, short
from stand import tool

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
import harness  # noqa: E402
import servers  # noqa: E402

TABLES = "--tables=switches"
GOALS = {"csv": 10e6, "sqlite": 1.5e6, "postgresql": 1e6, "mariadb": 0.5e6, "clickhouse": 3e6}


def timed(run):
    began = time.monotonic()
    run()
    return time.monotonic() - began


def export(stand, target):
    stand.run(stand.analyze_tool, f"--export={target}", TABLES, stand.kept["export"])


def own_limits(stand, rows_csv):
    """What the same rows take by each target's own way in: name -> function of a server."""
    rows_tsv = stand.dir / "rows.tsv"
    text = rows_csv.read_text().replace("\r\n", "\n").partition("\n")[2]
    rows_tsv.write_text("\n".join("\t".join(v or "\\N" for v in x.split(",")) for x in text.splitlines()) + "\n")

    def sqlite(_):
        path = stand.dir / "own.db"
        path.unlink(missing_ok=True)
        schema = pathlib.Path(__file__).resolve().parents[2] / "share/ctp/sql/schema.sqlite.sql"
        stand.run(tool("sqlite3"), path, f".read {schema}")
        stand.run(tool("sqlite3"), path, f".import --csv --skip 1 {rows_csv} switches")

    def postgresql(server):
        server.ask("TRUNCATE switches")
        stand.run(tool("psql"), "-q", server.url, "-c", f"\\copy switches from '{rows_tsv}'")

    def mariadb(server):
        server.ask("TRUNCATE switches")
        stand.run(tool("mariadb"), "--no-defaults", f"--socket={server.socket}", "-uroot", "--local-infile=1", "ctp", "-e",
                  f"LOAD DATA LOCAL INFILE '{rows_tsv}' INTO TABLE switches")

    def clickhouse(server):
        url = f"http://127.0.0.1:{server.http}/?query=INSERT%20INTO%20switches%20FORMAT%20TabSeparated"
        with open(rows_tsv, "rb") as data:
            request = urllib.request.Request(url, data, headers={"Content-Length": str(rows_tsv.stat().st_size)})
            urllib.request.urlopen(request, timeout=600).read()
    return {"sqlite": sqlite, "postgresql": postgresql, "mariadb": mariadb, "clickhouse": clickhouse}


def row(name, n, ours, theirs):
    rates = [n / s for s in ours]
    beside = median([n / s for s in theirs]) if theirs else None
    share = f"{median(rates) / beside:.2f} of the target's own bulk load" if beside else ""
    return Row(f"rows of switches exported to {name} a second", f"{short(median(rates))}/s", f"{short(beside)}/s" if beside else "", share,
               f"{short(GOALS[name])}/s, and half of its own", rates, GOALS[name], least=True)


def exports(stand):
    """Rows exported a second"""
    n = stand.size(3000000, 10000)
    stand.kept["export"] = stand.dir / "kept.data"
    stand.run(*stand.ctp(trace=stand.kept["export"]), stand.build / "tests/targets/t-million", "switch", 100, 16384, n // 2)
    export(stand, f"csv:{stand.dir}/rows")
    rows_csv = stand.dir / "rows/switches.csv"
    n = sum(1 for _ in open(rows_csv, "rb")) - 1
    limits = own_limits(stand, rows_csv)
    found = [row("csv", n, [timed(lambda: export(stand, f"csv:{stand.dir}/rows")) for _ in range(stand.few)], [])]
    for name, kind in (("sqlite", None), ("postgresql", servers.Postgres), ("mariadb", servers.Maria), ("clickhouse", servers.ClickHouse)):
        case = harness.Case("bench", stand.build)
        try:
            server = kind(case) if kind else None
            ours, theirs = [], []
            for _ in range(stand.few):
                if server and ours:
                    server.ask("TRUNCATE TABLE traces" if name == "clickhouse" else "DELETE FROM traces")
                    server.ask("TRUNCATE TABLE switches")
                (stand.dir / "own.db").unlink(missing_ok=True)
                ours.append(timed(lambda: export(stand, server.url if server else f"sqlite:{stand.dir}/own.db")))
                theirs.append(timed(lambda: limits[name](server)))
            found.append(row(name, n, ours, theirs))
        except (Missing, harness.Skip, harness.Failed, OSError) as why:
            found.append(missing(f"rows of switches exported to {name} a second", why))
        finally:
            case.close()
    return found


MEASURES = [exports]
