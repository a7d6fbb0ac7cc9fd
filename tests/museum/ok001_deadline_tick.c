// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// The same as ctp001_deadline_tick, and the deadline comes: the loop resumes
// the readers, they see EBADF and end.
#include <time.h>

#include "late.h"

#define TIMEOUT_NS 50000000L

static long deadline;

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd);
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
	while (ended < CONNS) {
		co_turn(ep, 1);
		if (now_ns() >= deadline)
			resume_all();
	}
	say("all timed out");
}
