// SPDX-License-Identifier: MIT
// expect: clean
//
// Each connection asks for a report, and a report takes long. Two are being made, for no longer than ten times
// what the others took.
#include "asked.h"

enum { CLIENTS = 6, REPORT_MS = 400 };

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

int main(void)
{
	open_server();
	for (int i = 0; i < CLIENTS; i++) {
		int client = dial();
		ask(client, 'q');
		long before = now_ms();
		while (!nparked || now_ms() - before < REPORT_MS)
			turn();
		unpark_first();
		answer_to(client);
		close(client);
	}
	for (int i = 0; i < 2; i++) {
		ask(dial(), 'q');
		while (nparked <= i)
			turn();
	}
	long before = now_ms();
	while (now_ms() - before < 3 * REPORT_MS)
		turn();
	say("ready");
	for (before = now_ms();; turn()) // until they are stopped, they are in time
		if (nparked && now_ms() - before > 5 * REPORT_MS)
			unpark_first();
}
