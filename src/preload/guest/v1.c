// SPDX-License-Identifier: MIT
//
// libctp.so under an engine that knows cTP version 1 only. Each state change goes into the
// station's slots. If the engine says that it sleeps, one byte goes into its socket
// (tracer_sleeping is cleared by compare-and-swap first, as version 1's probes do; no SIGPIPE,
// no wait).
#include "preload/guest/v1.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "cpu.h"
#include "preload/guest/exit.h"
#include "preload/guest/real.h"

int v1_connect(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t n = strlen(path);
	if (n >= sizeof(a.sun_path))
		return -1;
	memcpy(a.sun_path, path, n);
	long fd = guest_syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0, 0);
	if (fd < 0)
		return -1;
	// Out of the way of programs that count on low numbers.
	long high = guest_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 500, 0, 0, 0);
	if (high >= 0) {
		guest_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
		fd = high;
	}
	if (guest_syscall(SYS_connect, fd, (long)&a, sizeof(a), 0, 0, 0) < 0) {
		guest_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
		return -1;
	}
	return (int)fd;
}

void v1_change(struct thread_ctx *g, struct ctp_station *st, uint64_t changes, uint64_t addr, bool active)
{
	struct ctp_header *h = ctp_tracer->region.header;
	if (!st)
		return;
	ctp_slot_write(st->slots, changes, guest_mono_ns(), g->tid, addr, active);
	if (ctp_tracer->v1_sock >= 0 && ctp_slot_must_wake(h))
		guest_syscall(SYS_sendto, ctp_tracer->v1_sock, (long)"1", 1, MSG_NOSIGNAL | MSG_DONTWAIT, 0,
			      0);
}
