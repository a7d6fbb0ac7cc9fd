// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A condition with time limits that share one timer: the limits stand in a wheel in
// memory, and the timerfd is armed for the nearest one. Three wait for a notification
// that need not come, as each goes on by itself when its limit is over. So did two.
#include <sys/timerfd.h>

#include "locks.h"

#define SLOTS 8
#define TICK_NS 1000000

struct limit {
	struct limit *next;
	struct waiting *waiting;
	bool over;
};

static struct limit *wheel[SLOTS];
static struct queue condition;
static struct co_handler timer;
static unsigned hand;
static int ep, timed_out;

static void arm(long seconds, long ns)
{
	struct itimerspec at = {.it_value = {seconds, ns}};
	must(timerfd_settime(timer.fd, 0, &at, NULL));
}

static void leave_queue(struct waiting *w)
{
	struct waiting **at = &condition.first;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	if (!w->next)
		condition.last = at;
	w->granted = true;
	make_runnable(w);
}

static void on_tick(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	struct limit *due = wheel[++hand % SLOTS];
	wheel[hand % SLOTS] = NULL;
	for (; due; due = due->next) {
		due->over = true;
		leave_queue(due->waiting);
	}
}

static bool wait_for(unsigned ticks)
{
	struct waiting w = {0};
	struct limit l = {.waiting = &w, .next = wheel[(hand + ticks) % SLOTS]};
	wheel[(hand + ticks) % SLOTS] = &l;
	queue_wait(&condition, &w);
	return !l.over;
}

static void consumer(void *arg)
{
	unsigned ticks = (unsigned)(uintptr_t)arg;
	if (!wait_for(ticks))
		timed_out++;
	ended++;
}

static NOINLINE void tick_until(int n)
{
	while (timed_out < n) {
		arm(0, TICK_NS);
		turn_and_run(ep);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	timer.fn = on_tick;
	timer.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	co_handle(ep, &timer, EPOLLIN);
	for (uintptr_t ticks = 1; ticks <= 2; ticks++)
		co_start(consumer, (void *)ticks);
	tick_until(2);
	for (uintptr_t ticks = 1; ticks <= 3; ticks++)
		co_start(consumer, (void *)ticks);
	arm(3600, 0);
	serve_until_ordered(ep);
	tick_until(5);
	return all_resumed(5);
}
