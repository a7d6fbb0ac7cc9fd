// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A channel whose receivers have waited for long: its only sender is a sampler that
// sleeps by a timerfd between two readings, and the next one is an hour away. The
// order makes it due at once.
#include <sys/timerfd.h>

#include "ordered.h"

#define RECEIVERS 3
#define SAMPLES 2

struct receiver {
	struct receiver *next;
	struct co *co;
	int value;
	bool served;
};

static struct channel {
	struct receiver *first, **last;
	bool closed;
} channel = {.last = &channel.first};
static int ep, timer, sampled, received;

static bool channel_receive(int *value)
{
	struct receiver r = {.co = co_self()};
	if (channel.closed)
		return false;
	*channel.last = &r;
	channel.last = &r.next;
	while (!r.served)
		co_yield();
	*value = r.value;
	return !channel.closed;
}

static void channel_send(int value)
{
	struct receiver *all = channel.first;
	channel.first = NULL;
	channel.last = &channel.first;
	while (all) {
		struct receiver *r = all;
		all = r->next;
		r->value = value;
		r->served = true;
		co_resume(r->co);
	}
}

static void receiver(void *arg)
{
	int value;
	(void)arg;
	while (channel_receive(&value))
		received += value;
	ended++;
}

static void set_timer(long seconds, long ns)
{
	struct itimerspec at = {.it_value = {seconds, ns}};
	must(timerfd_settime(timer, 0, &at, NULL));
}

static void sampler(void *arg)
{
	uint64_t n;
	(void)arg;
	while (!ordered) {
		set_timer(sampled < SAMPLES ? 0 : 3600, 1000000);
		must(co_read(ep, timer, &n, sizeof(n)));
		sampled++;
		channel_send(1);
	}
	channel.closed = true;
	channel_send(0);
	ended++;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	for (int i = 0; i < RECEIVERS; i++)
		co_start(receiver, NULL);
	co_start(sampler, NULL);
	while (sampled < SAMPLES)
		co_turn(ep, -1);
	serve_until_ordered(ep);
	set_timer(0, 1);
	while (ended <= RECEIVERS)
		co_turn(ep, -1);
	must(received == RECEIVERS * (SAMPLES + 1) ? 0 : -1);
	return all_resumed(RECEIVERS + 1);
}
