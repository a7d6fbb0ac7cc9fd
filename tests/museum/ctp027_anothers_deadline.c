// SPDX-License-Identifier: MIT
// expect: CTP027 suspect, 2 coroutines
// engine: both
//
// A guard sleeps, and is cancelled: its deadline leaves the list, and the timer, which was set to it, is
// disarmed. Two others of the list sleep for good.
#include "deadlines.h"

static struct deadline *guard;

static void guarded(void *arg)
{
	(void)arg;
	guard = add_deadline(3000);
	co_yield();
}

static NOINLINE void sleep_ms(long ms)
{
	add_deadline(ms);
	co_yield(); // fault
}

static void delayed(void *arg)
{
	sleep_ms(4000 + 1000 * (intptr_t)arg);
}

static void canceller(void *arg)
{
	struct deadline *d = arg;
	struct co *c = take_out(d);
	set_timer(0); // fault
	co_resume(c);
	stopped_ms = now_ms();
}

static void cancel(void)
{
	co_start(canceller, guard);
}

int main(void)
{
	begin_deadlines();
	co_start(guarded, NULL);
	start_all(delayed, 2);
	turn_until_told(cancel);
}
