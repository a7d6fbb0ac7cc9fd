# SPDX-License-Identifier: MIT
"""What ctp adds to a program's start and to its end."""
import itertools
import shutil

from figures import Missing, Row, missing, paired, peer, told
from stand import tool


def stamped(stand, words):
    """Milliseconds from the start of the command to main, and from main's end to the end of the command."""
    process = stand.start(*words, stand.program("bench-stamp", source="stamp.c"))
    done = process.done()
    first, last = (int(x) * 1e-9 for x in done.out.split())
    return 1000 * (first - process.began), 1000 * (process.began + done.seconds - last)


def uftrace(stand):
    out = stand.dir / "uftrace"
    try:
        return 1000 * stand.run(tool("uftrace"), "record", "--force", "-d", out, "/bin/true").seconds
    finally:
        shutil.rmtree(out, ignore_errors=True)


def start(stand):
    """Start and end"""
    rounds, numbers = stand.size(30, 4), itertools.count()
    # Each run has a trace of its own, which stays until the end: ext4 searches longer for an inode where many were freed
    # in the last seconds (the kernel's recently_deleted()).
    ctp = lambda: stand.ctp("-q", trace=stand.dir / f"start{next(numbers)}")
    whole = lambda *words: 1000 * stand.run(*words, "/bin/true").seconds
    runs = stand.side_by_side({"bare": whole, "ctp": lambda: whole(*ctp()), "uftrace": lambda: uftrace(stand),
                               "strace": lambda: whole(tool("strace"), "-f", "-o", "/dev/null")}, rounds)
    tell = lambda values: told(paired(runs["bare"], values)[0], "ms", plus=True)
    others = [peer(name, values, tell) for name, values in runs.items() if name not in ("bare", "ctp")]
    if isinstance(runs["ctp"], Missing):
        return [missing("/bin/true", runs["ctp"], "at most +2 ms")]
    added, _ = paired(runs["bare"], runs["ctp"])
    rows = [Row("/bin/true, from start to end", told(added, "ms", plus=True), told(runs["bare"], "ms"), "; ".join(others),
                "at most +2 ms", added, 2)]
    both = stand.side_by_side({"bare": lambda: stamped(stand, []), "ctp": lambda: stamped(stand, ctp())}, rounds)
    for i, what in enumerate(("the start of a program with a coroutine, up to main", "its end, from main's return")):
        bad = next((v for v in both.values() if isinstance(v, Missing)), None)
        if bad:
            rows.append(missing(what, bad))
            continue
        bare, ours = ([x[i] for x in both[name]] for name in ("bare", "ctp"))
        added, _ = paired(bare, ours)
        rows.append(Row(what, told(added, "ms", plus=True), told(bare, "ms")))
    return rows


MEASURES = [start]
