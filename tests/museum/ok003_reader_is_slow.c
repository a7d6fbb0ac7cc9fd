// SPDX-License-Identifier: MIT
// expect: clean
//
// Two clients send requests to one worker, and wait for the answers. All have the queue before their eyes.
// The worker is at a request that takes longer than any before, and that of the other lies in the queue.
#include "mailbox.h"

#define CLIENTS 2

static struct mailbox requests;
static struct co *clients[CLIENTS];
static bool is_slow;

static void worker(void *arg)
{
	(void)arg;
	for (int n = 0;; n++) {
		while (is_empty(&requests))
			wait_for_message(&requests);
		int from = take(&requests);
		do
			sleep_for(1);
		while (is_slow);
		struct co *c = clients[from];
		clients[from] = NULL;
		co_resume(c);
	}
}

static NOINLINE void ask(struct mailbox *to, int me)
{
	put(to, me);
	wake_reader(to);
	clients[me] = co_self();
	co_yield ();
	must(to->head ? 0 : -1);
}

static void client(void *arg)
{
	int me = (int)(intptr_t)arg;
	for (int n = 0;; n++) {
		sleep_for(PAUSE_TICKS + 6 * me);
		is_slow |= n == LEARNED;
		ask(&requests, me);
	}
}

int main(void)
{
	co_start(worker, NULL);
	start_all(client, CLIENTS);
	for (bool said = false;;) {
		tick();
		if (!stopped_ms && requests.tail - requests.head == CLIENTS - 1)
			stopped_ms = now_ms();
		if (!said && has_stood()) {
			said = true;
			say("ready");
		}
	}
}
