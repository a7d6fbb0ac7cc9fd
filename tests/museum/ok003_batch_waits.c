// SPDX-License-Identifier: MIT
// expect: clean
//
// A reader is resumed when four messages lie there, never before. Two have come for the next time; more will
// not come soon.
#include "mailbox.h"

#define BATCH 4

static struct mailbox box;

static void reader(void *arg)
{
	(void)arg;
	for (;;) {
		while (is_empty(&box))
			wait_for_message(&box);
		while (!is_empty(&box))
			take(&box);
	}
}

static void sender(void *arg)
{
	(void)arg;
	for (int i = 1; i <= LEARNED * BATCH / 2 + 2; i++) {
		sleep_for(PAUSE_TICKS);
		put(&box, i);
		if (i % BATCH == 0)
			wake_reader(&box);
	}
	stopped_ms = now_ms();
	for (;;)
		sleep_for(5);
}

int main(void)
{
	co_start(reader, NULL);
	co_start(sender, NULL);
	tick_until_it_stands_out();
}
