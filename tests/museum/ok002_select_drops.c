// SPDX-License-Identifier: MIT
// expect: clean
//
// A price feed around select. Each subscriber's command is answered with a snapshot,
// and what does not fit into the socket is dropped: a send that says EAGAIN is no
// wait. It waits for the next command, where commands resumed it before.
#include "sets.h"

static char snapshot[64 << 10];
static int subscriber[2], commands, dropped;

static void feed(void *arg)
{
	int fd = *(int *)arg;
	char command[16];
	for (;;) {
		sets_wait(0, fd);
		if (read(fd, command, sizeof(command)) <= 0)
			return;
		commands++;
		dropped += co_blocked(send(fd, snapshot, sizeof(snapshot), MSG_NOSIGNAL));
	}
}

int main(void)
{
	static char sink[64 << 10];
	pair("unix", subscriber);
	co_start(feed, &subscriber[0]);
	while (!dropped) {
		must(write(subscriber[1], "get", 3));
		sets_turn();
	}
	while (read(subscriber[1], sink, sizeof(sink)) > 0)
		;
	say("ready");
	for (;;)
		sets_turn();
}
