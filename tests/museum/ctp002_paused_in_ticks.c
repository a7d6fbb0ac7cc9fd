// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// end: timeout
//
// A paused source is to go on when what it sent has been passed on, which is so already; the loop ticks, and does
// not look at it again.
#include "paused.h"

static void tick(void)
{
	if (conns[1].waits && conns[1].got == 0)
		watch_conn(1, EPOLL_CTL_MOD, EPOLLIN);
}

int main(void)
{
	pause_and_serve(20, 20);
}
