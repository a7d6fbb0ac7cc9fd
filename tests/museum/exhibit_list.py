# SPDX-License-Identifier: MIT
"""The exhibits by rule, as docs/museum.md lists them: made of the exhibits' own headers."""
import re
import textwrap

import exhibit as exhibits
from harness import ROOT

PAGE = ROOT / "docs/museum.md"
HEAD = "## The exhibits"
WIDTH = 158
NOTHING = "nothing"
WORDS = {"none": NOTHING, "proven": "PROVEN", "likely": "LIKELY", "suspect": "SUSPECT", "inconclusive": "INCONCLUSIVE"}


def titles():
    """Of rules, as the passes have them."""
    numbers = dict(re.findall(r"X\((\w+), (\d{3})\)", (ROOT / "src/ctp/rules.h").read_text()))
    found = {}
    for source in sorted((ROOT / "src/analyze/pass").glob("pass_*.c")):
        said = re.search(r"\.rule = rules_id\[RULE_(\w+)\],\s*\.title = \"(.*)\"", source.read_text())
        if said:
            found["CTP" + numbers[said[1]]] = said[2]
    return found


def said_of(exhibit):
    """What ctp says of it, of its own rule first."""
    findings = [f for f in exhibit.findings if f.rule == exhibit.rule] or exhibit.findings
    if not findings:
        return "a fact" if exhibit.facts else NOTHING
    f = findings[0]
    low = "none" if f.low == exhibits.NONE else exhibits.VERDICTS[f.low]
    high = exhibits.VERDICTS[f.high]
    return WORDS[low] if low == high else f"{WORDS[low]} or at most {WORDS[high]}" if low == "none" else f"{WORDS[low]} to {WORDS[high]}"


def listed():
    """{rule: {what ctp says: [name]}} of every program, in its first engine, without its order."""
    rules = {}
    for source in sorted(exhibits.HERE.glob("*.c")):
        if re.match(r"ctp\d|ok\d|real_", source.name):
            e = exhibits.parse(source)[0]
            rules.setdefault(e.rule, {}).setdefault(said_of(e), []).append(source.stem)
    return rules


def text():
    """The list, from its heading to the page's end."""
    names, rules = titles(), listed()
    order = ["PROVEN", "LIKELY", "SUSPECT"]
    out = [HEAD, "", "By rule, with what ctp says of each: `ctp*` has the fault, `ok*` looks like it, `real_*` re-creates a fault that somebody",
           "reported. Each says in its first lines what it is."]
    for rule in sorted(rules):
        out += ["", f"**{rule} {names.get(rule, '')}**".replace(" **", "**") if rule != "none" else "**Of no rule**", ""]
        said = rules[rule]
        for word in sorted(said, key=lambda w: (order.index(w) if w in order else len(order) + (w == NOTHING), w)):
            line = f"- {word}: " + ", ".join(f"`{name}`" for name in said[word])
            out += textwrap.wrap(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(out) + "\n"


def without(page):
    """The page's text up to the list."""
    return page.split(HEAD)[0]


def write():
    PAGE.write_text(without(PAGE.read_text()) + text())
