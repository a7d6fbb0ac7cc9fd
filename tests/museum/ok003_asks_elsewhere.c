// SPDX-License-Identifier: MIT
// expect: clean
//
// A resolver looks names up for all sessions, and each is resumed by its next turn. One name it does not
// know: it asks another server, whose answer takes long. Its turn is not over.
#include "asked.h"

enum { SESSIONS = 2, ROUNDS = 6 };

static struct {
	struct co *who;
	char what;
} queries[SESSIONS];
static int nqueries, elsewhere[2];
static struct co *resolver_co;
static bool asks;

static NOINLINE void ask_elsewhere(void)
{
	char answer;
	asks = true;
	must(co_read(ep, elsewhere[0], &answer, 1));
}

static void resolver(void *arg)
{
	(void)arg;
	resolver_co = co_self();
	for (;;) {
		while (nqueries) {
			if (queries[--nqueries].what == 'x')
				ask_elsewhere();
			runnable[nrunnable++] = queries[nqueries].who;
		}
		co_yield ();
	}
}

static NOINLINE void look_up(char what)
{
	queries[nqueries].who = co_self();
	queries[nqueries++].what = what;
	runnable[nrunnable++] = resolver_co;
	co_yield ();
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
	pair("unix", elsewhere);
	co_start(resolver, NULL);
	for (int i = 0; i < SESSIONS; i++)
		clients[i] = dial();
	for (int i = 0; i < SESSIONS * ROUNDS; i++)
		ask_and_hear(clients[i % SESSIONS], 'q');
	ask(clients[0], 'x');
	while (!asks)
		turn();
	serve_for_good(0);
}
