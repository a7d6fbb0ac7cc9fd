// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// As ctp001_deadline_timer, and the sweep comes: at its fourth period the timer
// resumes the readers of what was closed, and they end.
#include <sys/timerfd.h>

#include "late.h"

#define PERIODS 4 // until connections that were closed are swept

static int periods;

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd);
}

static void on_tick(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	if (read(h->fd, &n, sizeof(n)) == sizeof(n) && ++periods == PERIODS)
		resume_all();
}

int main(void)
{
	static struct co_handler timer = {.fn = on_tick};
	struct itimerspec period = {{0, 50000000}, {0, 50000000}};
	open_conns("unix");
	timer.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(timer.fd, 0, &period, NULL));
	co_handle(ep, &timer, EPOLLIN);
	drop_conns();
	while (ended < CONNS)
		co_turn(ep, -1);
	say("swept");
}
