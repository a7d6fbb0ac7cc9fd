# SPDX-License-Identifier: MIT
"""What a recorded switch costs, by swapcontext, by Boost.Context and by siglongjmp, with few coroutines and many."""
import peers
from figures import Missing, Row, coroutines, least, median, missing, paired, peer, told
from stand import WAYS, available_bytes, closing

GOALS = {"ucontext": {1: 8, 100: 8, 10000: 0}, "fcontext": {1: 5, 100: 5, 10000: 10}, "jump": {1: 7, 100: 7, 10000: 8}}
MANY = 1000000  # from which on it takes long, and only ours is measured
MILLION_BYTES = 14 << 30  # of memory, for 1,000,000 stacks and what we keep of them
SWITCHES = {"ucontext": (4000000, 200000), "fcontext": (20000000, 2000000), "jump": (20000000, 2000000)}  # and with --quick
SLOW = {"uprobe (perf)": 50, "uftrace": 5}  # how much less work they are given


def counts(stand):
    return stand.size((1, 100, 10000, 1000000), (1, 100))


def ways(stand, way, n, switches, lost):
    """name -> one run; all give the ns of a switch. `lost`: name -> the shares of records that were not kept."""
    program = [stand.switcher(way), n]
    number = lambda done: float(done.out.split()[-1])
    few = lambda name: max(2 * n, switches // SLOW[name])

    def ctp():
        done = stand.run(*stand.ctp_for(n), *program, switches)
        made, _, dropped = closing(done)
        lost["ctp"].append(dropped / made)
        return number(done)

    def lttng():
        events = switches + 2 * n
        done, dropped = peers.lttng(stand, [stand.switcher(way, "-lttng", peers.lttng_words()), n, switches], events)
        lost["LTTng-UST"].append(dropped / events)
        return number(done)

    found = {"bare": lambda: number(stand.run(*program, switches)), "ctp": ctp}
    if n >= MANY:
        return found
    found |= {"version-1 slots": lambda: number(peers.version1(stand, [*program, switches], n)), "LTTng-UST": lttng,
              "uftrace": lambda: number(peers.uftrace(stand, [stand.switcher(way, "-uftrace", peers.UFTRACE_WORDS), n,
                                                              few("uftrace")]))}
    if n <= 100 and way == "ucontext":
        found["uprobe (perf)"] = lambda: number(peers.uprobe(stand, [*program, few("uprobe (perf)")]))
    return found


def row(stand, way, n):
    limit = GOALS[way].get(n)
    goal = "" if limit is None else f"at most +{limit} ns"
    what = f"a switch by {WAYS[way]}, {coroutines(n)}"
    if n >= MANY and available_bytes() < MILLION_BYTES:
        return missing(what, f"it takes {MILLION_BYTES >> 30} GiB of free memory", goal)
    switches = 4 * n if n >= MANY else stand.size(*SWITCHES[way])
    lost = {"ctp": [], "LTTng-UST": []}
    try:
        runs = stand.side_by_side(ways(stand, way, n, switches, lost), rounds=stand.few if n >= MANY else None)
        for name in ("bare", "ctp"):
            if isinstance(runs[name], Missing):
                raise runs[name]
    except Missing as why:
        return missing(what, why, goal)
    bare = runs.pop("bare")
    dropped = lambda name: f" with {100 * median(lost[name]):.2g} % lost" if any(lost.get(name, ())) else ""
    added = {name: paired(bare, values)[0] for name, values in runs.items() if not isinstance(values, Missing)}
    for name, values in added.items():
        stand.points.setdefault("cost", {}).setdefault(f"{name}, {way}", []).append((n, median(values)))
    others = [peer(name, values, lambda _: told(added[name], "ns", plus=True) + dropped(name))
              for name, values in runs.items() if name != "ctp"]
    ratio = median(paired(bare, runs["ctp"])[1])
    got = f"{told(added['ctp'], 'ns', plus=True)}, x{ratio:.2f}{least(bare, runs['ctp'], 'ns')}{dropped('ctp')}"
    return Row(what, got, told(bare, "ns"), "; ".join(others), goal, added["ctp"], limit)


def switch_ucontext(stand):
    """Switches by swapcontext"""
    return [row(stand, "ucontext", n) for n in counts(stand)]


def switch_fcontext(stand):
    """Switches by Boost.Context"""
    return [row(stand, "fcontext", n) for n in counts(stand)]


def switch_jump(stand):
    """Switches by siglongjmp"""
    return [row(stand, "jump", n) for n in counts(stand)]


MEASURES = [switch_ucontext, switch_fcontext, switch_jump]
