// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 7 coroutines in 1 finding
// not: history lost, who resumed whom is read from there
//
// Requests share a pool of two connections, and each is a coroutine of its own. One that fails
// ends without giving its connection back. After two of those, all that come wait for good; all
// that had a connection have ended. Metrics go on.
#include "rhythm.h"

#define REQUESTS 14
#define CONNECTIONS 2

static struct co *queue[REQUESTS], *runnable[REQUESTS];
static int nqueue, nrunnable, idle = CONNECTIONS, made, answered, waiting;

static NOINLINE void take(void)
{
	long before = now_ms();
	if (!idle) {
		waiting++;
		queue[nqueue++] = co_self();
		co_yield (); // fault
		waiting--;
		long took = now_ms() - before;
		longest_ms = took > longest_ms ? took : longest_ms;
		return; // it was handed over
	}
	idle--;
}

static NOINLINE void give_back(void)
{
	if (!nqueue) {
		idle++;
		return;
	}
	runnable[nrunnable++] = queue[0];
	nqueue--;
	for (int i = 0; i < nqueue; i++)
		queue[i] = queue[i + 1];
}

static void request(void *arg)
{
	(void)arg;
	take();
	sleep_for(5);
	if (answered > 4) { // the other end has gone
		stopped_ms = now_ms();
		return;
	}
	answered++;
	give_back();
}

static void metrics(void *arg)
{
	(void)arg;
	for (;;)
		sleep_for(5);
}

static NOINLINE void ask(void)
{
	co_start(request, NULL);
	__asm__ volatile("");
}

int main(void)
{
	bool said = false;
	co_start(metrics, NULL);
	for (int turn = 0;; turn++) {
		tick();
		while (nrunnable)
			co_resume(runnable[--nrunnable]);
		if (turn % 2 && made < REQUESTS) {
			made++;
			ask();
		}
		if (!said && made == REQUESTS && waiting == nqueue && stands_out()) {
			said = true;
			say("ready");
		}
	}
}
