// SPDX-License-Identifier: MIT
// expect: CTP008 suspect, 1 coroutine
// end: timeout
//
// A loop over poll resumes at most two readers a turn, so that none waits for long. All that were ready are taken
// out of the array before, and who comes third is in no list any more.
#include "poller.h"

static struct poller server;
static int clients[3][2];

static void conn_reader(void *arg)
{
	char line[64];
	while (poller_read(&server, *(int *)arg, line, sizeof(line)) > 0)
		;
	close(*(int *)arg);
}

static NOINLINE void turn(void)
{
	int resumed = 0;
	poller_wipe();
	if (poll(server.fds, (nfds_t)server.n, -1) <= 0)
		return;
	for (int i = server.n - 1; i >= 0; i--) {
		if (!server.fds[i].revents)
			continue;
		struct co *reader = poller_take(&server, i);
		if (++resumed <= 2)
			co_resume(reader);
	}
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		pair("unix", clients[i]);
		co_start(conn_reader, &clients[i][0]);
	}
	for (int i = 0; i < 3; i++)
		must(write(clients[i][1], "HELO", 4));
	turn();
	say("ready");
	for (;;)
		turn();
}
