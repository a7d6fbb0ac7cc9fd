// SPDX-License-Identifier: MIT
//
// userfault.c - a server with a lost coroutine and memory whose page faults one of its own
// threads serves. Who reads a page there while that thread is stopped waits for ever.
// Says `refused` where the kernel gives it no userfaultfd.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { BYTES = 64 << 10 };

static int ep, faults;

static NOINLINE void conn_reader(void *arg)
{
	char buf[16];
	co_read(ep, *(int *)arg, buf, sizeof(buf));
}

static void *serve_faults(void *arg)
{
	static char page[4096];
	struct pollfd p = {.fd = faults, .events = POLLIN};
	struct uffd_msg msg;
	for (;;) {
		if (poll(&p, 1, -1) <= 0 || read(faults, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		struct uffdio_copy copy = {.dst = msg.arg.pagefault.address & ~4095ULL, .src = (uintptr_t)page, .len = sizeof(page)};
		ioctl(faults, UFFDIO_COPY, &copy);
	}
	return arg;
}

static bool guard_memory(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0)
		return false;
	struct uffdio_register all = {.range = {(uintptr_t)must_map(BYTES), BYTES}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	return ioctl(faults, UFFDIO_REGISTER, &all) == 0;
}

int main(void)
{
	static int fds[2];
	pthread_t server;
	if (!guard_memory()) {
		say("refused");
		return 0;
	}
	must(pthread_create(&server, NULL, serve_faults, NULL) == 0 ? 0 : -1);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	co_start(conn_reader, &fds[0]);
	must(close(fds[0]));
	say("ready");
	co_loop(ep);
}
