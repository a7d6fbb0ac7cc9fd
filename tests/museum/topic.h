// SPDX-License-Identifier: MIT
//
// topic.h - a topic that remembers who founded it, which is long gone, and whose subscribers wait
// until somebody publishes: at first once, then after an order. The exhibit says how they are queued.
#pragma once

#include "ordered.h"

#define SUBSCRIBERS 3

struct topic; // these are the exhibit's
static struct topic *found_topic(struct co *founder);
static void next_number(struct topic *t);
static void publish(struct topic *t);

static struct topic *topic;
static struct co_handler publisher;
static int ep, outside[2], published;

static void subscriber(void *arg)
{
	next_number(arg);
	next_number(arg);
	ended++;
}

static void found(void *arg)
{
	(void)arg;
	topic = found_topic(co_self());
}

static void on_publish(struct co_handler *h, uint32_t events)
{
	char byte;
	(void)events;
	if (read(h->fd, &byte, 1) == 1) {
		publish(topic);
		published++;
	}
}

static NOINLINE void one_number(void)
{
	int before = published;
	must(write(outside[1], "n", 1));
	while (published == before)
		co_turn(ep, -1);
}

static NOINLINE int serve_subscribers(void)
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
