// SPDX-License-Identifier: MIT
//
// keep.c - where lost.c leaves a pointer to its waiters, and what may still
// use it: with either, nobody can say that they will never run again.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "lost.h"

struct node {
	struct node *next;
	struct co *co;
};

static struct co *all[LOST_MAX];
static uintptr_t tagged[LOST_MAX];
static __thread struct co *mine[LOST_MAX];
static struct node *heap;
static struct co **before; // a table on the heap whose first element is [1]
static struct co pool[LOST_MAX];
static char pool_stacks[LOST_MAX][32 << 10] __attribute__((aligned(16)));
static struct co *handed; // to the thread that keeps one in a register
static pthread_barrier_t taken;

static void keep_heap(int i, struct co *c)
{
	(void)i;
	struct node *n = must_alloc(sizeof(*n));
	n->co = c;
	n->next = heap;
	heap = n;
}

// The last of ten blocks leads to it, a static word to the first.
static void keep_chain(int i, struct co *c)
{
	keep_heap(i, c);
	for (int k = 0; k < 9; k++) {
		struct node *n = must_alloc(sizeof(*n) + 48 * (size_t)k);
		n->next = heap;
		heap = n;
	}
}

static void keep_before(int i, struct co *c)
{
	if (!before) {
		struct co **table = must_alloc(LOST_MAX * sizeof(*table));
		__asm__ volatile("" : "+r"(table)); // the compiler need not know
		before = table - 1;
	}
	before[i + 1] = c;
}

static void *hold(void *arg)
{
	(void)arg;
	char byte;
	struct co *c = handed;
	handed = NULL;
	pthread_barrier_wait(&taken);
	while (read(0, &byte, 1) > 0) // until stdin ends
		;
	co_resume(c);
	return NULL;
}

static void keep_register(struct co *c)
{
	handed = c;
	pthread_barrier_init(&taken, NULL, 2);
	co_thread(hold, NULL);
	pthread_barrier_wait(&taken);
}

static void keep_row(struct co *c)
{
	co_watch(ep, (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), EPOLLIN, c);
}

// As many schedulers have it: one context for the loop, in static storage. The
// context saved last holds the argument of that swapcontext in a register's
// place, dead, but it is a word that leads to the coroutine resumed last.
static union co_context slot;
NOINLINE void lost_keep(co_fn *fn, int i)
{
	void *arg = (void *)(intptr_t)i;
	struct co *c;
	if (is(opt.keep, "pool")) {
		c = &pool[i];
		c->pinned = true;
		co_init(c, fn, arg, pool_stacks[i], sizeof(pool_stacks[i]));
	} else {
		c = co_new(fn, arg);
	}
	if (is(opt.keep, "table"))
		all[i] = c;
	else if (is(opt.keep, "tagged"))
		tagged[i] = (uintptr_t)c | 0xbeefULL << 48;
	else if (is(opt.keep, "tls"))
		mine[i] = c;
	else if (is(opt.keep, "heap"))
		keep_heap(i, c);
	else if (is(opt.keep, "chain"))
		keep_chain(i, c);
	else if (is(opt.keep, "before"))
		keep_before(i, c);
	else if (is(opt.keep, "register"))
		keep_register(c);
	else if (is(opt.keep, "row"))
		keep_row(c);
	if (is(opt.reg, "early"))
		co_watch(ep, victims[i], EPOLLIN, c);
	if (is(opt.keep, "slot"))
		co_resume_from(c, &slot);
	else
		co_resume(c);
}

static NOINLINE struct co *kept(int i)
{
	if (is(opt.keep, "tagged"))
		return (struct co *)(tagged[i] & 0xffffffffffffULL);
	if (is(opt.keep, "tls"))
		return mine[i];
	if (is(opt.keep, "pool"))
		return &pool[i];
	if (is(opt.keep, "before"))
		return before[i + 1];
	if (is(opt.keep, "heap") || is(opt.keep, "chain")) {
		struct node *n = heap;
		while (!n->co)
			n = n->next;
		heap = n->next;
		return n->co;
	}
	return all[i];
}

static NOINLINE void resume_all(void)
{
	for (int i = 0; i < count; i++)
		co_resume(kept(i));
}

// ---- the ways

static void on_row(struct co_handler *h, uint32_t events)
{
	(void)events;
	char buf[8];
	must(read(h->fd, buf, sizeof(buf)));
	resume_all();
}

void lost_accept(struct co_handler *h, uint32_t events)
{
	static struct co_handler control = {.fn = on_row};
	(void)events;
	int fd = (int)must(accept(h->fd, NULL, NULL));
	if (is(opt.way, "accept")) {
		resume_all();
	} else if (is(opt.way, "control")) {
		control.fd = fd;
		co_handle(ep, &control, EPOLLIN);
	}
}

static int self_pipe[2];

static void on_signal(int sig)
{
	(void)sig;
	must(write(self_pipe[1], "", 1));
}

static void way_signal(void)
{
	static struct co_handler h = {.fn = on_row};
	struct sigaction sa = {.sa_handler = on_signal};
	pair("pipe", self_pipe);
	h.fd = self_pipe[0];
	co_handle(ep, &h, EPOLLIN);
	must(sigaction(SIGUSR1, &sa, NULL));
}

static void way_timer(void)
{
	static struct co_handler h = {.fn = on_row};
	long ms = atol(opt.after);
	struct itimerspec t = {.it_value = {ms / 1000, ms % 1000 * 1000000}};
	h.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(h.fd, 0, &t, NULL));
	co_handle(ep, &h, EPOLLIN);
}

void lost_way(void)
{
	if (is(opt.way, "signal"))
		way_signal();
	else if (is(opt.way, "timer"))
		way_timer();
}

static long now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

_Noreturn void lost_tick(void)
{
	long deadline = now_ms() + atol(opt.after);
	for (;;) {
		co_turn(ep, 1);
		if (now_ms() >= deadline)
			resume_all();
	}
}
