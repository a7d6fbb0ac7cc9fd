// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 2 coroutines
// engine: both
//
// A server around poll(2). A reaper gives up the slots of idle clients and closes
// their sockets; that each slot also named the coroutine to wake was forgotten.
#include "poller.h"

static struct poller server;
static int clients[3][2], reap[2];

static void conn_reader(void *arg)
{
	char line[64];
	while (poller_read(&server, *(int *)arg, line, sizeof(line)) > 0)
		;
}

static NOINLINE void conn_drop(int fd)
{
	for (int i = 0; i < server.n; i++)
		if (server.fds[i].fd == fd) {
			poller_take(&server, i);
			break;
		}
	close(fd); // fault
}

static void reaper(void *arg)
{
	char byte;
	(void)arg;
	poller_read(&server, reap[0], &byte, 1);
	conn_drop(clients[0][0]);
	conn_drop(clients[2][0]);
	say("ready");
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		pair("tcp", clients[i]);
		co_start(conn_reader, &clients[i][0]);
		must(write(clients[i][1], "HELO", 4));
		poller_turn(&server, -1);
	}
	pair("pipe", reap);
	co_start(reaper, NULL);
	must(write(reap[1], "", 1));
	poller_loop(&server);
}
