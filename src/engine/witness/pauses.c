// SPDX-License-Identifier: MIT
//
// On a busy machine a thread that ticks is awake most of the time: it waits for a CPU. Looks that come at any
// moment would hardly ever find it asleep.
#include "engine/witness/pauses.h"

#include <stdint.h>
#include <time.h>

#include "engine/target/proc.h"
#include "engine/target/signals.h"

enum { MISSED_MOST = 3 };
#define WAIT_NS 80000000ULL
#define STEP_NS 250000

bool pauses_await(struct pauses *p, pid_t pid)
{
	uint64_t until = proc_now_ns() + WAIT_NS;
	bool stopped, asleep;
	while (!(asleep = proc_asleep(pid, &stopped)) && !stopped && p->missed < MISSED_MOST &&
	       !signals_late(until))
		nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
	p->missed = asleep || stopped ? 0 : p->missed + 1;
	return asleep;
}
