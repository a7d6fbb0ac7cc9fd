// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
//
// The server closes connections and leaves their readers to a sweep that a
// periodic timer will make, a long time from now.
#include <sys/timerfd.h>

#include "late.h"

#define PERIODS 100000 // until connections that were closed are swept

static int periods;

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd); // fault
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
	say("ready");
	while (ended < CONNS)
		co_turn(ep, -1);
	say("swept");
}
