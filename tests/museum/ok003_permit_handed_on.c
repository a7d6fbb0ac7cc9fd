// SPDX-License-Identifier: MIT
// expect: clean
//
// Two jobs may be done at a time. Clients take a permit and hand their job on, with the
// permit: workers that were made before give it back when the job is done. The last two jobs
// are long, and two clients wait for a permit.
#include "permits.h"

#define CLIENTS 4
#define WORKERS 2
#define SHORT 6

static struct co *idle[WORKERS];
static int nidle, handed, left;

static NOINLINE void await_job(void)
{
	idle[nidle++] = co_self();
	co_yield ();
}

static void worker(void *arg)
{
	(void)arg;
	for (;;) {
		while (!left)
			await_job();
		left--;
		sleep_for(handed > SHORT ? 1 << 30 : 2);
		give_permit();
	}
}

static NOINLINE void hand_on(void)
{
	take_permit();
	handed++;
	left++;
	if (nidle)
		co_resume(idle[--nidle]);
}

static void client(void *arg)
{
	(void)arg;
	for (;;) {
		sleep_for(5);
		hand_on();
	}
}

int main(void)
{
	bool said = false;
	permits = 2;
	start_all(worker, WORKERS);
	start_all(client, CLIENTS);
	for (;;) {
		tick();
		if (!stopped_ms && handed >= SHORT + 2 && permit_waiters == CLIENTS)
			stopped_ms = now_ms();
		if (!said && permits_stand_out(0)) {
			said = true;
			say("ready");
		}
	}
}
