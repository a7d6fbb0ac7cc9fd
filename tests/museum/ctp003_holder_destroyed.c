// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 2 coroutines in 1 finding
//
// Reports are written one at a time, under a mutex that all know. The one that has it
// waits for its disk, and takes too long: it is cancelled, its stack is unmapped, and
// nobody unlocks. The others wait for good, and so does the program.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define REPORTS 3

static struct mutex {
	struct co *owner;
	struct waiter {
		struct waiter *next;
		struct co *co;
	} *queue;
} mutex;
static struct co *reports[REPORTS];
static int ep, disk[2];

static void lock(struct mutex *m)
{
	struct waiter me = {m->queue, co_self()};
	if (m->owner) {
		m->queue = &me;
		while (m->owner != me.co)
			co_yield(); // fault
	}
	m->owner = co_self();
}

static void unlock(struct mutex *m)
{
	struct waiter *w = m->queue;
	m->owner = w ? w->co : NULL;
	if (!w)
		return;
	m->queue = w->next;
	co_resume(w->co);
}

static void write_report(void *arg)
{
	struct mutex *one_at_a_time = arg;
	char byte;
	lock(one_at_a_time);
	must(co_read(ep, disk[0], &byte, 1));
	unlock(one_at_a_time);
}

static NOINLINE void cancel(struct co *c)
{
	must(epoll_ctl(ep, EPOLL_CTL_DEL, disk[0], NULL));
	co_free(c);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", disk);
	for (int i = 0; i < REPORTS; i++) {
		reports[i] = co_new(write_report, &mutex);
		co_resume(reports[i]);
	}
	cancel(reports[0]);
	say("ready");
	co_loop(ep);
}
