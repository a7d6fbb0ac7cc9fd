// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Backpressure: while the queue to the disk is full, the source is taken out
// of the set under its waiting reader; when the queue has drained it is put
// back, with the same data.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *reader;
static int ep, source[2], drained, lines;

static void source_reader(void *arg)
{
	char line[64];
	(void)arg;
	while (co_read(ep, source[0], line, sizeof(line)) > 0)
		lines++;
}

static NOINLINE void pause_source(void)
{
	must(epoll_ctl(ep, EPOLL_CTL_DEL, source[0], NULL));
}

static void on_drained(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	co_watch(ep, source[0], EPOLLIN | EPOLLONESHOT, reader);
}

int main(void)
{
	static struct co_handler h = {.fn = on_drained};
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", source);
	h.fd = drained = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_handle(ep, &h, EPOLLIN);
	reader = co_new(source_reader, NULL);
	co_resume(reader);
	for (int i = 0; i < 3; i++) {
		pause_source();
		must(write(source[1], "line", 4));
		co_turn(ep, 1); // nothing comes: it is paused
		must(write(drained, &one, sizeof(one)));
		while (lines == i)
			co_turn(ep, -1);
	}
	say("ready");
	co_loop(ep);
}
