// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR2
//
// A collector is made beside the connections, by makecontext, which passes ints
// only: the list comes as two of them, and stands nowhere else. The collector has
// not run yet; USR2 starts it.
#include "ordered.h"

#define CONNS 3

struct conn {
	struct conn *next;
	int fd;
	struct co *reader;
};

static ucontext_t collector, back;
static int ep;

static void conn_reader(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

// What it gets is a list of connections, in two halves.
static void collect(unsigned low, unsigned high)
{
	struct conn *list = (struct conn *)((uintptr_t)high << 32 | low);
	while (list) {
		struct conn *next = list->next;
		co_resume(list->reader);
		free(list);
		list = next;
	}
	setcontext(&back);
}

static NOINLINE struct conn *open_conn(struct conn *list)
{
	struct conn *c = must_alloc(sizeof(*c));
	int fds[2];
	pair("tcp", fds);
	c->fd = fds[0];
	c->next = list;
	c->reader = co_new(conn_reader, (void *)(intptr_t)c->fd);
	co_resume(c->reader);
	return c;
}

static NOINLINE void make_collector(struct conn *list)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	volatile unsigned half[2] = {(unsigned)(uintptr_t)list, (unsigned)((uintptr_t)list >> 32)};
	collector.uc_stack.ss_sp = stack;
	collector.uc_stack.ss_size = sizeof(stack);
	makecontext(&collector, (void (*)(void))collect, 2, half[0], half[1]);
	half[0] = half[1] = 0; // no trace of it in a dead frame
}

static NOINLINE void open_and_close(void)
{
	struct conn *list = NULL;
	for (int i = 0; i < CONNS; i++)
		list = open_conn(list);
	for (struct conn *c = list; c; c = c->next)
		close(c->fd); // fault
	make_collector(list);
}

int main(void)
{
	volatile bool collected = false;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR2);
	must(getcontext(&collector)); // with the registers of before there was a connection
	open_and_close();
	serve_until_ordered(ep);
	must(getcontext(&back));
	if (!collected) {
		collected = true;
		setcontext(&collector);
	}
	return all_resumed(CONNS);
}
