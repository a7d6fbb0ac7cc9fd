// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Cancellation by a pool: it closes the descriptors of requests nobody wants
// any more, takes their suspended coroutines' stacks back, and gives each to
// the next request.
#include <sys/epoll.h>
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
	co_init(&s->co, request, s, s->stack, STACK);
	co_resume(&s->co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SLOTS; i++) {
		slots[i].stack = must_map(STACK);
		slots[i].co.pinned = true;
		begin(&slots[i]);
	}
	for (int i = 0; i < SLOTS; i++) {
		close(slots[i].fd);
		begin(&slots[i]);
	}
	say("ready");
	co_loop(ep);
}
