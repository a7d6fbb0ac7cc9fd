// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// patched: slot struct
//
// Cancellation by a pool that gives memory back to the kernel: it closes the
// descriptors of requests nobody wants any more, and wipes the stacks of their
// suspended coroutines, by madvise or by a fresh mapping over them. It keeps the
// addresses for later.
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SLOTS 4
#define STACK (64 << 10)

static struct slot {
	struct co co;
	char *stack;
	int fd;
} slots[SLOTS];
static int ep;

static void request(void *arg)
{
	struct slot *s = arg;
	char buf[64];
	while (co_read(ep, s->fd, buf, sizeof(buf)) > 0)
		;
}

static void begin(struct slot *s)
{
	int fds[2];
	pair("tcp", fds);
	s->fd = fds[0];
	s->stack = must_map(STACK);
	s->co.pinned = true;
	co_init(&s->co, request, s, s->stack, STACK);
	co_resume(&s->co);
}

static void wipe(char *stack, int how)
{
	if (how % 2)
		must(madvise(stack, STACK, MADV_DONTNEED));
	else
		must(mmap(stack, STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == stack ? 0 : -1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SLOTS; i++)
		begin(&slots[i]);
	for (int i = 0; i < SLOTS; i++) {
		close(slots[i].fd);
		wipe(slots[i].stack, i);
	}
	say("ready");
	co_loop(ep);
}
