// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 1 coroutine
//
// Another thread, which manages sessions, closes one while the loop sleeps in
// poll, and wakes the loop. poll then says POLLNVAL for the number; the loop
// takes that for housekeeping and drops the slot with all that it held.
#include "poller.h"

static struct poller server;
static int sessions[2][2], wake[2];

static void session(void *arg)
{
	char line[64];
	while (poller_read(&server, *(int *)arg, line, sizeof(line)) > 0)
		;
}

static void on_wake(void *arg)
{
	char byte;
	(void)arg;
	while (poller_read(&server, wake[0], &byte, 1) > 0)
		;
}

static NOINLINE void drop_slot(struct poller *p, int slot)
{
	poller_take(p, slot);
	say("ready");
}

static void *manager(void *arg)
{
	close(sessions[1][0]); // fault
	must(write(wake[1], "", 1));
	return arg;
}

int main(void)
{
	pair("pipe", wake);
	co_start(on_wake, NULL);
	for (int i = 0; i < 2; i++) {
		pair("unix", sessions[i]);
		co_start(session, &sessions[i][0]);
		must(write(sessions[i][1], "LOGIN", 5));
		poller_turn(&server, -1);
	}
	co_thread(manager, NULL);
	for (;;) {
		poller_wipe();
		if (poll(server.fds, (nfds_t)server.n, -1) > 0)
			poller_dispatch(&server, drop_slot);
	}
}
