// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
// engine: both
//
// The loop ends on request, the set is closed, and the program returns from
// main while its readers wait as ever.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[3][2], quit;
static bool done;

static void conn_reader(void *arg)
{
	char buf[256];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static void on_quit(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, quit, &n, sizeof(n)));
	done = true;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	quit = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	co_start(on_quit, NULL);
	must(write(quit, &(uint64_t){1}, 8));
	while (!done)
		co_turn(ep, -1);
	close(ep);
	say("bye");
	return 0;
}
