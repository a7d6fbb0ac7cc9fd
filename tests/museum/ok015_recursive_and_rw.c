// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A configuration behind a lock for many readers or one writer, and a store behind
// a recursive one. A writer waits for a reader that is in the middle of a slow
// transfer, and new readers wait behind it; who has the store has taken it twice.
#include "locks.h"

#define READERS 3

static struct {
	int readers;
	bool writes;
	struct queue queue;
} config;
static struct fiber_mutex store;
static int ep, slow[2], stored[2], version;

static void read_lock(void)
{
	struct waiting w = {.shared = true};
	if (config.writes || config.queue.first)
		queue_wait(&config.queue, &w);
	else
		config.readers++;
}

static void write_lock(void)
{
	struct waiting w = {0};
	if (config.writes || config.readers)
		queue_wait(&config.queue, &w);
	else
		config.writes = true;
}

// The first writer of the queue, or all readers up to it.
static void admit(void)
{
	while (config.queue.first && !config.writes) {
		if (!config.queue.first->shared && config.readers)
			return;
		if (queue_grant(&config.queue)->shared)
			config.readers++;
		else
			config.writes = true;
	}
}

static void read_unlock(void)
{
	config.readers--;
	admit();
}

static void write_unlock(void)
{
	config.writes = false;
	admit();
}

static void slow_reader(void *arg)
{
	char buf[64];
	(void)arg;
	read_lock();
	must(co_read(ep, slow[0], buf, sizeof(buf)));
	read_unlock();
	ended++;
}

static void writer(void *arg)
{
	(void)arg;
	write_lock();
	version++;
	write_unlock();
	ended++;
}

static void quick_reader(void *arg)
{
	int *seen = arg;
	read_lock();
	*seen = version;
	read_unlock();
	ended++;
}

static void put(const char *what)
{
	char answer[16];
	fiber_lock(&store); // the second time
	must(write(stored[0], what, strlen(what)));
	must(co_read(ep, stored[0], answer, sizeof(answer)));
	fiber_unlock(&store);
}

static void transaction(void *arg)
{
	fiber_lock(&store);
	put(arg);
	put("commit");
	fiber_unlock(&store);
	ended++;
}

static NOINLINE void answer_store(void)
{
	must(write(stored[1], "ok", 2));
	turn_and_run(ep);
}

int main(void)
{
	static int seen[READERS];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	pair("tcp", slow);
	pair("unix", stored);
	co_start(slow_reader, NULL);
	co_start(writer, NULL);
	for (int i = 0; i < READERS; i++)
		co_start(quick_reader, &seen[i]);
	co_start(transaction, "one");
	co_start(transaction, "two");
	answer_store(); // the first has one more to come, the second waits
	serve_until_ordered(ep);
	must(write(slow[1], "end", 3));
	while (ended < 2 + READERS)
		turn_and_run(ep);
	for (int i = 0; i < 3; i++)
		answer_store();
	must(seen[0] == 1 ? 0 : -1);
	return all_resumed(4 + READERS);
}
