// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Idle clients of a server around poll(2): every reader's descriptor stands in
// the set in which the loop sleeps.
#include "poller.h"

static struct poller server;
static int clients[5][2];

static void conn_reader(void *arg)
{
	char line[64];
	while (poller_read(&server, *(int *)arg, line, sizeof(line)) > 0)
		;
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		pair(i % 2 ? "tcp" : "pipe", clients[i]);
		co_start(conn_reader, &clients[i][0]);
	}
	must(write(clients[1][1], "HELO", 4));
	poller_turn(&server, -1);
	say("ready");
	poller_loop(&server);
}
