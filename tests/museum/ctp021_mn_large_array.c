// SPDX-License-Identifier: MIT
// expect: CTP021 likely, 1 coroutine
// engine: both
// end: crash
//
// Several threads run the coroutines of one epoll set. A session takes the size of
// its buffer from the message, and the buffer from its stack: 640 KiB of 64. The
// array reaches across the guard at once, into what the pool keeps apart.
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { STACK_BYTES = 64 << 10, APART_BYTES = 1 << 20, THREADS = 3 };

static int ep;

__attribute__((noinline)) static int copy_message(int from, size_t bytes)
{
	volatile char *buffer = alloca(bytes);
	for (size_t i = 0; i < bytes; i += 512)
		buffer[i] = (char)from; // fault
	return buffer[bytes / 2];
}

static void session(void *arg)
{
	unsigned kib;
	int *fds = arg;
	if (co_read(ep, fds[0], &kib, sizeof(kib)) == sizeof(kib))
		copy_message(fds[0], (size_t)kib << 10);
}

int main(void)
{
	static struct co c;
	static int fds[2];
	unsigned kib = 640;
	char *memory = must_map(APART_BYTES + STACK_BYTES);
	must(mprotect(memory, APART_BYTES, PROT_NONE));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	co_init(&c, session, fds, memory + APART_BYTES, STACK_BYTES);
	c.pinned = true;
	co_resume(&c);
	for (int i = 1; i < THREADS; i++)
		co_loop_thread(&ep);
	say("ready");
	must(write(fds[1], &kib, sizeof(kib)));
	co_loop(ep);
}
