// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// Who has spent its tokens takes itself out of the set, and is put back by a timer, for the first time in an
// hour. What its client has sent meanwhile stays unread.
#include <sys/timerfd.h>

#include "unread.h"

enum { TIMER = 3, HOUR_S = 3600, TOKENS = 2 };

static void serve(void *arg)
{
	struct conn *c = arg;
	char text[16];
	for (int tokens = TOKENS;; tokens = TOKENS) {
		while (tokens > 0) {
			ssize_t n = read(c->fd, text, 4);
			if (co_blocked(n)) {
				co_yield();
				continue;
			}
			if (n <= 0)
				return;
			tokens--;
		}
		must(epoll_ctl(ep, EPOLL_CTL_DEL, c->fd, NULL));
		c->waits = true;
		co_yield(); // until the timer
		c->waits = false;
		watch_conn(number_of(c), EPOLL_CTL_ADD, EPOLLIN);
	}
}

static void come(int i)
{
	uint64_t n;
	if (i != TIMER)
		co_resume(conns[i].co);
	else if (read(conns[TIMER].fd, &n, sizeof(n)) == sizeof(n))
		for (i = 0; i < TIMER; i++)
			if (conns[i].waits)
				co_resume(conns[i].co);
}

int main(void)
{
	struct itimerspec t = {{HOUR_S, 0}, {HOUR_S, 0}};
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	conns[TIMER].fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	must(timerfd_settime(conns[TIMER].fd, 0, &t, NULL));
	watch_conn(TIMER, EPOLL_CTL_ADD, EPOLLIN);
	for (int i = 0; i < 2; i++)
		start_reader(i, serve, EPOLLIN);
	for (int i = 0; i < TOKENS; i++)
		send_text(1, "text");
	while (!conns[1].waits)
		turn(-1, come);
	send_text(1, "more");
	say("ready");
	for (;;)
		turn(-1, come);
}
