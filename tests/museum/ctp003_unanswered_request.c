// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
// not: history lost, how long others lived is read from there
//
// A coroutine for each connection, and one request on each. A lookup may be answered from the cache of another
// one that is under way; where that fails, who joined it is forgotten. Its client has no deadline.
#include "asked.h"

enum { CLIENTS = 8 };

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char what;
	if (co_read(ep, fd, &what, 1) == 1) {
		park();
		must(write(fd, "y", 1));
	}
	close(fd);
}

static NOINLINE void look_up(int client, char what)
{
	ask(client, what);
	while (!nparked)
		turn();
	if (what == 'q')
		unpark_first();
}

int main(void)
{
	open_server();
	for (int i = 0; i < CLIENTS; i++) {
		int client = dial();
		long before = now_ms();
		look_up(client, 'q');
		answer_to(client);
		close(client);
		long took = now_ms() - before;
		longest_ms = took > longest_ms ? took : longest_ms;
	}
	look_up(dial(), 'f');
	serve_for_good(0);
}
