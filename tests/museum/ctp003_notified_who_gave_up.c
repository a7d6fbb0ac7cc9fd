// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
//
// Two wait for messages. One has a time limit, and leaves without taking itself from the list of those who
// wait: the next message notifies it, and nobody else.
#include "mailbox.h"

#define LIMIT_TICKS 60

struct waiter {
	struct co *co;
	bool over;
};

static struct {
	struct mailbox box;
	struct waiter *waiters[MESSAGES];
	unsigned first, last;
} queue;
static struct waiter with_limit;

static NOINLINE bool pop(struct waiter *w)
{
	while (is_empty(&queue.box)) {
		long before = now_ms();
		*w = (struct waiter){.co = co_self()};
		queue.waiters[queue.last++ % MESSAGES] = w;
		co_yield (); // fault
		if (w->over)
			return false;
		long took = now_ms() - before;
		longest_ms = took > longest_ms ? took : longest_ms;
	}
	take(&queue.box);
	return true;
}

static NOINLINE void push(int what)
{
	put(&queue.box, what);
	if (queue.first == queue.last)
		return;
	struct waiter *w = queue.waiters[queue.first++ % MESSAGES];
	if (!w->over)
		co_resume(w->co);
}

static void reader(void *arg)
{
	struct waiter *w = arg;
	while (pop(w)) {
	}
}

static void sender(void *arg)
{
	static struct waiter own;
	(void)arg;
	for (int i = 0; i < LEARNED; i++) {
		sleep_for(PAUSE_TICKS);
		push(i);
		if (i == 1) // not the first to wait
			co_start(reader, &with_limit);
	}
	if (queue.waiters[queue.first % MESSAGES] != &with_limit) {
		sleep_for(PAUSE_TICKS);
		push(LEARNED);
	}
	own = with_limit;
	with_limit.over = true;
	co_resume(own.co);
	sleep_for(PAUSE_TICKS);
	push(0); // to the one that has left
	stopped_ms = now_ms();
	for (;;)
		sleep_for(5);
}

int main(void)
{
	static struct waiter stays;
	co_start(reader, &stays);
	co_start(sender, NULL);
	tick_until_it_stands_out();
}
