// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
//
// A worker looks at its mailbox, writes a line of log when it is empty, which takes a while, and only then
// waits. One message comes in that while, and wakes nobody. The message lies there, and the worker waits
// beside it; others go on.
#include "mailbox.h"

static struct mailbox jobs;
static bool logs_slowly;

static void worker(void *arg)
{
	(void)arg;
	for (;;) {
		while (is_empty(&jobs)) {
			if (logs_slowly)
				sleep_for(4);
			wait_for_message(&jobs);
		}
		take(&jobs);
	}
}

static void counter(void *arg)
{
	(void)arg;
	for (;;)
		sleep_for(5);
}

static void ticks(int n)
{
	while (n--)
		tick();
}

int main(void)
{
	co_start(worker, NULL);
	co_start(counter, NULL);
	for (int i = 0; i < LEARNED; i++) {
		ticks(PAUSE_TICKS);
		logs_slowly = i == LEARNED - 1;
		put(&jobs, i);
		wake_reader(&jobs);
	}
	ticks(2);
	put(&jobs, LEARNED); // the worker logs
	wake_reader(&jobs);
	stopped_ms = now_ms();
	tick_until_it_stands_out();
}
