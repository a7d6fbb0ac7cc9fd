// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
//
// Connections have been closed under their readers, and the server keeps their
// deadline itself: its loop ticks every millisecond and compares the time. In
// an hour it will resume them; until then nothing can show that it will.
#include <time.h>

#include "late.h"

#define TIMEOUT_NS 3600000000000L

static long deadline;

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd); // fault
}

static long now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void)
{
	open_conns("tcp");
	drop_conns();
	deadline = now_ns() + TIMEOUT_NS;
	say("ready");
	while (ended < CONNS) {
		co_turn(ep, 1);
		if (now_ns() >= deadline)
			resume_all();
	}
	say("all timed out");
}
