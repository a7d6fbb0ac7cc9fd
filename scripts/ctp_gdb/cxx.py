# SPDX-License-Identifier: MIT
"""A C++ name as reports have it (src/symbols/name.c): without parameters, a template's arguments and what it returns."""
import re

_OPERATOR = re.compile(r"(?:^|(?<=[ :]))operator(?![\w])(\(\)|[<>=!+\-*/%^&|~,\[\]]*)")


def _bracketed(name, at, opens, closes):
    """Where the brackets that begin here end; 0: they do not. An arrow's is none."""
    depth = 0
    for i in range(at, len(name)):
        depth += name[i] == opens
        if name[i] == closes and name[i - 1] != "-":
            depth -= 1
            if not depth:
                return i + 1
    return 0


def _without_parameters(name):
    """Up to the last top-level parentheses, with nothing but qualifiers behind them."""
    depth = 0
    for i in range(len(name) - 1, -1, -1):
        if name[i] == ")":
            depth += 1
        elif name[i] == "(" and depth:
            depth -= 1
            if not depth:
                return name if i == 0 or (name[i:] == "()" and name[:i].endswith("operator")) else name[:i]
        elif not depth and name[i] in ">:":
            return name
    return name


def short(whole):
    whole = re.sub(r" \[clone .*", "", whole)
    name = _without_parameters(whole)
    made, begins, at, operator = "", 0, 0, False
    while at < len(name):
        sign = _OPERATOR.match(name, at)
        if sign:
            made, at, operator = made + sign[0], sign.end(), True
            continue
        angle = name[at] == "<" and not name.startswith(("<lambda", "<unnamed"), at)
        round_ = name[at] == "("
        if angle or round_:
            end = _bracketed(name, at, *("<>" if angle else "()"))
            if not end:
                return name
            if round_ and name.startswith("(anonymous", at):
                made += name[at:end]
            elif not made.endswith("lambda"):
                made += "<>" if angle else "()"
            at = end
            continue
        made, at = made + name[at], at + 1
        if made[-1] == " " and not operator:
            begins = len(made)
    return made[begins:] or name
