// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 3 coroutines in 1 finding
// not: history lost, that none was ever resumed there is read from there
//
// Sessions take a connection to the database for each query, and there are always enough: nobody has ever
// waited for one. Where the database says no, the function returns early and keeps it. After two of those, all
// sessions wait at their next query, and their clients for them.
#include "asked.h"

enum { SESSIONS = 3, ROUNDS = 5 };
static int idle = 2;

static NOINLINE void take_connection(void)
{
	if (!idle)
		park(); // fault
	else
		idle--;
}

static void give_back(void)
{
	if (nparked)
		unpark_first();
	else
		idle++;
}

static NOINLINE char query(char what)
{
	take_connection();
	if (what == 'd')
		return 'n'; // and does not give it back
	give_back();
	return 'y';
}

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char what;
	while (co_read(ep, fd, &what, 1) == 1) {
		what = query(what);
		must(write(fd, &what, 1));
	}
	close(fd);
}

int main(void)
{
	int clients[SESSIONS];
	open_server();
	for (int i = 0; i < SESSIONS; i++)
		clients[i] = dial();
	for (int i = 0; i < SESSIONS * ROUNDS; i++)
		ask_and_hear(clients[i % SESSIONS], 'q');
	ask_and_hear(clients[0], 'd');
	ask_and_hear(clients[1], 'd');
	for (int i = 0; i < SESSIONS; i++)
		ask(clients[i], 'q');
	while (nparked < SESSIONS)
		turn();
	serve_for_good(3500);
}
