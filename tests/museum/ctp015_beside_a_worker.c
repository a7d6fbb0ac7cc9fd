// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 2 coroutines in 1 finding
// engine: both
//
// A store whose ledger and index have mutexes; those who wait for one are linked through
// the coroutines themselves. Two updates take them in both orders. Beside the loop, a
// thread of its own keeps on working: the program is never quiet.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct mutex {
	struct co *owner, *queue; // c->arg: the next one
};

static struct mutex ledger, records;
static struct co_handler ready_to_go;
static struct co *runnable[8];
static unsigned long compacted;
static int ep, nrunnable, updates, disk[2];

static void lock(struct mutex *m)
{
	struct co *self = co_self();
	if (m->owner) {
		self->arg = m->queue;
		m->queue = self;
		while (m->owner != self)
			co_yield(); // fault
	}
	m->owner = self;
}

static void unlock(struct mutex *m)
{
	struct co *c = m->queue;
	m->owner = c;
	if (!c)
		return;
	m->queue = c->arg;
	runnable[nrunnable++] = c;
}

static void let_others_run(void)
{
	runnable[nrunnable++] = co_self();
	co_yield();
}

static void update(void *arg)
{
	struct mutex *first = arg, *second = first == &ledger ? &records : &ledger;
	lock(first);
	let_others_run();
	lock(second);
	updates++;
	unlock(second);
	unlock(first);
}

static NOINLINE void run_all(void)
{
	for (int i = 0; i < nrunnable; i++) {
		struct co *c = runnable[i];
		runnable[i] = NULL;
		co_resume(c);
	}
	nrunnable = 0;
}

static void *compact(void *arg)
{
	for (;;)
		if (++compacted % 4096 == 0)
			nap_ms(1);
	return arg;
}

static void on_byte(struct co_handler *h, uint32_t events)
{
	char byte;
	(void)events;
	must(read(h->fd, &byte, 1));
	say("ready");
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_thread(compact, NULL);
	pair("pipe", disk);
	ready_to_go.fn = on_byte;
	ready_to_go.fd = disk[0];
	co_handle(ep, &ready_to_go, EPOLLIN);
	co_start(update, &ledger);
	run_all();
	must(updates == 1 ? 0 : -1);
	co_start(update, &ledger);
	co_start(update, &records);
	run_all();
	must(updates == 1 ? 0 : -1);
	must(write(disk[1], "b", 1));
	co_loop(ep);
}
