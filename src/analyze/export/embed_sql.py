#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the views of share/ctp/sql C: embed_sql.py OUT.c FILE... ; views.sql becomes sql_views."""
import pathlib
import sys

out, *files = sys.argv[1:]
parts = ["// Made by embed_sql.py.\nextern const char sql_views[], sql_views_clickhouse[];\n"]
for path in map(pathlib.Path, files):
    lines = [x.split("--")[0].rstrip() for x in path.read_text(encoding="utf-8").splitlines()]
    text = "".join('\n\t"' + x.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for x in lines if x)
    parts.append(f"const char sql_{path.stem.replace('.', '_')}[] ={text};\n")
pathlib.Path(out).write_text("\n".join(parts), encoding="utf-8")
