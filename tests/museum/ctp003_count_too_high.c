// SPDX-License-Identifier: MIT
// expect: CTP003 suspect..likely, 1 coroutine
//
// A crawl waits for its fetches by a counter on the heap. It adds one for each
// link, also for the one that it skips then, as seen before: the last fetch ends,
// the counter stands at one, and the crawl waits for ever. Contexts of its own,
// on the heap; the loop has nothing but a listener.
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define NOINLINE __attribute__((noinline))
enum { STACK = 32 << 10, LINKS = 3 };

struct group {
	int count;
	struct task *waiter;
};

struct task {
	struct group *group;
	const char *link;
	int crawls, ended;
	ucontext_t context, back;
	char stack[STACK] __attribute__((aligned(16)));
};

static struct task *current, *queued[8];
static int nqueued, fetched, crawled;

static NOINLINE void resume(struct task *t)
{
	struct task *outer = current;
	current = t;
	swapcontext(&t->back, &t->context);
	current = outer;
	if (t->ended)
		free(t);
}

static NOINLINE struct task *self(void)
{
	return current;
}

static void wait_for(struct group *g)
{
	struct task *me = self();
	while (g->count > 0) {
		g->waiter = me;
		swapcontext(&me->context, &me->back); // fault
	}
}

static void task_main(void);

static NOINLINE void start(struct group *g, const char *link, int crawls)
{
	struct task *t = must_alloc(sizeof(*t));
	t->group = g;
	t->link = link;
	t->crawls = crawls;
	must(getcontext(&t->context));
	t->context.uc_stack.ss_sp = t->stack;
	t->context.uc_stack.ss_size = STACK;
	makecontext(&t->context, task_main, 0);
	resume(t);
}

static void done(struct group *g)
{
	if (--g->count == 0 && g->waiter)
		resume(g->waiter);
}

static void fetch(struct task *me)
{
	queued[nqueued++] = me; // for its answer
	swapcontext(&me->context, &me->back);
	fetched += (int)strlen(me->link) > 0;
	done(me->group);
}

static void crawl(struct task *me)
{
	static const char *const links[2][LINKS] = {{"/a", "/b", "/c"}, {"/d", "/b", "/e"}};
	const char *const *page = links[crawled];
	for (int i = 0; i < LINKS; i++) {
		me->group->count++;
		if (crawled == 0 || strcmp(page[i], "/b") != 0)
			start(me->group, page[i], 0);
	}
	wait_for(me->group);
	free(me->group);
	crawled++;
}

static void task_main(void)
{
	struct task *me = self();
	if (me->crawls)
		crawl(me);
	else
		fetch(me);
	me->ended = 1;
	swapcontext(&me->context, &me->back);
}

static NOINLINE void run_queued(void)
{
	while (nqueued > 0) {
		struct task *t = queued[--nqueued];
		queued[nqueued] = NULL;
		resume(t);
	}
}

static NOINLINE void wipe(void) // what dead frames hold is no way to a task
{
	char dead[16 << 10];
	memset(dead, 0, sizeof(dead));
	__asm__ volatile("" : : "r"(dead) : "memory");
}

int main(void)
{
	int port, listener = tcp_listen(&port), ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	struct epoll_event ev = {.events = EPOLLIN};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	for (int i = 0; i < 2; i++) {
		start(must_alloc(sizeof(struct group)), "/", 1);
		run_queued();
	}
	must(fetched == 5 && crawled == 1 ? 0 : -1);
	wipe();
	say("ready");
	for (;;)
		if (epoll_wait(ep, &ev, 1, -1) == 1)
			close(accept(listener, NULL, NULL));
}
