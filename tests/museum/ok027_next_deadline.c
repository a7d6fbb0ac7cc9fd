// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A guard sleeps, and is cancelled: the timer is set to the next deadline. One that sleeps for a short time goes
// on and on; one sleeps for long. Whoever cancelled it set the timer last before it came to wait for a command.
#include "deadlines.h"

static struct deadline *guard;
static struct co *commanded;

static void guarded(void *arg)
{
	(void)arg;
	guard = add_deadline(3000);
	co_yield();
}

static void delayed(void *arg)
{
	(void)arg;
	add_deadline(3600 * 1000);
	co_yield();
}

static void ticker(void *arg)
{
	(void)arg;
	for (;;) {
		add_deadline(20);
		co_yield();
	}
}

static void canceller(void *arg)
{
	struct co *c = take_out(arg);
	set_next();
	co_resume(c);
	stopped_ms = now_ms();
	commanded = co_self();
	co_yield();
}

static void cancel(void)
{
	co_start(canceller, guard);
}

int main(void)
{
	begin_deadlines();
	co_start(guarded, NULL);
	co_start(delayed, NULL);
	co_start(ticker, NULL);
	turn_until_told(cancel);
}
