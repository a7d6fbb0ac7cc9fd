# SPDX-License-Identifier: MIT
"""GlusterFS without its manager: two bricks that form one replicated volume, a
client and a self-heal daemon, each with a volume file written here, below one
folder and on loopback. `bricks.py VOLFILE LOG NAME COUNT` is the client: it
writes COUNT files whose names begin with NAME."""
import ctypes
import os
import sys

PAIR = "pair"
SIZE = 32 << 20  # bytes of each file, nearly all of them a hole: 256 checksums for the heal
NODE = "6a8bbc12-5c0e-4b1a-9a39-0f6d1c6d2c11"  # the daemon heals from bricks of its own node only

# fips-mode-rchecksum is glusterd's default: checksums by SHA256() of libcrypto, which cannot work
# any more when libcrypto's exit handler has run.
BRICK = """
volume {name}-posix
  type storage/posix
  option directory {folder}
  option glusterd-uuid {node}
  option fips-mode-rchecksum on
end-volume
volume {name}-locks
  type features/locks
  subvolumes {name}-posix
end-volume
volume {name}-io-threads
  type performance/io-threads
  subvolumes {name}-locks
end-volume
volume {name}-index
  type features/index
  option index-base {folder}/.glusterfs/indices
  option xattrop-dirty-watchlist trusted.afr.dirty
  option xattrop-pending-watchlist trusted.afr.pair-
  subvolumes {name}-io-threads
end-volume
volume {name}
  type debug/io-stats
  subvolumes {name}-index
end-volume
volume {name}-server
  type protocol/server
  option transport-type tcp
  option transport.socket.bind-address 127.0.0.1
  option transport.socket.listen-port {port}
  option auth.addr.{name}.allow 127.0.0.1
  subvolumes {name}
end-volume
"""

CLIENT = """
volume pair-client-{number}
  type protocol/client
  option transport-type tcp
  option remote-host 127.0.0.1
  option remote-port {port}
  option remote-subvolume {name}
end-volume
"""

# data-self-heal-algorithm diff: compares checksums of both bricks, block by block.
REPLICATE = """
volume pair
  type cluster/replicate
  option afr-pending-xattr pair-client-0,pair-client-1
  option iam-self-heal-daemon {heals}
  option self-heal-daemon {heals}
  option entry-self-heal {heals}
  option metadata-self-heal {heals}
  option data-self-heal {heals}
  option data-self-heal-algorithm diff
  option data-self-heal-window-size 1
  option shd-max-threads 4
  subvolumes pair-client-0 pair-client-1
end-volume
"""


class Volume:
    """Two bricks in a folder, and the volume files of all who take part."""

    def __init__(self, folder, ports):
        self.dir, self.ports = folder, ports
        clients = ""
        for number, port in enumerate(ports):
            name = f"brick{number}"
            (folder / name / ".glusterfs/indices").mkdir(parents=True)
            (folder / f"{name}.vol").write_text(BRICK.format(name=name, folder=folder / name, node=NODE, port=port))
            clients += CLIENT.format(number=number, port=port, name=name)
        (folder / "client.vol").write_text(clients + REPLICATE.format(heals="off"))
        (folder / "daemon.vol").write_text(clients + REPLICATE.format(heals="on"))

    def words(self, program, name, *more):
        return [program, "--no-daemon", "-f", self.dir / f"{name}.vol", "-l", self.dir / f"{name}.log", *more]

    def brick(self, number):
        return self.words("/usr/sbin/glusterfsd", f"brick{number}")

    def daemon(self):
        return self.words("/usr/sbin/glusterfs", "daemon", "--process-name", "glustershd",
                          "--xlator-option", f"*replicate*.node-uuid={NODE}")

    def writer(self, name, count):
        return [sys.executable, __file__, self.dir / "client.vol", self.dir / "client.log", name, count]

    def files(self, number):
        """How many files have data on a brick, and how many are there."""
        sizes = [p.stat().st_blocks for p in (self.dir / f"brick{number}").glob("f*")]
        return sum(blocks > 0 for blocks in sizes), len(sizes)


def refuses_xattrs(folder):
    """Why bricks cannot be kept there, or None."""
    probe = folder / "probe"
    probe.touch()
    try:
        os.setxattr(probe, "trusted.glusterfs.probe", b"1")
    except OSError as error:
        return f"trusted extended attributes: {error.strerror}"
    finally:
        probe.unlink()
    return None


def write(volfile, log, name, count):
    api = ctypes.CDLL("libgfapi.so.0", use_errno=True)
    api.glfs_new.restype = api.glfs_creat.restype = ctypes.c_void_p

    def must(good, what):
        if not good:
            sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")

    fs = ctypes.c_void_p(api.glfs_new(PAIR.encode()))
    must(fs, "glfs_new")
    must(api.glfs_set_logging(fs, log.encode(), 7) == 0, "glfs_set_logging")
    must(api.glfs_set_volfile(fs, volfile.encode()) == 0, "glfs_set_volfile")
    must(api.glfs_init(fs) == 0, "glfs_init")
    for number in range(int(count)):
        fd = ctypes.c_void_p(api.glfs_creat(fs, f"/{name}{number}".encode(), os.O_WRONLY, 0o600))
        must(fd, "glfs_creat")
        must(api.glfs_write(fd, b"x" * 4096, ctypes.c_size_t(4096), 0) == 4096, "glfs_write")
        must(api.glfs_lseek(fd, ctypes.c_int64(SIZE - 1), os.SEEK_SET) >= 0, "glfs_lseek")
        must(api.glfs_write(fd, b"x", ctypes.c_size_t(1), 0) == 1, "glfs_write")
        must(api.glfs_close(fd) == 0, "glfs_close")
    os._exit(0)  # glfs_fini takes seconds


if __name__ == "__main__":
    write(*sys.argv[1:])
