# SPDX-License-Identifier: MIT
"""Database servers of the system's, for checks of --export: each in a scratch folder, on a socket or on loopback, ended
by its pid. `url` is where it is, `ask` runs a query and gives rows. One that is not installed is a Skip."""
import ctypes
import ctypes.util
import glob
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request

from harness import Failed, Skip, free_port, need, tool, until

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def library(name):
    path = ctypes.util.find_library(name)
    if not path:
        raise Skip(f"there is no lib{name}")
    return ctypes.CDLL(path)


class Server:
    """A server under way. Servers that refuse to run as root run as nobody."""
    as_nobody = False
    socket = None  # its path; None: it listens on loopback

    def __init__(self, case):
        self.case = case
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ctp-db-", dir=case.dir))
        self.become = NOBODY if self.as_nobody and os.geteuid() == 0 else []
        if self.become:
            shutil.chown(self.dir, 65534, 65534)
            self.dir.chmod(0o700)
            case.dir.chmod(0o755)
        self.make()
        self.start()

    def made(self, *argv):
        done = subprocess.run([*self.become, *map(str, argv)], capture_output=True, cwd=self.dir,
                              env={**os.environ, "HOME": str(self.dir), "LC_ALL": "C"})
        need(not done.returncode, f"{argv[0]}: {done.stdout[-500:]}{done.stderr[-500:]}")

    def begin(self, *argv):
        self.process = self.case.start(*self.become, *argv, cwd=self.dir, env={"HOME": str(self.dir), "LC_ALL": "C"})
        until(self.answers, f"an answer of {argv[0]}")

    def answers(self):
        if self.process.popen.poll() is not None:
            raise Failed(f"the server ended: {self.process.done()}")
        try:
            return self.ask("SELECT 1")
        except OSError:
            return None

    def kill(self):
        self.process.end()


# ----------------------------------------------------------------- PostgreSQL

class Postgres(Server):
    as_nobody = True
    name = "postgresql"

    def make(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not found:
            raise Skip("there is no PostgreSQL server (postgresql)")
        self.bin = pathlib.Path(found[-1]).parent
        self.made(self.bin / "initdb", "-D", self.dir / "data", "-A", "trust", "-U", "ctp", "-E", "UTF8", "--locale=C", "--no-sync")
        self.url = f"postgresql://ctp@/postgres?host={self.dir}"
        self.socket = self.dir / ".s.PGSQL.5432"

    def start(self):
        (self.dir / "data/postmaster.pid").unlink(missing_ok=True)
        self.begin(self.bin / "postgres", "-D", self.dir / "data", "-k", self.dir, "-c", "listen_addresses=", "-c", "fsync=off",
                   "-c", "unix_socket_permissions=0777")
        self.dir.chmod(0o755)
        # Its System V segment goes with it, also if it is killed: what is left over may be taken for another
        # process's that gets the same pid.
        segment = (self.dir / "data/postmaster.pid").read_text().splitlines()[6].split()[1]
        self.case.run(*self.become, tool("ipcrm"), "-m", segment)

    def ask(self, query):
        pq = library("pq")
        for f in ("PQconnectdb", "PQexec"):
            getattr(pq, f).restype = ctypes.c_void_p
        for f in ("PQgetvalue", "PQerrorMessage"):
            getattr(pq, f).restype = ctypes.c_char_p
        connection = ctypes.c_void_p(pq.PQconnectdb(self.url.encode()))
        try:
            if pq.PQstatus(connection):
                raise OSError(pq.PQerrorMessage(connection).decode())
            result = ctypes.c_void_p(pq.PQexec(connection, query.encode()))
            if pq.PQresultStatus(result) not in (1, 2):
                raise Failed(f"{query}: {pq.PQerrorMessage(connection).decode()}")
            rows = [[None if pq.PQgetisnull(result, i, k) else self.value(pq.PQgetvalue(result, i, k), pq.PQftype(result, k))
                     for k in range(pq.PQnfields(result))] for i in range(pq.PQntuples(result))]
            pq.PQclear(result)
            return rows
        finally:
            pq.PQfinish(connection)

    @staticmethod
    def value(text, kind):
        return int(text == b"t") if kind == 16 else text.decode()


# -------------------------------------------------------------------- MariaDB

class Maria(Server):
    as_nobody = True
    name = "mariadb"

    def make(self):
        tool("mariadbd"), tool("mariadb-install-db")
        self.made(tool("mariadb-install-db"), "--no-defaults", f"--datadir={self.dir / 'data'}", "--skip-test-db",
                  "--auth-root-authentication-method=normal", "--skip-name-resolve")
        self.url = f"mysql://root@localhost/ctp?socket={self.dir}/s"
        self.socket = self.dir / "s"

    def start(self):
        self.begin(tool("mariadbd"), "--no-defaults", f"--datadir={self.dir / 'data'}", f"--socket={self.dir}/s", "--skip-networking",
                   f"--pid-file={self.dir}/pid", "--innodb-flush-log-at-trx-commit=0", "--character-set-server=utf8mb4")
        self.dir.chmod(0o755)
        self.ask("CREATE DATABASE IF NOT EXISTS ctp", database=None)

    def ask(self, query, database="ctp"):
        my = library("mariadb")
        for f in ("mysql_init", "mysql_real_connect", "mysql_store_result", "mysql_fetch_row", "mysql_fetch_lengths"):
            getattr(my, f).restype = ctypes.c_void_p
        my.mysql_error.restype = ctypes.c_char_p
        connection = ctypes.c_void_p(my.mysql_init(None))
        my.mysql_options(connection, 7, b"utf8mb4")
        try:
            if query == "SELECT 1":
                database = None
            if not my.mysql_real_connect(connection, None, b"root", None, database and database.encode(), 0, f"{self.dir}/s".encode(),
                                         ctypes.c_ulong(0)):
                raise OSError(my.mysql_error(connection).decode())
            if my.mysql_real_query(connection, query.encode(), ctypes.c_ulong(len(query.encode()))):
                raise Failed(f"{query}: {my.mysql_error(connection).decode()}")
            result = ctypes.c_void_p(my.mysql_store_result(connection))
            rows, n = [], my.mysql_num_fields(result) if result else 0
            while result and (row := my.mysql_fetch_row(result)):
                lengths = ctypes.cast(my.mysql_fetch_lengths(result), ctypes.POINTER(ctypes.c_ulong))
                cells = ctypes.cast(row, ctypes.POINTER(ctypes.c_void_p))
                rows.append([ctypes.string_at(cells[k], lengths[k]).decode() if cells[k] else None for k in range(n)])
            if result:
                my.mysql_free_result(result)
            return rows
        finally:
            my.mysql_close(connection)


# ------------------------------------------------------------------ ClickHouse

CONFIG = """<yandex><logger><level>warning</level><console>1</console></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{dir}/data/</path><tmp_path>{dir}/tmp/</tmp_path><user_files_path>{dir}/files/</user_files_path>
<users_config>{dir}/users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><timezone>UTC</timezone>{more}</yandex>
"""
USERS = """<yandex><profiles><default><max_threads>2</max_threads></default></profiles><quotas><default/></quotas>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
</users></yandex>
"""


class ClickHouse(Server):
    name = "clickhouse"
    more = ""

    def make(self):
        tool("clickhouse-server")
        self.http, self.tcp = free_port(), free_port()
        for name in ("data", "tmp", "files"):
            (self.dir / name).mkdir()
        (self.dir / "users.xml").write_text(USERS)
        self.url = f"clickhouse://127.0.0.1:{self.http}/default"

    def start(self):
        (self.dir / "config.xml").write_text(CONFIG.format(http=self.http, tcp=self.tcp, dir=self.dir, more=self.more))
        self.begin(tool("clickhouse-server"), f"--config-file={self.dir}/config.xml")

    def ask(self, query, database="default"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}/?database={database}&distributed_product_mode=local",
                                         (query + " FORMAT TabSeparated").encode() if query.lstrip().startswith("SELECT") else query.encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise Failed(f"{query}: {error.read().decode()[:500]}")
        return [[self.value(v) for v in line.split("\t")] for line in text.split("\n")[:-1]]

    @staticmethod
    def value(text):
        if text == "\\N":
            return None
        signs = {"t": "\t", "n": "\n", "r": "\r", "0": "\0", "b": "\b", "f": "\f"}
        out, i = [], 0
        while i < len(text):
            if text[i] == "\\" and i + 1 < len(text):
                out.append(signs.get(text[i + 1], text[i + 1]))
                i += 2
            else:
                out.append(text[i])
                i += 1
        return "".join(out)


class Relay:
    """Stands between a client and a server's socket, and kills the server when so many bytes have gone to it."""

    def __init__(self, server, bytes_):
        self.server, self.left = server, bytes_
        if server.socket:
            self.listener = socket.socket(socket.AF_UNIX)
            folder = server.dir / "relay"
            folder.mkdir()
            self.path = folder / server.socket.name
            self.listener.bind(str(self.path))
            folder.chmod(0o755)
            self.path.chmod(0o777)
            self.url = server.url.replace(str(server.socket if server.name == "mariadb" else server.dir),
                                          str(self.path if server.name == "mariadb" else folder))
        else:
            self.listener = socket.socket()
            self.listener.bind(("127.0.0.1", 0))
            self.url = server.url.replace(str(server.http), str(self.listener.getsockname()[1]))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while self.left > 0:
            client, _ = self.listener.accept()
            there = socket.socket(socket.AF_UNIX if self.server.socket else socket.AF_INET)
            try:
                there.connect(str(self.server.socket) if self.server.socket else ("127.0.0.1", self.server.http))
            except OSError:  # it is dead by now
                client.close()
                return
            threading.Thread(target=self.carry, args=(there, client, False), daemon=True).start()
            threading.Thread(target=self.carry, args=(client, there, True), daemon=True).start()

    def carry(self, from_, to, counted):
        try:
            while data := from_.recv(65536):
                if counted:
                    self.left -= len(data)
                    if self.left <= 0:
                        self.server.kill()
                        break
                to.sendall(data)
        except OSError:
            pass
        for end in (from_, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
