# SPDX-License-Identifier: MIT
"""radosgw, Ceph's S3 server: each connection is a coroutine (Boost.Context) that waits for its client, and in each request
for the storage below. That is a cluster of one monitor and one daemon that keeps objects in memory."""
import base64
import concurrent.futures
import email.utils
import hashlib
import hmac
import http.client
import signal
import time
import uuid

from harness import free_port, need, until
from stage import Outcome, Row, listening

KEY, SECRET, BUCKET = "key", "secret", "bucket"
PACKAGES = ("radosgw", "ceph-mon", "ceph-osd", "ceph-common")

CONF = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{port}]
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms client mode = crc
mon data = {dir}/mon
mon allow pool size one = true
mon data avail warn = 1
mon data avail crit = 1
osd data = {dir}/osd
osd objectstore = memstore
memstore device bytes = 268435456
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
rgw data = {dir}/rgw
rgw thread pool size = 4
rgw run sync thread = false
rgw enable gc threads = false
rgw enable lc threads = false
rgw enable quota threads = false
run dir = {dir}
admin socket =
log file =
log to stderr = false
keyring = {dir}/keyring
"""


def cluster(run):
    """The words that name its configuration."""
    fsid, conf = uuid.uuid4(), run.dir / "ceph.conf"
    port = free_port()
    conf.write_text(CONF.format(dir=run.dir, fsid=fsid, port=port))
    for name in ("mon", "osd", "rgw"):
        (run.dir / name).mkdir()
    words = ("-c", conf)
    run.tool("monmaptool", "--create", "--addv", "a", f"[v2:127.0.0.1:{port}]", "--fsid", fsid, "monmap")
    run.tool("ceph-mon", *words, "-i", "a", "--mkfs", "--monmap", "monmap")
    run.helper("ceph-mon", *words, "-i", "a", "-f")
    ask = ["ceph", *words, "--connect-timeout", 60]
    until(lambda: run.case.run(*ask, "mon", "stat", cwd=run.dir).status == 0, "the monitor")
    osd = uuid.uuid4()
    run.tool(*ask, "osd", "new", osd)
    run.tool("ceph-osd", *words, "-i", 0, "--mkfs", "--osd-uuid", osd)
    run.helper("ceph-osd", *words, "-i", 0, "-f")
    until(lambda: "1 up" in run.tool(*ask, "osd", "stat"), "the storage")
    for pool in ("index", "data"):  # else the first request makes it, and its coroutine holds a thread for seconds
        run.tool(*ask, "osd", "pool", "create", f"default.rgw.buckets.{pool}", 1)
    return words


class Client:
    """A connection that speaks S3."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def ask(self, method, path, body=None):
        date = email.utils.formatdate(usegmt=True)
        sign = hmac.new(SECRET.encode(), f"{method}\n\n\n{date}\n{path}".encode(), hashlib.sha1).digest()
        headers = {"Date": date, "Authorization": f"AWS {KEY}:{base64.b64encode(sign).decode()}"}
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def talk(port, number, objects):
    """Puts some objects and gets them back."""
    client, said = Client(port), []
    for i in range(objects):
        path, body = f"/{BUCKET}/{number}.{i}", hashlib.shake_128(b"%d %d" % (number, i)).digest(20000)
        put, _ = client.ask("PUT", path, body)
        got, back = client.ask("GET", path)
        said.append((put, got, back == body))
    client.connection.close()
    return said


def serve(run):
    connections, objects, port = 10, 5 * run.size, free_port()
    words = cluster(run)
    run.tool("radosgw-admin", *words, "user", "create", "--uid", "user", "--display-name", "user", "--access-key", KEY,
             "--secret-key", SECRET)
    server = run.start("radosgw", *words, "-n", "client.rgw", "-f", f"--rgw-frontends=beast endpoint=127.0.0.1:{port}")
    listening(server, port)
    until(lambda: Client(port).ask("PUT", f"/{BUCKET}")[0] == 200 or server.popen.poll() is not None, "the bucket")
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(connections) as pool:
        said = list(pool.map(lambda n: talk(port, n, objects), range(connections)))
    seconds = time.monotonic() - began
    need(all(x == (200, 200, True) for one in said for x in one), f"answers: {said}")
    done = run.finish(server, signal.SIGTERM)
    return Outcome(done.status, str(said), seconds=seconds, coroutines=(connections + 1, None),
                   switches=(4 * connections * objects, None))


ROWS = [Row("radosgw", PACKAGES, "Boost.Context", serve, weight=5)]
