// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// Locks with a time limit: each waiter has a timer of its own, armed, whose handler
// takes it out of the queue and resumes it without the lock. The owner is busy with a
// client that is silent; the limits are long. One waiter has run into a short one.
#include <sys/timerfd.h>

#include "locks.h"

#define WAITERS 3

struct limit {
	struct co_handler handler; // of its timer
	struct queue *queue;
	struct waiting waiting;
	bool late;
};

static struct limit limits[WAITERS + 1];
static struct fiber_mutex device;
static int ep, client[2], got, gave_up;

static void take_out(struct queue *q, struct waiting *w)
{
	struct waiting **at = &q->first;
	while (*at && *at != w)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = w->next;
	if (!w->next)
		q->last = at;
}

static void on_limit(struct co_handler *h, uint32_t events)
{
	struct limit *l = (struct limit *)h;
	(void)events;
	take_out(l->queue, &l->waiting);
	l->late = l->waiting.granted = true;
	co_resume(l->waiting.co);
}

static NOINLINE void set_limit(struct limit *l, long seconds, long ns)
{
	struct itimerspec at = {.it_value = {seconds, ns}};
	l->handler.fn = on_limit;
	l->handler.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(l->handler.fd, 0, &at, NULL));
	co_handle(ep, &l->handler, EPOLLIN | EPOLLONESHOT);
}

static bool lock_until(struct fiber_mutex *m, struct limit *l, long seconds, long ns)
{
	if (m->owner) {
		l->queue = &m->queue;
		set_limit(l, seconds, ns);
		queue_wait(&m->queue, &l->waiting);
		close(l->handler.fd);
	}
	if (l->late)
		return false;
	m->owner = co_self();
	m->depth++;
	return true;
}

static void holder(void *arg)
{
	char buf[32];
	(void)arg;
	fiber_lock(&device);
	must(co_read(ep, client[0], buf, sizeof(buf)));
	fiber_unlock(&device);
	ended++;
}

static void waiter(void *arg)
{
	struct limit *l = arg;
	bool patient = l != &limits[WAITERS];
	if (lock_until(&device, l, patient ? 3600 : 0, patient ? 0 : 1000000)) {
		got++;
		fiber_unlock(&device);
	} else {
		gave_up++;
	}
	ended++;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	pair("tcp", client);
	co_start(holder, NULL);
	for (int i = 0; i <= WAITERS; i++)
		co_start(waiter, &limits[i]);
	while (!gave_up)
		turn_and_run(ep);
	serve_until_ordered(ep);
	must(write(client[1], "done", 4));
	while (got < WAITERS)
		turn_and_run(ep);
	return all_resumed(WAITERS + 2);
}
