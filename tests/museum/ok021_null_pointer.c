// SPDX-License-Identifier: MIT
// expect: fact INFO
// engine: both
// end: crash
//
// A coroutine follows a NULL pointer. The process dies in it by SIGSEGV, but far
// from the ends of its stack, which has a guard page, too: a crash, no overflow.
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { STACK_BYTES = 64 << 10, GUARD_BYTES = 4096 };

struct session {
	const char *user;
	int fd;
};

static int ep;

__attribute__((noinline)) static int first_letter(const struct session *s)
{
	return *(volatile const char *)s->user;
}

static void reader(void *arg)
{
	char go;
	struct session *s = arg;
	if (co_read(ep, s->fd, &go, 1) == 1)
		exit(first_letter(s));
}

int main(void)
{
	static struct co c;
	static struct session s;
	int fds[2];
	char *memory = must_map(GUARD_BYTES + STACK_BYTES);
	must(mprotect(memory, GUARD_BYTES, PROT_NONE));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", fds);
	s.fd = fds[0];
	co_init(&c, reader, &s, memory + GUARD_BYTES, STACK_BYTES);
	c.pinned = true;
	co_resume(&c);
	say("ready");
	must(write(fds[1], "g", 1));
	co_loop(ep);
}
