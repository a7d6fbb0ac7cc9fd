// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A session has one place to wait for everything. Its input is edge-triggered, and
// it leaves there what comes while its sink is full: at first, and again when it
// has read all that there was in between. The sink's owner, on TCP, resumes it.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, input[2], control[2];
static bool full;
static struct co *volatile the_session; // no dead store: the sink's owner goes by it

static void next_event(void)
{
	co_yield();
}

static void session(void *arg)
{
	char buf[64];
	(void)arg;
	the_session = co_self();
	co_watch(ep, input[0], EPOLLIN | EPOLLET, co_self());
	for (;;) {
		next_event();
		while (!full && read(input[0], buf, sizeof(buf)) > 0)
			;
	}
}

static void on_control(struct co_handler *h, uint32_t events)
{
	char byte;
	(void)events;
	must(read(h->fd, &byte, 1));
	full = byte == 'f';
	if (!full)
		co_resume(the_session);
}

static void more_input(void)
{
	must(write(input[1], "data", 4));
	must(co_turn(ep, -1) ? 0 : -1);
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
	more_input(); // all of it is read
	full = true;
	more_input(); // left there
	say("ready");
	co_loop(ep);
}
