// SPDX-License-Identifier: MIT
// expect: clean
//
// Clients ask for the state of a topic, then subscribe: the server says that they have, and tells them of each
// change. Nothing has changed yet. Their coroutines read last what they answered last.
#include "asked.h"

enum { SESSIONS = 3, ROUNDS = 5 };

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char what;
	while (co_read(ep, fd, &what, 1) == 1) {
		must(write(fd, "y", 1));
		if (what == 's') {
			park();
			must(write(fd, "c", 1));
		}
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
	for (int i = 0; i < SESSIONS; i++)
		ask_and_hear(clients[i], 's');
	serve_for_good(3500);
}
