// SPDX-License-Identifier: MIT
//
// As many different lost wakeups as there are functions here: each closes what
// one coroutine waits for, so no two findings have the same sites.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

// clang-format off
#define EACH(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) \
	X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24)
// clang-format on

static int ep, pipes[25][2];

static void reader(void *arg)
{
	char c;
	co_read(ep, *(int *)arg, &c, 1);
}

#define CLOSER(n) \
	static NOINLINE void drop_##n(void) \
	{ \
		must(close(pipes[n][0])); \
	}
EACH(CLOSER)

#define DROP(n) drop_##n();

int main(void)
{
	ep = (int)must(epoll_create1(0));
	for (int i = 0; i < 25; i++) {
		pair("pipe", pipes[i]);
		co_start(reader, &pipes[i][0]);
	}
	pthread_t loop = co_loop_thread(&ep);
	EACH(DROP)
	say("ready");
	pthread_join(loop, NULL);
}
