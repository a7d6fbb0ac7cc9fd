// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// end: timeout
//
// Two threads take rows from generators, each resumed under a lock, as fast as
// they can, and go round their loop in between. At whatever instant somebody
// looks, one of them is in the middle of it.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct table {
	int ep, tick;
	struct co *rows;
	pthread_mutex_t lock;
	unsigned long sum;
} tables[2];

static void generator(void *arg)
{
	struct table *t = arg;
	for (;;) {
		for (int i = 0; i < 2000; i++)
			t->sum += (unsigned long)i * t->sum;
		co_yield();
	}
}

static void consumer(void *arg)
{
	struct table *t = arg;
	uint64_t n;
	for (;;) {
		co_wait(t->ep, t->tick, EPOLLIN);
		must(read(t->tick, &n, sizeof(n)));
		pthread_mutex_lock(&t->lock);
		co_resume(t->rows);
		pthread_mutex_unlock(&t->lock);
		must(write(t->tick, &(uint64_t){1}, 8));
	}
}

static void table_open(struct table *t)
{
	pthread_mutex_init(&t->lock, NULL);
	t->ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	t->tick = (int)must(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
	t->rows = co_new(generator, t);
	co_start(consumer, t);
}

int main(void)
{
	table_open(&tables[0]);
	table_open(&tables[1]);
	co_loop_thread(&tables[1].ep);
	say("ready");
	co_loop(tables[0].ep);
}
