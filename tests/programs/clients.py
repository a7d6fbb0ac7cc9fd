# SPDX-License-Identifier: MIT
"""The other side of the servers among the programs: an authoritative DNS server,
echo clients, a TLS client. `clients.py dns` runs the first one."""
import base64
import gzip
import selectors
import socket
import ssl
import struct
import sys


def dns():
    """Answers every A question with 127.0.0.1, but names that begin with n never."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    s.bind(("127.0.0.1", 0))
    print("port", s.getsockname()[1], flush=True)
    while True:
        query, peer = s.recvfrom(4096)
        if query[13:14] == b"n":
            continue
        end = 12
        while query[end]:
            end += query[end] + 1
        question = query[12:end + 5]
        head = query[:2] + b"\x84\x00\x00\x01\x00\x01\x00\x00\x00\x00"
        s.sendto(head + question + b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x0e\x10\x00\x04\x7f\x00\x00\x01", peer)


class Questions(socket.socket):
    """A DNS client that asks and goes away."""

    def __init__(self, host, port):
        super().__init__(socket.AF_INET, socket.SOCK_DGRAM)
        self.connect((host, port))

    def ask(self, names):
        for number, name in enumerate(names):
            labels = b"".join(bytes([len(x)]) + x.encode() for x in name.split("."))
            self.send(struct.pack(">6H", number, 0x100, 1, 0, 0, 0) + labels + b"\x00\x00\x01\x00\x01")


class Echo:
    """Connections to an echo server that wait for what they sent, all at once."""

    def __init__(self, host, port):
        self.peer = (host, port)

    def connect(self):
        s = socket.create_connection(self.peer, timeout=300)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def rounds(self, connections, rounds):
        left, want = {}, {}
        with selectors.DefaultSelector() as ready:
            for i in range(connections):
                s = self.connect()
                left[s], want[s] = rounds, b"%d echo %d" % (i, rounds)
                s.sendall(want[s])
                ready.register(s, selectors.EVENT_READ)
            got = dict.fromkeys(left, b"")
            while left:
                for key, _ in ready.select(30) or self.silent():
                    s = key.fileobj
                    got[s] += s.recv(4096) or self.silent()
                    if got[s] != want[s]:
                        continue
                    left[s] -= 1
                    got[s] = b""
                    if left[s]:
                        s.sendall(want[s])
                    else:
                        ready.unregister(s)
                        s.close()
                        del left[s]

    @staticmethod
    def silent():
        raise AssertionError("the server says nothing")

    def idle(self, connections):
        """Connections that have been served once and stay open."""
        kept = Kept()
        for _ in range(connections):
            s = self.connect()
            kept.append(s)
            s.sendall(b"x")
            assert s.recv(10) == b"x", "no echo"
        return kept


class Kept(list):
    def close(self):
        for s in self:
            s.close()


def silent(path, count):
    """So many clients of a unix socket that have been greeted and say nothing."""
    kept = Kept()
    for _ in range(count):
        s = socket.socket(socket.AF_UNIX)
        kept.append(s)
        s.settimeout(300)
        s.connect(str(path))
        assert s.recv(100), "no greeting"
    return kept


def players(host, port, count):
    """So many players that have said their version to a Wesnoth server."""
    def read(s, n):
        text = b""
        while len(text) < n:
            text += s.recv(n - len(text)) or Echo.silent()
        return text

    def message(s):
        return gzip.decompress(read(s, struct.unpack(">I", read(s, 4))[0]))

    kept = Kept()
    for _ in range(count):
        s = socket.create_connection((host, port), timeout=300)
        kept.append(s)
        s.sendall(bytes(4))
        read(s, 4)
        assert b"[version]" in message(s), "no question for the version"
        words = gzip.compress(b'[version]\nversion="1.16.9"\n[/version]\n')
        s.sendall(struct.pack(">I", len(words)) + words)
        assert b"[mustlogin]" in message(s), "not taken"
    return kept


def tls_page(host, port, name, user=None):
    """One page over TLS by HTTP/1.0, whoever the server is."""
    login = f"Authorization: Basic {base64.b64encode(user.encode()).decode()}\r\n" if user else ""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    text = b""
    with socket.create_connection((host, port), timeout=300) as plain, context.wrap_socket(plain) as s:
        s.sendall(f"GET /{name} HTTP/1.0\r\n{login}\r\n".encode())
        try:
            while more := s.recv(65536):
                text += more
        except ssl.SSLEOFError:  # s_server closes without a word
            pass
    return text.decode()


if __name__ == "__main__":
    if sys.argv[1:] == ["dns"]:
        dns()
