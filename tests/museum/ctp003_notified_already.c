// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
//
// A flag says that the reader of a channel was notified, so that a burst of messages wakes it once. A
// notification that finds nobody waiting leaves the flag set: no message notifies any more. They pile up, the
// reader waits.
#include "mailbox.h"

static struct {
	bool notified;
	struct mailbox box;
} channel;
static bool is_away;

static NOINLINE void notify(void)
{
	channel.notified = true;
	if (!channel.box.reader)
		return; // the flag stays
	channel.notified = false;
	wake_reader(&channel.box);
}

static NOINLINE void send_one(int what)
{
	put(&channel.box, what);
	if (!channel.notified)
		notify();
}

static void reader(void *arg)
{
	(void)arg;
	for (;;) {
		while (is_empty(&channel.box))
			wait_for_message(&channel.box);
		int what = take(&channel.box);
		if (what == LEARNED) {
			is_away = true;
			sleep_for(4);
			is_away = false;
		}
	}
}

static void sender(void *arg)
{
	(void)arg;
	for (int i = 0; i <= LEARNED; i++) {
		sleep_for(PAUSE_TICKS);
		send_one(i);
	}
	sleep_for(1);
	must(is_away ? 0 : -1);
	send_one(0); // the reader comes back for this one, and waits again
	sleep_for(20);
	stopped_ms = now_ms();
	for (int i = 1;; i++) {
		sleep_for(5);
		if (i < MESSAGES && i % 4 == 0)
			send_one(i);
	}
}

int main(void)
{
	co_start(reader, NULL);
	co_start(sender, NULL);
	tick_until_it_stands_out();
}
