// SPDX-License-Identifier: MIT
// expect: clean
//
// A worker waits for jobs, and a coroutine for the order to end. A channel of commands was used a few times,
// and is not any more. All of them wait for long, and nothing lies there for them.
#include "mailbox.h"

static struct {
	struct mailbox jobs, commands, end;
} server;

static NOINLINE void serve(struct mailbox *m)
{
	while (is_empty(m))
		wait_for_message(m);
	take(m);
}

static void reader(void *arg)
{
	for (;;)
		serve(arg);
}

static void sender(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2 * LEARNED; i++) {
		struct mailbox *to = i % 4 == 3 ? &server.commands : &server.jobs;
		sleep_for(PAUSE_TICKS);
		put(to, i);
		wake_reader(to);
	}
	stopped_ms = now_ms();
	for (;;)
		sleep_for(5);
}

int main(void)
{
	co_start(reader, &server.jobs);
	co_start(reader, &server.commands);
	co_start(reader, &server.end);
	co_start(sender, NULL);
	tick_until_it_stands_out();
}
