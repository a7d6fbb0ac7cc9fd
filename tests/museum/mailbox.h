// SPDX-License-Identifier: MIT
//
// mailbox.h - a queue of messages with one reader, in a ring. The exhibit has the reader's look, its wait and
// who sends. A reader that waits beside a message stands out when that lasts longer than ctp-run needs to
// tell.
#pragma once

#include "rhythm.h"

#define MESSAGES 16
#define FILLED_MS 3000
#define PAUSE_TICKS 25 // between two messages, so that ctp-run sees the reader wait
#define LEARNED 12     // messages before the fault

struct mailbox {
	struct co *reader; // who waits
	unsigned head, tail;
	int messages[MESSAGES];
};

RHYTHM bool is_empty(const struct mailbox *m)
{
	return m->head == m->tail;
}

RHYTHM void put(struct mailbox *m, int what)
{
	m->messages[m->tail++ % MESSAGES] = what;
}

RHYTHM int take(struct mailbox *m)
{
	return m->messages[m->head++ % MESSAGES];
}

RHYTHM void wake_reader(struct mailbox *m)
{
	struct co *c = m->reader;
	m->reader = NULL;
	if (c)
		co_resume(c);
}

RHYTHM NOINLINE void wait_for_message(struct mailbox *m)
{
	long before = now_ms();
	m->reader = co_self();
	co_yield (); // fault
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
}

RHYTHM bool has_stood(void)
{
	long passed = now_ms() - stopped_ms;
	return stopped_ms && passed > FILLED_MS && passed > 3 * longest_ms;
}

RHYTHM void tick_until_it_stands_out(void)
{
	for (bool said = false;;) {
		tick();
		if (!said && has_stood()) {
			said = true;
			say("ready");
		}
	}
}
