// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
// not: history lost, who resumed the others is read from there
//
// A resolver looks names up for all sessions, and each is resumed by its next turn. When its table is full,
// it drops a name that it does not know, without a word. Nobody comes after that.
#include "asked.h"

enum { SESSIONS = 2, ROUNDS = 6 };

static struct {
	struct co *who;
	char what;
} queries[SESSIONS];
static int nqueries, turns;
static struct co *resolver_co;

static void resolver(void *arg)
{
	(void)arg;
	resolver_co = co_self();
	for (;; turns++) {
		while (nqueries)
			if (queries[--nqueries].what != 'x')
				runnable[nrunnable++] = queries[nqueries].who;
		co_yield ();
	}
}

static NOINLINE void look_up(char what)
{
	queries[nqueries].who = co_self();
	queries[nqueries++].what = what;
	runnable[nrunnable++] = resolver_co;
	co_yield (); // fault
}

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char what;
	while (co_read(ep, fd, &what, 1) == 1) {
		look_up(what);
		must(write(fd, &what, 1));
	}
	close(fd);
}

int main(void)
{
	int clients[SESSIONS];
	open_server();
	co_start(resolver, NULL);
	for (int i = 0; i < SESSIONS; i++)
		clients[i] = dial();
	for (int i = 0; i < SESSIONS * ROUNDS; i++)
		ask_and_hear(clients[i % SESSIONS], 'q');
	int before = turns;
	ask(clients[0], 'x');
	while (turns == before)
		turn();
	serve_for_good(0);
}
