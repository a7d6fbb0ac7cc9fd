// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 2 coroutines in 1 finding
//
// A bank's accounts, each with a lock of the program's own: its owner, and a vector of
// those who wait, as C++ programs have it. A transfer locks the account that pays first,
// and two transfers go in both directions. A clock ticks, and other transfers come
// through. The accounts are static, and no frame has a lock's address.
#include <sys/timerfd.h>

#include "vector_lock.h"

static struct vector_lock accounts[3];
static int ep, done;

static void transfer(void *arg)
{
	int from = (int)(intptr_t)arg >> 4, to = (int)(intptr_t)arg & 15;
	vector_lock(&accounts[from]);
	let_others_run(); // as a write to the journal does
	vector_lock(&accounts[to]);
	vector_unlock(&accounts[to]);
	vector_unlock(&accounts[from]);
	done++;
}

static NOINLINE void order(int from, int to)
{
	co_start(transfer, (void *)(intptr_t)(from << 4 | to));
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
	order(0, 2);
	order(0, 2);
	run_ready();
	must(done == 2 ? 0 : -1);
	order(1, 2);
	order(2, 1);
	for (;;) {
		run_ready();
		co_turn(ep, -1);
	}
}
