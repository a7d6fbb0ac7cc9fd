// SPDX-License-Identifier: MIT
// expect: CTP024 likely, 1 coroutine
// engine: both
//
// The reaper closes a connection that is idle for too long and tells its handler,
// which cleans up as it always does: it closes the number again.
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct conn {
	int fds[2];
	struct co *handler;
	bool dead;
} conns[3];

static void conn_handler(void *arg)
{
	struct conn *c = arg;
	c->handler = co_self();
	while (!c->dead)
		co_yield();
	close(c->fds[0]); // fault
}

static void reap(struct conn *c)
{
	close(c->fds[0]); // fault
	c->dead = true;
	co_resume(c->handler);
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		pair("unix", conns[i].fds);
		co_start(conn_handler, &conns[i]);
	}
	reap(&conns[1]);
	say("ready");
	pause();
}
