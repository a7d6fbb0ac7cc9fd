// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR2
//
// A janitor that has been made and not started gets four ints: a reason, a limit, and its
// list in two of them, the upper half first. makecontext has them, and nobody else.
#include "ordered.h"

#define UPLOADS 3

struct upload {
	struct upload *next;
	int fd;
	struct co *co;
};

static ucontext_t janitor, back;
static int ep;

static void receive(void *arg)
{
	char buf[64];
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static void clean(int reason, int limit, unsigned high, unsigned low)
{
	struct upload *list = (struct upload *)((uintptr_t)high << 32 | low);
	for (; reason == 7 && limit-- > 0 && list; list = list->next)
		co_resume(list->co);
	setcontext(&back);
}

static NOINLINE struct upload *begin(struct upload *list)
{
	struct upload *u = must_alloc(sizeof(*u));
	int fds[2];
	pair("unix", fds);
	u->fd = fds[0];
	u->next = list;
	u->co = co_new(receive, (void *)(intptr_t)u->fd);
	co_resume(u->co);
	return u;
}

static NOINLINE void make_janitor(struct upload *list)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	volatile unsigned half[2] = {(unsigned)((uintptr_t)list >> 32), (unsigned)(uintptr_t)list};
	janitor.uc_stack.ss_sp = stack;
	janitor.uc_stack.ss_size = sizeof(stack);
	makecontext(&janitor, (void (*)(void))clean, 4, 7, 100, half[0], half[1]);
	half[0] = half[1] = 0; // no trace of it in a dead frame
}

static NOINLINE void open_and_close(void)
{
	struct upload *list = NULL;
	for (int i = 0; i < UPLOADS; i++)
		list = begin(list);
	for (struct upload *u = list; u; u = u->next)
		close(u->fd); // fault
	make_janitor(list);
}

int main(void)
{
	volatile bool cleaned = false;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR2);
	must(getcontext(&janitor));
	open_and_close();
	serve_until_ordered(ep);
	must(getcontext(&back));
	if (!cleaned) {
		cleaned = true;
		setcontext(&janitor);
	}
	return all_resumed(UPLOADS);
}
