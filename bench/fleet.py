#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a fleet out of one real trace, in a ClickHouse that has it: fleet.py URL HOSTS [PER_HOST [HISTORIES]].

URL is http://127.0.0.1:8123/?database=d. The rows of the newest trace there are written again for each host, with another
host name, day (the last 28) and, on days more than a week ago, another build id. Times and labels are so made up; all else
is as it was recorded. Of findings and traces there are PER_HOST for each host, of all else HISTORIES. Inside the server, by
INSERT ... SELECT."""
import sys
import time
import urllib.error
import urllib.request

SHIFT = 1 << 38
DAY_NS = 86400 * 10**9
TABLES = ("switches", "waits", "slices", "events", "findings", "finding_coroutines", "evidence", "timelines", "facts", "coroutines", "sites",
          "histograms", "stacks", "frames", "descriptors", "traces")
MANY = ("findings", "finding_coroutines", "traces")


def ask(url, query):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, query.encode()), timeout=3600) as answer:
            return [line.split("\t") for line in answer.read().decode().split("\n")[:-1]]
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{query}: {error.read().decode()[:500]}") from None


def columns(url, table):
    return [line[0] for line in ask(url, f"DESCRIBE TABLE {table}")]


def multiply(url, hosts, per_host=1, histories=1, old_build="0ld"):
    """Rows of each table that are there then."""
    trace = ask(url, "SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1")[0][0]
    shown = {"trace": f"trace - (host_number % 28) * {SHIFT} + 1 + host_number", "id": f"id - (host_number % 28) * {SHIFT} + 1 + host_number",
             "host": f"concat('host-', toString(host_number % {hosts}))", "uuid": "concat(substring(uuid, 1, 24), lower(hex(toUInt32(host_number))), '0000')",
             "started_ns": f"started_ns - (host_number % 28) * {DAY_NS}", "ended_ns": f"ended_ns - (host_number % 28) * {DAY_NS}",
             "build_id": f"if(host_number % 28 > 7, '{old_build}', build_id)"}
    written = {}
    for table in TABLES:
        of = {k: v for k, v in shown.items() if k != ("id" if table != "traces" else "trace")}
        names = columns(url, table)
        values = ", ".join(f"toInt64({of[n]})" if n in ("trace", "id", "started_ns", "ended_ns") and n in of else of.get(n, f'"{n}"') for n in names)
        quoted = ", ".join(f'"{n}"' for n in names)
        key = "id" if table == "traces" else "trace"
        ask(url, f"INSERT INTO {table} ({quoted}) SELECT {values} FROM (SELECT * FROM {table} WHERE {key} = {trace}) "
                 f"CROSS JOIN (SELECT number AS host_number FROM system.numbers LIMIT {hosts * (per_host if table in MANY else histories)})")
        written[table] = int(ask(url, f"SELECT count() FROM {table}")[0][0])
    return written


if __name__ == "__main__":
    begun = time.monotonic()
    for name, n in multiply(sys.argv[1], *map(int, sys.argv[2:5])).items():
        print(f"{name}\t{n}")
    print(f"{time.monotonic() - begun:.1f} s", file=sys.stderr)
