// SPDX-License-Identifier: MIT
// expect: CTP015 proven, 3 coroutines
//
// Two threads run three stages in a ring; a token goes round and each passes it
// on. The last stage drops it after the second round, an error path that forgot
// to pass: each waits for the one before it, for ever.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { STAGES = 3, ROUNDS = 2 };

static int ep, ring[STAGES][2], passed;

static void stage(void *arg)
{
	int i = (int)(intptr_t)arg;
	char token = 't';
	if (i == 0)
		must(write(ring[1][1], &token, 1));
	for (;;) {
		must(co_read(ep, ring[i][0], &token, 1)); // fault
		if (i == STAGES - 1 && ++passed == ROUNDS) {
			say("ready");
			continue;
		}
		must(write(ring[(i + 1) % STAGES][1], &token, 1));
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < STAGES; i++)
		pair(i == 1 ? "unix" : "pipe", ring[i]);
	for (int i = STAGES; i-- > 0;)
		co_start(stage, (void *)(intptr_t)i);
	co_loop_thread(&ep);
	co_loop(ep);
}
