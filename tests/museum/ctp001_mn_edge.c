// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 4 coroutines
//
// Four workers share one epoll set, edge-triggered; each subscriber registers
// once and then only yields. The janitor thread closes the pipes of all four
// subscribers after each has had one message.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SUBSCRIBERS 4

static int ep, pipes[SUBSCRIBERS][2], drained[2];

static void subscriber(void *arg)
{
	int fd = *(int *)arg;
	char message[64];
	co_watch(ep, fd, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		ssize_t n = read(fd, message, sizeof(message));
		if (n == 0)
			return;
		if (co_blocked(n))
			co_yield();
	}
}

// After each suspension: the second one of a subscriber is for good.
static void on_parked(struct co *c)
{
	if (c->fn == subscriber)
		must(write(drained[1], "", 1));
}

static NOINLINE void *janitor(void *arg)
{
	char byte;
	(void)arg;
	for (int i = 0; i < 2 * SUBSCRIBERS; i++)
		must(read(drained[0], &byte, 1));
	for (int i = 0; i < SUBSCRIBERS; i++)
		close(pipes[i][0]); // fault
	say("ready");
	return NULL;
}

int main(void)
{
	pthread_t workers[4];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(drained));
	co_parked = on_parked;
	for (int i = 0; i < SUBSCRIBERS; i++) {
		pair("pipe", pipes[i]);
		co_start(subscriber, &pipes[i][0]);
	}
	for (int i = 0; i < 4; i++)
		workers[i] = co_loop_thread(&ep);
	co_thread(janitor, NULL);
	for (int i = 0; i < SUBSCRIBERS; i++)
		must(write(pipes[i][1], "m", 1));
	pthread_join(workers[0], NULL);
}
