// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A topic remembers who founded it, which is long gone, and its subscribers are linked
// through the coroutines themselves until somebody publishes. So looks a lock, too,
// whose owner ended without unlocking.
#include "topic.h"

struct topic {
	struct co *founder, *queue; // c->arg: the next one
	int number;
};

static struct topic *found_topic(struct co *founder)
{
	struct topic *t = must_alloc(sizeof(*t));
	t->founder = founder;
	return t;
}

static NOINLINE void enqueue(struct topic *t, struct co *c)
{
	c->arg = t->queue;
	t->queue = c;
}

static NOINLINE void next_number(struct topic *t)
{
	int before = t->number;
	enqueue(t, co_self());
	while (t->number == before)
		co_yield();
}

static NOINLINE void publish(struct topic *t)
{
	struct co *c = t->queue, *next;
	t->queue = NULL;
	t->number++;
	for (; c; c = next) {
		next = c->arg;
		co_resume(c);
	}
}

int main(void)
{
	return serve_subscribers();
}
