// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
// not: history lost, who was resumed there later is read from there
//
// Sessions send their queries to a backend over one connection, and wait for the answer that has their number.
// One answer has a number that a reload has just freed: it is thrown away. The others go on.
#include "asked.h"

enum { SESSIONS = 3, ROUNDS = 6 };

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char what;
	while (co_read(ep, fd, &what, 1) == 1) {
		park();
		must(write(fd, "y", 1));
	}
	close(fd);
}

// Of the one that came last: the first is forgotten.
static NOINLINE void round_trip(int client, int forgotten)
{
	long before = now_ms();
	ask(client, 'q');
	while (nparked == forgotten)
		turn();
	runnable[nrunnable++] = parked[--nparked];
	answer_to(client);
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
}

int main(void)
{
	int clients[SESSIONS];
	open_server();
	for (int i = 0; i < SESSIONS; i++)
		clients[i] = dial();
	for (int i = 0; i < SESSIONS; i++)
		round_trip(clients[i], 0);
	ask(clients[0], 'q');
	while (!nparked)
		turn();
	for (int i = 0; i < 2 * ROUNDS; i++)
		round_trip(clients[1 + i % 2], 1);
	serve_for_good(0);
}
