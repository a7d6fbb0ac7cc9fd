# SPDX-License-Identifier: MIT
"""ctp-run --metrics: Prometheus scrapes it for real, promtool finds nothing to say, the shipped alerts fire when the demo hangs."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

from check_verdicts import ready
from harness import ROOT, Skip, equal, free_port, need, tool, tried, until

RULES = ROOT / "share/ctp/prometheus/ctp.rules.yml"
CONFIG = """global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs: [{{job_name: ctp, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}]
"""


def get(url, accept=None):
    request = urllib.request.Request(url, headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


def values(text):
    """{series: value}"""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and line[0] != "#"}


def url_of(process):
    return process.wait_for("ctp-run: metrics: ", "err").split()[-1]


@tried
def check_text(case):
    """Both formats; the counts are those of the report; nothing but /metrics is answered."""
    process = ready(case, "--metrics=0", case.target("lost"), "n=3")
    url = url_of(process)
    need(re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", url), url)
    found = 'ctp_findings{rule="CTP001",verdict="proven"}'
    slices = "ctp_slice_duration_seconds_count"  # records that are few stay in their ring for a second
    text = until(lambda: (t := get(url)[0]) and values(t)[found] == 3 and values(t)[slices] and t, "three proven ones, and slices")
    done = subprocess.run([tool("promtool"), "check", "metrics"], input=text, capture_output=True, text=True)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "what promtool says")
    open_text, kind = get(url, "application/openmetrics-text; version=1.0.0")
    need(kind.startswith("application/openmetrics-text; version=1.0.0") and open_text.endswith("# EOF\n"), kind)
    need("# TYPE ctp_switches counter\n" in open_text and "# UNIT ctp_slice_duration_seconds seconds\n" in open_text, open_text)
    equal(len(values(open_text)), len(values(text)), "series in the two formats")
    for path, status in (("/", 404), ("/metrics/x", 404)):
        try:
            get(url.replace("/metrics", path))
            need(False, f"{path} is answered")
        except urllib.error.HTTPError as error:
            equal(error.code, status, path)
    got = values(text)
    os.kill(process.pid, 15)
    process.done()
    trace = case.report()[1]["trace"]
    equal(got["ctp_switches_total"], trace["switches"], "switches")
    equal(got['ctp_coroutines{state="suspended"}'], trace["coroutines"]["suspended"], "suspended")
    equal(got["ctp_coroutines_made_total"], trace["coroutines"]["total"], "made")
    equal(got["ctp_events_lost_total"], 0, "lost")
    equal(sum(v for k, v in got.items() if k.startswith("ctp_waits{")), got['ctp_coroutines{state="suspended"}'], "waits by kind")
    equal(sum(v for k, v in got.items() if k.startswith("ctp_suspended_coroutines{")), got['ctp_coroutines{state="suspended"}'], "by site")
    equal(got['ctp_slice_duration_seconds_bucket{le="+Inf"}'], got[slices], "slices")
    try:
        get(url)
        need(False, "it answers when the program has ended")
    except urllib.error.URLError:
        pass


@tried
def check_counts(case):
    """Slices are counted as the trace has them, once each, whoever scrapes."""
    path = case.dir / "m"
    process = ready(case, f"--metrics=unix:{path}", case.target("lost"), "n=3")
    url_of(process)
    equal(oct(path.stat().st_mode)[-3:], "700", "who may ask")

    def ask():
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(path))
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = http.client.HTTPResponse(s)
            answer.begin()
            return values(answer.read().decode())
    until(lambda: ask()['ctp_findings{rule="CTP001",verdict="proven"}'] == 3, "three proven ones")
    got = until(lambda: (v := ask())["ctp_slice_duration_seconds_count"] and v, "slices")  # all at once: nothing runs any more
    os.kill(process.pid, 15)
    process.done()
    need(not path.exists(), "the socket is left behind")
    out = case.run(case.analyze_tool, "--export=csv:-", "--table=slices", "ctp.data").out
    equal(got["ctp_slice_duration_seconds_count"], len(out.splitlines()) - 1, "slices")


def check_refused(case):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for words, part in ((["--metrics=x"], "give a PORT"), ([f"--metrics={taken.getsockname()[1]}"], "in use"),
                            (["--metrics=unix:/nowhere/m"], "No such file")):
            done = case.ctp(*words, "sh", "-c", "echo ran")
            equal((done.status, done.out, len(done.err.splitlines())), (125, "", 1), f"{words}: {done}")
            need(part in done.err, done.err)


def check_module(case):
    """The HTTP server and what it needs are loaded for --metrics alone, by an installed ctp-run as well."""
    if not (case.build / "build.ninja").exists():
        raise Skip("no build tree to install from")
    done = case.run(tool("meson"), "install", "-C", case.build, "--no-rebuild", "--destdir", case.dir / "root")
    equal(done.status, 0, f"{done}")
    [installed] = (case.dir / "root").rglob("bin/ctp-run")
    listed = "cat /proc/$PPID/maps"
    for words, there in (([], False), ([f"--metrics=unix:{case.dir}/m"], True)):
        done = case.run(installed, *words, "sh", "-c", listed)
        equal(done.status, 0, f"{words}: {done}")
        need("libctp" not in done.out and "/ctp-run" in done.out, f"whose mappings: {done.out}")
        equal([name for name in ("/ctp-metrics.so", "/libmicrohttpd", "/libgnutls") if name in done.out],
              ["/ctp-metrics.so", "/libmicrohttpd", "/libgnutls"][:3 * there], f"loaded with {words}")


def check_prometheus(case):
    """The demo under load, then hanging: both shipped alerts fire, and neither did before."""
    tool("prometheus")
    server = case.ctp_start("--metrics=0", "-o", "demo.data", case.build / "tests/demo/demo-server")
    url = url_of(server)
    rules = RULES.read_text().replace("for: 1m", "for: 0s").replace("> 300", "> 2")
    (case.dir / "rules.yml").write_text(rules)
    done = case.run(tool("promtool"), "check", "rules", RULES)
    need(not done.status and "2 rules found" in done.out, done)
    (case.dir / "prometheus.yml").write_text(CONFIG.format(rules=case.dir / "rules.yml", port=url.split(":")[2].split("/")[0]))
    port = free_port()
    case.start("prometheus", "--config.file=prometheus.yml", f"--storage.tsdb.path={case.dir}/tsdb", f"--web.listen-address=127.0.0.1:{port}")

    def api(what):
        try:
            return json.loads(get(f"http://127.0.0.1:{port}/api/v1/{what}")[0])["data"]
        except OSError:
            return None

    def value(query):
        found = (api("query?query=" + query) or {"result": []})["result"]
        return float(found[0]["value"][1]) if found else None
    until(lambda: value("up") == 1, "a scrape")
    firing = lambda: {a["labels"]["alertname"] for a in (api("alerts") or {"alerts": []})["alerts"] if a["state"] == "firing"}
    equal(firing(), set(), "alerts of a healthy server")
    listening = server.wait_for("listening on ")
    case.run(case.build / "tests/demo/demo-client", listening.rsplit(":", 1)[1])
    until(lambda: firing() == {"CtpLostWakeup", "CtpNoProgress"}, "both alerts")
    need((value("ctp_switches_total") or 0) > 1000, "switches")
    need((value("ctp_resume_latency_seconds_count") or 0) > 1000, "latencies")
    server.signal(signal.SIGINT)


CHECKS = [("text", check_text), ("slices", check_counts), ("refused", check_refused), ("module", check_module), ("prometheus", check_prometheus)]
