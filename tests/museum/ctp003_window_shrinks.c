// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 2 coroutines in 1 finding
// not: history lost, who was resumed is read from there
//
// Streams share a window of four credits. What has been sent is acknowledged soon, and
// the credit goes to the first who waits; but that of a stream which has ended is given
// to nobody. When four streams have ended, no credit is left for the two that go on.
#include "permits.h"

#define STREAMS 6

static bool open_is[STREAMS];
static int unacknowledged[8 * STREAMS], sent;
static long life_ms;

static void stream(void *arg)
{
	int me = (int)(intptr_t)arg;
	long before = now_ms();
	open_is[me] = true;
	for (int n = me < 4 ? 2 : 40; n > 0; n--) {
		take_permit();
		unacknowledged[sent++] = me;
		if (n > 1)
			sleep_for(1);
	}
	open_is[me] = false;
	long took = now_ms() - before;
	life_ms = took > life_ms ? took : life_ms;
}

static void acknowledges(void *arg)
{
	(void)arg;
	for (int done = 0;;) {
		sleep_for(3);
		for (int n = sent; done < n; done++)
			if (open_is[unacknowledged[done]])
				give_permit();
	}
}

int main(void)
{
	bool said = false;
	permits = 4;
	co_start(counter, NULL);
	co_start(acknowledges, NULL);
	start_all(stream, STREAMS);
	for (int waited = 0;;) {
		int before = sent;
		tick();
		waited = sent == before && permit_waiters == 2 ? waited + 1 : 0;
		if (!stopped_ms && waited == 20)
			stopped_ms = now_ms();
		if (!said && permits_stand_out(life_ms)) {
			said = true;
			say("ready");
		}
	}
}
