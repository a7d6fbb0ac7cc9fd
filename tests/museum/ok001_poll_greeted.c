// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A client is greeted by one coroutine, whom poll's events wake, and served by
// another, which closes the connection. The greeter has long gone back to the
// pool, where it waits for the next client and not for that descriptor.
#include "poller.h"

static struct poller server;
static struct co *pool[4];
static int client[2], ticks[2], nfree;

static void ticker(void *arg)
{
	uint64_t ticks_passed;
	(void)arg;
	while (poller_read(&server, ticks[0], &ticks_passed, sizeof(ticks_passed)) > 0)
		if (ticks_passed > 1 && nfree)
			co_resume(pool[--nfree]); // late: somebody may have come meanwhile
}

static void session(void *arg)
{
	char line[64];
	(void)arg;
	must(poller_read(&server, client[0], line, sizeof(line)));
	close(client[0]);
}

static void greeter(void *arg)
{
	char hello[64];
	(void)arg;
	for (;;) {
		must(poller_read(&server, client[0], hello, sizeof(hello)));
		co_start(session, NULL);
		pool[nfree++] = co_self();
		co_yield();
	}
}

int main(void)
{
	pair("unix", client);
	pair("eventfd", ticks);
	co_start(ticker, NULL);
	co_start(greeter, NULL);
	must(write(client[1], "HELO", 4));
	poller_turn(&server, -1);
	must(write(client[1], "QUIT", 4)); // with a tick in the same turn
	must(write(ticks[1], &(uint64_t){1}, 8));
	poller_turn(&server, -1);
	say("ready");
	poller_loop(&server);
}
