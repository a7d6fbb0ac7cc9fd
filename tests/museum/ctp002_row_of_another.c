// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 2 coroutines in 2 findings
//
// Sources that have something for a sink ask for room by the sink's row, in the slice in which they read until
// EAGAIN. Above a mark their own interest is taken away, and only a sink that has room gives it back: not one
// whose peer goes. One source took it away from itself, and from the other, which waited.
#include "kicked.h"

static void pause_sources(void)
{
	if (conns[1].got < 2)
		return;
	for (int i = 0; i < SOURCES; i++)
		watch_conn(i, EPOLL_CTL_MOD, 0); // fault
	when_queued = NULL;
}

int main(void)
{
	when_queued = pause_sources;
	start_and_lose_sink();
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}
