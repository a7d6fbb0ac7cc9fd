// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 1 coroutine
// engine: fcontext
//
// A fiber waits from the very function in which it began, and lets the loop put
// down where it stands once it has left: it goes by ontop_fcontext, as
// boost::context::fiber::resume_with does. A reaper closes its descriptor.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "fcontext.h"
#include "must.h"

#define STACK (64 << 10)

static fcontext_t waits;
static int ep, conn;

static struct transfer put_down(struct transfer t)
{
	*(fcontext_t *)t.data = t.from;
	return (struct transfer){NULL, NULL};
}

static void reader(struct transfer loop)
{
	fcontext_t *where = &waits, *handed = where;
	char buf[64];
	while (co_blocked(read(conn, buf, sizeof(buf)))) {
		struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = where};
		must(epoll_ctl(ep, EPOLL_CTL_ADD, conn, &ev));
		loop = ontop_fcontext(loop.from, handed, put_down); // fault
	}
}

static NOINLINE void start(void)
{
	char *stack = must_map(STACK);
	jump_fcontext(make_fcontext(stack + STACK - 256, STACK - 256, reader), NULL);
}

static NOINLINE void reap(void)
{
	close(conn); // fault
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	conn = fds[0];
	start();
	reap();
	say("ready");
	co_loop(ep);
}
