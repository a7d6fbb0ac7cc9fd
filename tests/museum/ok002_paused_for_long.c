// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A paused source is to go on when a timer of half a minute expires.
#include "paused.h"

static void tick(void)
{
	if (conns[1].waits) {
		watch_conn(1, EPOLL_CTL_MOD, EPOLLIN);
		resume_reader(1);
	}
}

int main(void)
{
	pause_and_serve(30000, 0);
}
