// SPDX-License-Identifier: MIT
// expect: CTP015 likely, 2 coroutines
//
// Two stages of a pipeline, each with a pipe to the other, in a server that ends
// in good order at SIGTERM. Each takes what the other has sent as leave to send:
// after the first exchange both wait, and nothing lies in either pipe. But for
// the signal's handler nothing could wake the server any more.
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, to_filter[2], to_sink[2];
static volatile sig_atomic_t stop;

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

static void take_leave(int fd)
{
	char leave;
	must(co_read(ep, fd, &leave, 1)); // fault
}

static void filter(void *arg)
{
	(void)arg;
	must(write(to_sink[1], "l", 1));
	for (;;) {
		take_leave(to_filter[0]);
		take_leave(to_filter[0]); // for the header, and for the body
		must(write(to_sink[1], "l", 1));
	}
}

static void sink(void *arg)
{
	(void)arg;
	for (;;) {
		take_leave(to_sink[0]);
		must(write(to_filter[1], "l", 1));
	}
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_term};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(sigaction(SIGTERM, &act, NULL));
	pair("pipe", to_filter);
	pair("pipe", to_sink);
	co_start(filter, NULL);
	co_start(sink, NULL);
	must(co_turn(ep, -1) ? 0 : -1); // the filter has its first
	say("ready");
	while (!stop)
		co_turn(ep, -1);
	return 0;
}
