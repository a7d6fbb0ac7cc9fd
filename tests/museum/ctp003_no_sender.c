// SPDX-License-Identifier: MIT
// expect: CTP003 suspect..likely, 2 coroutines
// engine: both
//
// A pipeline over channels on the heap: a source sends to a filter, the filter
// to a sink. The source ends after its last item without closing its channel, and
// nobody else has it: the filter waits for an item, the sink for the filter. A
// timer ticks beside them.
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define ROOM 4

struct channel {
	int items[ROOM], head, count;
	bool closed;
	struct co *receiver;
};

struct stage {
	struct channel *in, *out;
};

static int ep, sunk;

static bool receive(struct channel *ch, int *item)
{
	while (ch->count == 0) {
		if (ch->closed)
			return false;
		ch->receiver = co_self();
		co_yield(); // fault
	}
	*item = ch->items[ch->head];
	ch->head = (ch->head + 1) % ROOM;
	ch->count--;
	return true;
}

static void send_item(struct channel *ch, int item)
{
	struct co *receiver = ch->receiver;
	ch->items[(ch->head + ch->count++) % ROOM] = item;
	ch->receiver = NULL;
	if (receiver)
		co_resume(receiver);
}

static void source(void *arg)
{
	struct stage s = *(struct stage *)arg;
	free(arg);
	for (int i = 0; i < 3; i++)
		send_item(s.out, i);
}

static void filter(void *arg)
{
	struct stage s = *(struct stage *)arg;
	int item;
	free(arg);
	while (receive(s.in, &item))
		send_item(s.out, item * item);
	s.out->closed = true;
	if (s.out->receiver)
		co_resume(s.out->receiver);
}

static void sink(void *arg)
{
	struct stage s = *(struct stage *)arg;
	int item;
	free(arg);
	while (receive(s.in, &item))
		sunk++;
}

static NOINLINE void stage(co_fn *fn, struct channel *in, struct channel *out)
{
	struct stage *s = must_alloc(sizeof(*s));
	*s = (struct stage){in, out};
	co_start(fn, s);
}

static NOINLINE void begin(void)
{
	struct channel *raw = must_alloc(sizeof(*raw)), *squares = must_alloc(sizeof(*squares));
	stage(sink, squares, NULL);
	stage(filter, raw, squares);
	stage(source, NULL, raw);
}

static void on_tick(struct co_handler *h, uint32_t events)
{
	static int ticks;
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	if (++ticks == 3)
		say("ready");
}

int main(void)
{
	static struct co_handler timer = {.fn = on_tick};
	struct itimerspec every = {.it_value.tv_nsec = 20000000, .it_interval.tv_nsec = 20000000};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	timer.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	co_handle(ep, &timer, EPOLLIN);
	must(timerfd_settime(timer.fd, 0, &every, NULL));
	begin();
	must(sunk == 3 ? 0 : -1);
	co_loop(ep);
}
