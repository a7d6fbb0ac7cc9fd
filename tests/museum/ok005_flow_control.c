// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A session whose one-shot registration has fired, and which leaves what came
// where it is, and the registration as it is, while its sink is full. The sink's
// owner, on TCP, resumes it.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, input[2], control[2];
static bool full = true;
static struct co *volatile the_session; // no dead store: the sink's owner goes by it

static void session(void *arg)
{
	char buf[64];
	(void)arg;
	the_session = co_self();
	co_watch(ep, input[0], EPOLLIN | EPOLLONESHOT, co_self());
	for (;;) {
		co_yield();
		if (full)
			continue;
		while (read(input[0], buf, sizeof(buf)) > 0)
			;
		co_watch(ep, input[0], EPOLLIN | EPOLLONESHOT, co_self());
	}
}

static void on_control(struct co_handler *h, uint32_t events)
{
	char byte;
	(void)events;
	must(read(h->fd, &byte, 1));
	full = false;
	co_resume(the_session);
}

int main(void)
{
	static struct co_handler sink = {.fn = on_control};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", input);
	pair("tcp", control);
	sink.fd = control[0];
	co_handle(ep, &sink, EPOLLIN);
	co_start(session, NULL);
	must(write(input[1], "data", 4));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
