// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
//
// When a client leaves, its slot is filled with the last one, but the count is
// lowered twice: another client's descriptor stands in no set any more, open,
// with its reader waiting. (No call took it out: there is no line to show.)
#include "poller.h"

static struct poller server;
static int clients[4][2];

static void conn_reader(void *arg)
{
	char line[64];
	while (poller_read(&server, *(int *)arg, line, sizeof(line)) > 0)
		;
	close(*(int *)arg);
}

static NOINLINE void turn(void)
{
	if (poll(server.fds, (nfds_t)server.n, -1) <= 0)
		return;
	for (int i = 0; i < server.n; i++)
		if (server.fds[i].revents & POLLHUP) {
			struct co *reader = poller_take(&server, i);
			server.n--;
			co_resume(reader);
			say("ready");
			return;
		}
	poller_dispatch(&server, NULL);
}

int main(void)
{
	for (int i = 0; i < 4; i++) {
		pair("unix", clients[i]);
		co_start(conn_reader, &clients[i][0]);
		must(write(clients[i][1], "HELO", 4));
		turn();
	}
	close(clients[0][1]);
	for (;;)
		turn();
}
