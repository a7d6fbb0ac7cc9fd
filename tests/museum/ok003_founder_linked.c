// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A topic remembers who founded it, which is long gone, and its subscribers are linked
// through the coroutines themselves until somebody publishes. So looks a lock, too,
// whose owner ended without unlocking.
#include "ordered.h"

#define SUBSCRIBERS 3

struct topic {
	struct co *founder, *queue; // c->arg: the next one
	int number;
};

static struct topic *topic;
static struct co_handler publisher;
static int ep, outside[2];

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

static void subscriber(void *arg)
{
	next_number(arg);
	next_number(arg);
	ended++;
}

static void found(void *arg)
{
	(void)arg;
	topic = must_alloc(sizeof(*topic));
	topic->founder = co_self();
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

static void on_publish(struct co_handler *h, uint32_t events)
{
	char byte;
	(void)events;
	if (read(h->fd, &byte, 1) == 1)
		publish(topic);
}

static NOINLINE void one_number(void)
{
	int before = topic->number;
	must(write(outside[1], "n", 1));
	while (topic->number == before)
		co_turn(ep, -1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	pair("unix", outside);
	publisher.fn = on_publish;
	publisher.fd = outside[0];
	co_handle(ep, &publisher, EPOLLIN);
	co_start(found, NULL);
	for (int i = 0; i < SUBSCRIBERS; i++)
		co_start(subscriber, topic);
	one_number();
	serve_until_ordered(ep);
	one_number();
	return all_resumed(SUBSCRIBERS);
}
