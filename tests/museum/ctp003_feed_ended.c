// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 2 coroutines in 1 finding
// not: history lost, who resumed them is read from there
//
// A feed tells all sessions of each item that is new, and after the last one it is kept for the next run. It
// tells nobody that there are no more: the sessions, and their clients, wait for good.
#include "asked.h"

enum { SESSIONS = 2, ITEMS = 8 };

static struct co *feed_co;

static void feed(void *arg)
{
	(void)arg;
	feed_co = co_self();
	for (int i = 0; i < ITEMS; i++) {
		co_yield ();
		while (nparked)
			unpark_first();
	}
	co_yield (); // kept
}

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char what;
	if (co_read(ep, fd, &what, 1) == 1)
		for (;;) {
			park();
			must(write(fd, "i", 1));
		}
	close(fd);
}

static void tell(const int *clients)
{
	long before = now_ms();
	co_resume(feed_co);
	while (nrunnable)
		co_resume(runnable[--nrunnable]);
	for (int i = 0; i < SESSIONS; i++)
		answer_to(clients[i]);
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
}

int main(void)
{
	int clients[SESSIONS];
	open_server();
	co_start(feed, NULL);
	for (int i = 0; i < SESSIONS; i++) {
		ask(clients[i] = dial(), 's');
		while (nparked <= i)
			turn();
	}
	for (int i = 0; i < ITEMS; i++)
		tell(clients);
	serve_for_good(0);
}
