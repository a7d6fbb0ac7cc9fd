# SPDX-License-Identifier: MIT
"""The HTML report in a real Chromium: that it opens without a word on the console and without a
request, and that what is on it works. Needs chromium, node and npm (playwright-core, from npm)."""
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess

from check_million import start as start_million, end as end_million
from check_ps import start as start_ps
from check_reports import many_trace
from harness import ROOT, Skip, child_of, equal, need, proc_state, tool, until

DRIVER = "playwright-core@1.65.1"
FILE_MOST = 10 << 20


def playwright():
    """The driver, installed from npm once and kept in the user's cache."""
    npm = tool("npm")
    place = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "ctp-browser-driver"
    found = place / "node_modules/playwright-core"
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if found.is_dir():
            return found
        done = subprocess.run([npm, "install", "--no-audit", "--no-fund", "--prefix", place, DRIVER],
                              capture_output=True, text=True, timeout=300, check=False)
        if not found.is_dir():
            raise Skip(f"npm install {DRIVER}: {done.stderr[-200:]}")
    return found


def page(case, html, *steps):
    """What the `eval` steps gave; the page must have had nothing to complain of."""
    node, chromium = tool("node"), tool("chromium")
    words = case.dir / "steps.json"
    words.write_text(json.dumps(steps))
    with open(words, "rb") as stdin:
        done = case.run(node, ROOT / "tests/e2e/page.js", chromium, playwright(), html, stdin=stdin)
    if done.status:
        raise AssertionError(f"the browser: {done}")
    said = json.loads(done.out)
    equal(said["problems"], [], "problems")
    return said["results"]


def report(case, trace="ctp.data", *words):
    html = case.dir / "report.html"
    done = case.analyze(trace, "--format=html", "-o", html, *words)
    equal(done.out, "", "stdout")
    need(html.stat().st_size < FILE_MOST, f"{html.stat().st_size} bytes")
    return html, done


TEXT = "document.querySelector('%s').textContent"
OPEN = "[...document.querySelectorAll('.finding .head')].filter(x => x.getAttribute('aria-expanded') === 'true').length"
SHOWN = "[...document.querySelectorAll('.finding')].filter(x => !x.hidden).length"


def check_findings(case):
    """Twenty-five of them: each a line, the first in full; search, filter, keys."""
    many_trace(case)
    html, done = report(case)
    equal(done.status, 1, "status")
    got = page(case, html, ["eval", TEXT % "#summary"], ["eval", SHOWN], ["eval", OPEN],
               ["eval", "[...document.querySelectorAll('svg.lanes .what')].map(x => x.textContent)"],
               ["eval", TEXT % ".stack .src"], ["eval", "document.querySelectorAll('.evidence li').length"],
               ["key", "j"], ["key", "j"], ["key", "Enter"], ["eval", OPEN],
               ["eval", "document.activeElement.closest('li').previousElementSibling !== null"],
               ["key", "k"], ["key", "Enter"], ["eval", OPEN],
               ["key", "/"], ["type", "drop_7"], ["wait", SHOWN + " === 1"], ["eval", SHOWN], ["key", "Escape"],
               ["eval", "document.activeElement.tagName"],
               ["click", ".bar-tools input[type=checkbox]"], ["eval", SHOWN])
    summary, shown, opened, events, source, evidence = got[:6]
    need("25" in summary and "coroutines" in summary, summary)
    equal((shown, opened), (25, 1), "findings, told in full")
    need(any("close(" in x for x in events) and any("suspends" in x for x in events), events)
    need("swapcontext" in source or "(" in source, source)
    need(evidence >= 5, evidence)
    equal(got[6:9], [2, True, 1], "j j Enter; the second; k Enter")
    equal(got[9:11], [1, "BODY"], "search; Escape")
    equal(got[11], 0, "none with that verdict")


def check_table(case):
    """A hundred thousand coroutines: the file is small; sort, search, group and keys; few elements."""
    n = 100000
    process, _ = start_million(case, "epoll", n, 16384, 500)
    end_million(process)
    html, done = report(case)
    equal(done.status, 0, "status")
    row = "document.querySelector('.space .row').children[%d].textContent"
    got = page(case, html, ["key", "2"], ["wait", "document.querySelectorAll('.space .row').length > 10"],
               ["eval", "document.querySelectorAll('.space .row').length"],
               ["eval", "document.querySelector('[role=table]').getAttribute('aria-rowcount')"],
               ["click", "[data-key=id]"], ["eval", row % 0], ["click", "[data-key=id]"], ["eval", row % 0],
               ["eval", "document.querySelector('[aria-sort=descending]').textContent"],
               ["key", "/"], ["type", "99998"], ["wait", row % 0 + " === '99998'"],
               ["eval", row % 0],
               ["click", ".space .row"], ["eval", TEXT % ".detail .src"], ["click", ".detail .close"],
               ["click", "input[type=search]:visible"], ["key", "Control+a"], ["key", "Delete"],
               ["select", "select:visible >> nth=1", "state"],
               ["wait", "document.querySelectorAll('.row.is-group').length === 1"], ["eval", TEXT % ".row.is-group"],
               ["click", ".row.is-group"], ["wait", "document.querySelectorAll('.space .row').length > 10"],
               ["click", "[data-key=id]"], ["key", "Tab"], ["eval", "document.querySelector('.rows').focus()"],
               ["key", "End"],
               ["wait", "document.querySelectorAll('.row.cursor > div').length > 2"],
               ["eval", TEXT % ".row.cursor > div"], ["eval", TEXT % "#live"])
    drawn, rowcount, least, most, sort, found, source, group, _, last, said = got
    need(drawn < 100, f"{drawn} rows are elements")
    equal(rowcount, str(n + 1), "rows")
    need(int(least) <= 2 and int(most) >= n, (least, most))
    need("Id" in sort, sort)
    equal(found, "99998", "found")
    need("swapcontext" in source, source)
    need("100,000 coroutines" in group, group)
    need(last in (least, most) and last in said, (last, said))


def check_parents(case):
    """Who created whom: from a leaf to its branch; and grouped by creator."""
    process, _ = start_ps(case, "tree", "20")
    process.signal(signal.SIGTERM)
    process.done()
    html, _ = report(case)
    title = TEXT % ".detail h3"
    got = page(case, html, ["key", "2"], ["key", "/"], ["type", "leaf_main"],
               ["wait", "document.querySelectorAll('.space .row').length === 20"], ["click", ".space .row"], ["eval", title],
               ["click", ".detail .creator"], ["eval", title], ["click", ".detail .creator"], ["eval", title],
               ["select", "select:visible >> nth=1", "who created it"],
               ["wait", "document.querySelectorAll('.row.is-group').length === 20"], ["eval", TEXT % ".row.is-group"])
    for said, want in zip(got, ("leaf_main", "branch_main", "trunk_main", "branch_main")):
        need(want in said, (want, said))


def check_timeline(case):
    """Ten million switches: bins made before, and it says so; zoom by key, wheel and button."""
    n = 10000000
    done = case.ctp("-q", "--overflow=block", "--max-size=1G", case.build / "bench/bench-switch", 100, n)
    equal(done.status, 0, f"{done}")
    html, done = report(case)
    words = "document.querySelector('#part-timeline [role=status]').textContent"
    painted = ("(() => { const s = new Set(), d = document.querySelector('canvas').getContext('2d')"
               ".getImageData(300, 5, 500, 40).data;"
               " for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()")
    remember, changed = ["eval", f"(window.was = {words}, 0)"], ["wait", f"{words} !== window.was"]
    got = page(case, html, ["key", "3"], ["wait", words + ".includes('bins of')"], ["eval", words],
               ["eval", TEXT % "#part-timeline > div > p"], ["eval", painted],
               ["key", "+"], ["key", "+"], ["key", "+"], ["wait", "!" + words + ".includes('+0.000000 s')"],
               ["eval", words],
               remember, ["wheel", 700, 400, -400, "Control"], changed, ["eval", words],
               ["click", "#part-timeline button[title^=All]"], ["wait", words + ".includes('+0.000000 s')"],
               ["eval", words],
               ["key", "ArrowDown"], ["eval", TEXT % "#live"])
    whole, told, colors, closer, _, wheel, fit, live = got
    need("switches, told as shares of time in bins of" in told and "100 coroutines have a lane" in told, told)
    need(colors >= 3, f"{colors} colors")
    need(closer != whole and wheel != closer and fit == whole, got)
    need("coroutine" in live and "%" not in live.split(".")[0], live)


def check_exact(case):
    """A few switches are all there: near enough each is seen, and from a finding one gets to its place."""
    many_trace(case)
    html, _ = report(case)
    words = "document.querySelector('#part-timeline [role=status]').textContent"
    got = page(case, html, ["click", ".finding button.link >> nth=1"], ["wait", words + ".includes('every slice')"],
               ["eval", TEXT % "#part-timeline > div > p"],
               ["eval", TEXT % "#live"], ["key", "2"], ["key", "1"], ["click", ".finding button.link >> nth=0"],
               ["wait", "document.querySelectorAll('.space .row').length === 1"], ["eval", TEXT % ".chip"])
    need(got[0].startswith("Every one of "), got[0])
    need("resumed" in got[1], got[1])
    need("only finding 1" in got[2], got[2])


def check_places(case):
    """The timeline opens where the first finding happened; a finding's mark leads to it; findings and coroutines have addresses."""
    many_trace(case)
    html, _ = report(case)
    told = json.loads(case.analyze("ctp.data", "--format=json").out)["findings"]
    words = "document.querySelector('#part-timeline [role=status]').textContent"
    focus = "document.activeElement.closest('.finding')?.querySelector('a code')?.textContent || ''"
    mark = "JSON.parse(document.querySelector('#part-timeline canvas').dataset.marks).at(-1)"
    got = page(case, html, ["key", "3"], ["wait", words + ".includes('every slice')"], ["eval", mark + ".finding"],
               ["at", "#part-timeline canvas", mark + ".from + 3", 6],
               ["wait", "!document.querySelector('#part-findings').hidden"], ["eval", focus],
               ["open", "#finding-" + told[3]["fingerprint"]], ["eval", focus], ["eval", "location.hash"],
               ["open", f"#coroutine-{told[5]['coroutines'][0]['id']}"],
               ["wait", "!document.querySelector('#part-coroutines').hidden && document.querySelector('.detail h3') !== null"],
               ["eval", TEXT % ".detail h3"], ["open", "#coroutine-0"], ["eval", "document.querySelector('#part-findings').hidden"])
    equal(got[1], told[got[0]]["fingerprint"], "behind the mark")
    got = got[1:]
    equal(got[1:3], [told[3]["fingerprint"], "#finding-" + told[3]["fingerprint"]], "the address of a finding")
    need(str(told[5]["coroutines"][0]["id"]) in got[3], got[3])
    equal(got[4], False, "no such coroutine: the findings")


def check_circle(case):
    """A deadlock is drawn as a ring of who waits for what; a lane is found by its name."""
    exhibit = case.build / "tests/museum/m-ctp015_both_full"
    process = case.ctp_start("-q", exhibit)
    process.wait_for("ready")
    program = child_of(process.pid)
    until(lambda: proc_state(program) == "S", "it sleeps")
    process.signal(signal.SIGTERM)  # ctp-run looks first
    process.done()
    html, _ = report(case)
    got = page(case, html, ["eval", "[...document.querySelectorAll('svg.ring .who')].map(x => x.textContent)"],
               ["eval", "document.querySelectorAll('svg.ring .arrow').length"],
               ["eval", "[...document.querySelectorAll('svg.lanes:not(.ring) .who')].map(x => x.textContent).join(' ')"],
               ["key", "3"], ["key", "/"], ["type", "right_n"], ["wait", "document.querySelector('#live').textContent.includes('right_node')"])
    need(re.fullmatch(r"coroutine \d+ left_node fd \d+ coroutine \d+ right_node fd \d+", " ".join(got[0])), got[0])
    equal(got[1], 4, "arrows")
    need("right_node" not in got[2], f"no empty lane for the other one: {got[2]}")


def check_waits(case):
    """The flame graph, its zoom and search; histograms; what is weighed can be chosen."""
    many_trace(case)
    html, _ = report(case)
    boxes = "document.querySelectorAll('.flame .box').length"
    select = "select[aria-label='What is weighed']"
    got = page(case, html, ["key", "4"], ["wait", boxes + " > 2"], ["wait", "document.querySelector('svg.histogram .hbar') !== null"],
               ["eval", "[...document.querySelectorAll('.box')].map(x => x.title)"],
               ["eval", "document.querySelectorAll('svg.histogram .hbar').length"], ["eval", TEXT % ".waits section p"],
               ["eval", TEXT % ".sites tbody tr"], ["key", "/"], ["type", "co_read"], ["eval", TEXT % ".told"],
               ["eval", "document.querySelectorAll('.box.hit').length"], ["key", "Escape"],
               ["click", ".box >> nth=0"], ["key", "ArrowDown"], ["key", "ArrowDown"],
               ["eval", "document.activeElement.title"],
               ["key", "Enter"], ["eval", "parseFloat(document.activeElement.style.width) > innerWidth * 0.9"],
               ["select", select, "3"], ["eval", TEXT % ".box"], ["eval", TEXT % ".told"],
               ["select", select, "1"], ["eval", TEXT % ".waits section p"])
    titles, bars, words, site, found, hits, below, wide, _, switches, slices = got
    need(any(t.startswith("co_read") for t in titles) and all("%" in t for t in titles), titles)
    need(bars >= 1 and words.startswith("25 waits: mean "), (bars, words))
    need("co." in site or "many.c" in site, site)
    need(found.startswith("100 %") and hits >= 1, (found, hits))
    need(below in titles and wide, below)
    need("switches" in switches and "slices: mean " in slices, (switches, slices))


def check_unended(case):
    """Waits that have not ended are left out, with a word, until they are asked for."""
    server = case.ctp_start("-q", case.build / "tests/demo/demo-server")
    port = re.search(r":(\d+)", server.wait_for("listening"))[1]
    equal(case.run(case.build / "tests/demo/demo-client", port, "20").status, 0, "the client")
    server.signal(signal.SIGTERM)
    server.done()
    html, _ = report(case)
    words, help_text = TEXT % ".waits section p", TEXT % ".waits > p"
    got = page(case, html, ["key", "4"], ["wait", "document.querySelector('.waits section p') !== null"], ["eval", words], ["eval", help_text], ["eval", TEXT % ".told"],
               ["click", ".bar-tools label:has-text('without an end') input"], ["eval", words], ["eval", help_text], ["eval", TEXT % ".told"])
    ended, all_waits = (int(words.split(" waits:")[0].replace(",", "")) for words in (got[0], got[3]))
    equal(all_waits - ended, 47, f"waits: {got}")
    need("Left out: 47 waits" in got[1] and "Left out" not in got[4], got)
    need(got[2] != got[5], "their time counts once they are there")


def check_looks(case):
    """Light and dark, the help, narrow windows, print: nothing leaves the page, what is said can be read."""
    many_trace(case)
    html, _ = report(case)
    background = "getComputedStyle(document.body).backgroundColor"
    theme = "document.documentElement.dataset.theme"
    # Contrast of each text against the next opaque background below it.
    contrast = """(() => {
        const rgb = c => c.match(/[\\d.]+/g).map(Number);
        const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b) + 0.05;
        const under = e => {
            for (; e; e = e.parentElement) {
                const c = rgb(getComputedStyle(e).backgroundColor);
                if (c.length < 4 || c[3] === 1)
                    return c;
            }
            return [255, 255, 255];
        };
        return [...document.querySelectorAll('body *')].filter(e => e.getClientRects().length &&
            [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && !e.closest('svg, .unseen, script, style')
        ).map(e => {
            const a = light(rgb(getComputedStyle(e).color)), b = light(under(e));
            return [Math.max(a, b) / Math.min(a, b), e.className, e.textContent.slice(0, 30)];
        }).filter(x => x[0] < 4.5);
    })()"""
    wide = ("document.documentElement.scrollWidth <= innerWidth && "
            "document.querySelector('main').scrollWidth <= document.querySelector('main').clientWidth")
    unnamed = "[...document.querySelectorAll('button, input, select')].filter(e => e.offsetParent && !(" \
              "e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label'))).length"
    got = page(case, html, ["key", "t"], ["eval", theme], ["eval", background], ["eval", contrast], ["key", "t"],
               ["eval", theme], ["eval", background], ["eval", contrast],
               ["key", "2"], ["eval", contrast], ["key", "4"], ["eval", contrast], ["key", "5"], ["eval", contrast],
               ["key", "1"],
               ["key", "?"], ["eval", "document.querySelector('dialog').open"], ["key", "Escape"],
               ["eval", "document.querySelector('dialog').open"],
               ["size", 360, 640], *[x for k in "12345" for x in (["key", k], ["eval", wide])], ["eval", unnamed],
               ["key", "1"], ["print", 1], ["eval", "getComputedStyle(document.querySelector('nav')).display"])
    equal(got[0::3][0], "light", "t")
    equal(got[1], "rgb(255, 255, 255)", "light")
    equal((got[3], got[4]), ("dark", "rgb(21, 23, 27)"), "t t")
    equal((got[2], *got[5:9]), ([], [], [], [], []), "contrast")
    equal(got[9:11], [True, False], "help")
    equal(got[11:16], [True] * 5, "as wide as the window")
    equal(got[16:], [0, "none"], "named controls; print")


def check_hostile(case):
    """A function, a path and words that would like to be markup are shown as what they are."""
    markup = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    word = markup + "<!--<script>\u2028&lt;"
    folder = case.dir / "<img src=x onerror=alert(3)>"
    folder.mkdir()
    program = folder / "t-hostile"
    program.write_bytes(case.target("hostile").read_bytes())
    program.chmod(0o755)
    process = case.ctp_start("-q", "--record-args", program, word)
    process.wait_for("ready")
    process.signal(15)
    process.done()
    html, _ = report(case)
    text = html.read_text()
    block = text[text.index('id="data">') + 10:]
    block = block[:block.index("</script>")]
    need("<" not in block and "\u2028" not in block, "the data block holds markup")
    equal(json.loads(block)["trace"]["command"], f"{program} {word}", "command")
    got = page(case, html, ["eval", TEXT % "#command"], ["eval", "document.title"], ["key", "2"],
               ["wait", "document.querySelectorAll('.space .row').length > 0"], ["click", ".space .row"],
               ["eval", TEXT % ".space .row > div:nth-child(2)"], ["eval", TEXT % ".detail .fn"], ["key", "3"],
               ["key", "4"], ["eval", TEXT % ".flame"], ["key", "5"], ["eval", TEXT % "dl.about"], ["key", "1"],
               ["eval", "document.querySelectorAll('img').length + document.scripts.length"])
    need(word in got[0] and word in got[1], got[:2])
    equal(got[2:4], ["body<><>alert()<><>", "leave" + markup], "functions: as it is called, and as it is")
    need("alert" in got[4], got[4])
    need(str(folder) in got[5], got[5])
    equal(got[6], 3, "scripts, and no image")


def check_little(case):
    """Nothing recorded; JSON lines, also from a pipe; nothing to a terminal."""
    case.ctp("-q", "-o", "none", "true")
    html, done = report(case, "none")
    equal(done.status, 0, "status")
    got = page(case, html, ["eval", TEXT % ".clean"], ["key", "2"], ["key", "3"], ["eval", TEXT % "#part-timeline"],
               ["key", "4"], ["eval", TEXT % "#part-waits"], ["key", "5"], ["eval", TEXT % "dl.about"])
    need("No findings" in got[0] and all("Nothing was recorded" in x for x in got[1:3]), got)
    case.ctp("-q", "-o", "x.jsonl", case.target("million"), "short", 50, 16384)
    html, done = report(case, "x.jsonl")
    got = page(case, html, ["eval", TEXT % "#summary"], ["key", "2"], ["eval", TEXT % "#part-coroutines"],
               ["key", "3"], ["eval", TEXT % "#part-timeline > div > p"])
    need("50" in got[0] and "only counted" in got[1] and "Every one of" in got[2], got)
    with subprocess.Popen(["cat", case.dir / "x.jsonl"], stdout=subprocess.PIPE) as pipe:
        done = case.run(case.analyze_tool, "--format=html", "-o", html, "-", stdin=pipe.stdout)
    equal(done.status, 0, "from a pipe")
    got = page(case, html, ["key", "3"], ["eval", TEXT % "#part-timeline"], ["key", "4"], ["eval", TEXT % "#part-waits"])
    need(all("could not be read again" in x for x in got), got)
    done = case.run(tool("script"), "-qec", f"{case.analyze_tool} --format=html none", "/dev/null")
    equal(done.status, 2, "to a terminal")
    need("not for a terminal" in done.out and "-o report.html" in done.out, done.out)


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
