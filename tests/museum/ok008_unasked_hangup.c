// SPDX-License-Identifier: MIT
// expect: clean
//
// A sender waits for room in a full socket; the peer shuts down its own
// direction. The row is for both, edge-triggered: an event comes that the
// sender has not asked for, and is not resumed by. There is no room yet.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *sender_waits;
static int ep, conn, hung_up;

static void sender(void *arg)
{
	static const char block[4096];
	(void)arg;
	for (;;)
		if (co_blocked(write(conn, block, sizeof(block)))) {
			sender_waits = co_self();
			co_yield();
		}
}

static void on_event(struct co_handler *h, uint32_t events)
{
	(void)h;
	hung_up |= (events & EPOLLRDHUP) != 0;
	if ((events & EPOLLOUT) && sender_waits)
		co_resume(sender_waits);
}

int main(void)
{
	static struct co_handler handler = {.fn = on_event};
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	conn = handler.fd = fds[0];
	co_start(sender, NULL);
	co_handle(ep, &handler, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	must(shutdown(fds[1], SHUT_WR));
	while (!hung_up)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
