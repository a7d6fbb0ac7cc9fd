# SPDX-License-Identifier: MIT
"""What a recorded switch costs, by swapcontext and by Boost.Context, with few coroutines and many."""
import peers
from figures import Missing, Row, median, missing, paired, told
from stand import available_bytes, closing

GOALS = {"ucontext": {1: 10, 100: 10, 10000: 10}, "fcontext": {1: 8, 100: 10, 10000: 15}}
MANY = 1000000  # from which on it takes long, and only ours is measured
MILLION_BYTES = 14 << 30  # of memory, for 1,000,000 stacks and what we keep of them
SLOW = {"uprobe (perf)": 50, "uftrace": 5}  # how much less work they are given


def counts(stand):
    return stand.size((1, 100, 10000, 1000000), (1, 100))


def ways(stand, kind, n, switches, lost):
    """name -> one run; all give the ns of a switch. `lost`: name -> the shares of records that were not kept."""
    words = ["-lboost_context"] if kind == "fcontext" else []
    source = "switch" if kind == "ucontext" else "fcontext"
    program = [stand.program(f"bench-{source}", *words, source=f"{source}.c"), n]
    number = lambda done: float(done.out.split()[-1])
    few = lambda name: max(2 * n, switches // SLOW[name])

    def other(suffix, *extra):
        return [stand.program(f"bench-{source}-{suffix}", *extra, *words, source=f"{source}.c"), n]

    def ctp():
        done = stand.run(*stand.ctp(), *program, switches)
        made, _, dropped = closing(done)
        lost["ctp"].append(dropped / made)
        return number(done)

    def lttng():
        done, dropped = peers.lttng(stand, [*other("lttng", *peers.lttng_words()), switches])
        lost["LTTng-UST"].append(dropped / (switches + 2 * n))
        return number(done)

    found = {"bare": lambda: number(stand.run(*program, switches)), "ctp": ctp}
    if n >= MANY:
        return found
    found |= {"version-1 slots": lambda: number(peers.version1(stand, [*program, switches], n)), "LTTng-UST": lttng,
              "uftrace": lambda: number(peers.uftrace(stand, [*other("uftrace", "-DFUNCTIONS", "-finstrument-functions"),
                                                              few("uftrace")]))}
    if n <= 100 and kind == "ucontext":
        found["uprobe (perf)"] = lambda: number(peers.uprobe(stand, [*program, few("uprobe (perf)")]))
    return found


def row(stand, kind, n):
    limit = GOALS[kind].get(n)
    goal = f"at most +{limit} ns" if limit else ""
    what = f"a switch by {'swapcontext' if kind == 'ucontext' else 'Boost.Context'}, {n:,} coroutine{'s' * (n > 1)}"
    if n >= MANY and available_bytes() < MILLION_BYTES:
        return missing(what, f"it takes {MILLION_BYTES >> 30} GiB of free memory", goal)
    switches = 4 * n if n >= MANY else stand.size(4000000 if kind == "ucontext" else 20000000, 200000)
    lost = {"ctp": [], "LTTng-UST": []}
    try:
        runs = stand.side_by_side(ways(stand, kind, n, switches, lost), rounds=stand.few if n >= MANY else None)
        for name in ("bare", "ctp"):
            if isinstance(runs[name], Missing):
                raise runs[name]
    except Missing as why:
        return missing(what, why, goal)
    bare, added, others = runs.pop("bare"), None, []
    dropped = lambda name: f" with {100 * median(lost[name]):.2g} % lost" if any(lost.get(name, ())) else ""
    for name, values in runs.items():
        if isinstance(values, Missing):
            others.append(f"{name}: not measured: {values}")
            continue
        differences, ratios = paired(bare, values)
        stand.points.setdefault("cost", {}).setdefault(f"{name}, {kind}", []).append((n, median(differences)))
        if name == "ctp":
            added, ratio = differences, median(ratios)
        else:
            others.append(f"{name} {told(differences, 'ns', plus=True)}{dropped(name)}")
    return Row(what, f"{told(added, 'ns', plus=True)}, x{ratio:.2f}{dropped('ctp')}", told(bare, "ns"), "; ".join(others), goal,
               median(added), limit)


def switch_ucontext(stand):
    """Switches by swapcontext"""
    return [row(stand, "ucontext", n) for n in counts(stand)]


def switch_fcontext(stand):
    """Switches by Boost.Context"""
    return [row(stand, "fcontext", n) for n in counts(stand)]


MEASURES = [switch_ucontext, switch_fcontext]
