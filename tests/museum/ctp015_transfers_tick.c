// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 2 coroutines in 1 finding
// engine: both
//
// A ledger with one lock for each account. A transfer locks the account that
// pays, does its bookkeeping, lets others run, and locks the one that is paid.
// Two transfers between the same accounts, in opposite directions, stop each
// other for ever. A timer ticks beside them; only the two lead to the accounts.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct waiter {
	struct waiter *next;
	struct co *co;
};

struct lock {
	struct co *owner;
	struct waiter *first;
};

struct account {
	struct lock lock;
	long cents;
};

struct transfer {
	struct account *from, *to;
	long cents;
};

static struct co *ready[8];
static int ep, nready, done;

static void let_others_run(void)
{
	ready[nready++] = co_self();
	co_yield();
}

static NOINLINE void append(struct lock *l, struct waiter *w)
{
	struct waiter **end = &l->first;
	while (*end)
		end = &(*end)->next;
	*end = w;
}

static void acquire(struct lock *l)
{
	struct waiter me = {NULL, co_self()};
	if (!l->owner) {
		l->owner = me.co;
		return;
	}
	append(l, &me);
	while (l->owner != me.co)
		co_yield(); // fault
}

static void release(struct lock *l)
{
	struct waiter *next = l->first;
	l->owner = next ? next->co : NULL;
	if (!next)
		return;
	l->first = next->next;
	ready[nready++] = next->co;
}

static void transfer(void *arg)
{
	struct transfer t = *(struct transfer *)arg;
	acquire(&t.from->lock);
	t.from->cents -= t.cents;
	let_others_run(); // as a write to the journal does
	acquire(&t.to->lock);
	t.to->cents += t.cents;
	release(&t.to->lock);
	release(&t.from->lock);
	done++;
}

static NOINLINE void run_ready(void)
{
	while (nready > 0) {
		struct co *c = ready[--nready];
		ready[nready] = NULL;
		co_resume(c);
	}
}

static NOINLINE void order_transfers(int crossed)
{
	struct account *rent = must_alloc(sizeof(*rent)), *wages = must_alloc(sizeof(*wages));
	struct transfer out = {rent, wages, 500}, back = {crossed ? wages : rent, crossed ? rent : wages, 300};
	co_start(transfer, &out);
	co_start(transfer, &back);
}

static void on_tick(struct co_handler *h, uint32_t events)
{
	static int ticks;
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	if (++ticks == 3)
		say("ready");
}

int main(void)
{
	static struct co_handler timer = {.fn = on_tick};
	struct itimerspec every = {.it_value.tv_nsec = 20000000, .it_interval.tv_nsec = 20000000};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	timer.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	co_handle(ep, &timer, EPOLLIN);
	must(timerfd_settime(timer.fd, 0, &every, NULL));
	order_transfers(0); // these come through
	run_ready();
	order_transfers(1);
	for (;;) {
		run_ready();
		co_turn(ep, -1);
	}
}
