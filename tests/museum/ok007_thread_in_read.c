// SPDX-License-Identifier: MIT
// expect: fact CTP007
// not: program stopped at random, the read is then made anew, of a number that is closed
//
// A thread sits in a blocking read of a socket, and main closes the number: the
// kernel keeps the socket for as long as that read lasts, and its row in the set
// with it. Nothing comes of it.
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, link_fds[2], idle;
static pid_t reader_tid;

static void idler(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, idle, &n, sizeof(n)));
}

static void *reader(void *arg)
{
	char byte;
	(void)arg;
	__atomic_store_n(&reader_tid, gettid(), __ATOMIC_RELEASE);
	must(read(link_fds[0], &byte, 1));
	return NULL;
}

// In a system call other than none: the first word of its file is a number.
static int in_read(void)
{
	char path[64], text[32] = "";
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", __atomic_load_n(&reader_tid, __ATOMIC_ACQUIRE));
	FILE *f = fopen(path, "r");
	if (f) {
		must(fgets(text, sizeof(text), f) ? 0 : -1);
		fclose(f);
	}
	return strncmp(text, "0 0x", 4) == 0;
}

int main(void)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u64 = 0};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	idle = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link_fds));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, link_fds[0], &ev));
	co_start(idler, NULL);
	co_thread(reader, NULL);
	while (!__atomic_load_n(&reader_tid, __ATOMIC_ACQUIRE) || !in_read())
		;
	close(link_fds[0]);
	say("ready");
	co_loop(ep);
}
