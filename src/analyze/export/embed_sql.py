#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the views and the fleet's queries of share/ctp/sql C: embed_sql.py OUT.c FILE..."""
import pathlib
import sys



def literal(lines):
    return "".join('\n\t"' + x.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for x in lines if x)


out, *files = sys.argv[1:]
parts = ['// Made by embed_sql.py.\n#include "analyze/export/fleet.h"\n\nextern const char sql_views[], sql_views_clickhouse[];\n']
fleet = []
for path in sorted(map(pathlib.Path, files)):
    lines = path.read_text(encoding="utf-8").splitlines()
    text = literal(x.split("--")[0].rstrip() for x in lines)
    if path.parent.name == "fleet":
        fleet.append(f"\t{{\"{path.stem}\",{literal([lines[1][3:]])[:-3]}\",{text}}},\n")
    else:
        parts.append(f"const char sql_{path.stem.replace('.', '_')}[] ={text};\n")
parts.append("const struct fleet_query fleet_queries[] = {\n" + "".join(fleet) + "\t{0},\n};\n")
pathlib.Path(out).write_text("\n".join(parts), encoding="utf-8")
