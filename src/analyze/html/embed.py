#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the page of the HTML report, but for its data: embed.py OUT.c TEMPLATE ASSET...

`{{name}}` in the template is the asset of that file name; `{{scripts}}` are all *.js but d3's,
in the order given; `{{policy}}` allows exactly the style and the scripts that are there, by their
hashes; and where `{{run}}` and `{{data}}` stand the page is parted. The result is C.
"""
import base64
import hashlib
import pathlib
import re
import sys


def allowed(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def literal(name, text):
    out = [f"const char {name}[] ="]
    for line in text.splitlines(keepends=True):
        for i in range(0, len(line), 2000):
            piece = line[i:i + 2000].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("?", "\\?")
            out.append('\t"' + re.sub(r"[^\x20-\x7e]", lambda m: "".join(f"\\{b:03o}" for b in m[0].encode()), piece) + '"')
    return "\n".join(out) + ";\n"


def main():
    out, template, *assets = (pathlib.Path(p) for p in sys.argv[1:] if p != sys.argv[0])
    texts = {p.name: p.read_text(encoding="utf-8") for p in assets}
    own = "".join(t for name, t in texts.items() if name.endswith(".js") and not name.startswith("d3"))
    parts = {name.split(".")[0] if name.startswith("d3.") and name.endswith(".js") else name: t for name, t in texts.items()}
    version = re.match(r"// https://d3js.org v(\d+)", parts["d3"])
    if not version or int(version[1]) < 5:
        sys.exit("embed.py: that is not D3, version 5 or later")
    parts["scripts"] = '"use strict";\n(function () {\n' + own + "})();\n"
    for name in ("d3", "scripts", "report.css"):
        if re.search(r"</(script|style)|<!--", parts[name], re.I):
            sys.exit(f"embed.py: {name} would end its own element")
    parts["policy"] = (f"default-src 'none'; img-src data:; style-src {allowed(parts['report.css'])}; "
                       f"script-src {allowed(parts['d3'])} {allowed(parts['scripts'])}; base-uri 'none'; form-action 'none'")
    before, rest = template.read_text(encoding="utf-8").split("{{run}}")
    between, after = rest.split("{{data}}")
    fill = lambda text: re.sub(r"\{\{([\w.]+)\}\}", lambda m: parts[m[1]], text)
    out.write_text("// Made by embed.py.\n#include \"analyze/format/html.h\"\n\n" + literal("html_before", fill(before)) +
                   literal("html_between", fill(between)) + literal("html_after", fill(after)), encoding="utf-8")


main()
