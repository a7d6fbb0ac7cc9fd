// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A topic remembers who founded it, which is long gone, and its subscribers are queued
// until somebody publishes. So looks a lock, too, whose owner ended without unlocking.
#include "topic.h"

struct topic {
	struct co *founder;
	struct subscriber {
		struct subscriber *next;
		struct co *co;
	} *queue;
	int number;
};

static struct topic *found_topic(struct co *founder)
{
	struct topic *t = must_alloc(sizeof(*t));
	t->founder = founder;
	return t;
}

static NOINLINE void enqueue(struct topic *t, struct subscriber *s)
{
	s->next = t->queue;
	t->queue = s;
}

static NOINLINE void next_number(struct topic *t)
{
	int before = t->number;
	struct subscriber me = {.co = co_self()};
	enqueue(t, &me);
	while (t->number == before)
		co_yield();
}

static NOINLINE void publish(struct topic *t)
{
	struct subscriber *s = t->queue, *next;
	t->queue = NULL;
	t->number++;
	for (; s; s = next) {
		next = s->next;
		co_resume(s->co);
	}
}

int main(void)
{
	return serve_subscribers();
}
