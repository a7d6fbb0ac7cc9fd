// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Coroutines that have finished are kept for their results. What they read
// from was closed after they had seen its end.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define TASKS 4
#define STACK (64 << 10)

static struct co tasks[TASKS];
static int ep, inputs[TASKS][2], results[TASKS];

static void count_bytes(void *arg)
{
	int i = (int)(intptr_t)arg;
	char buf[64];
	ssize_t n;
	while ((n = co_read(ep, inputs[i][0], buf, sizeof(buf))) > 0)
		results[i] += (int)n;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < TASKS; i++) {
		pair("pipe", inputs[i]);
		tasks[i].pinned = true;
		co_init(&tasks[i], count_bytes, (void *)(intptr_t)i, must_map(STACK), STACK);
		co_resume(&tasks[i]);
		must(write(inputs[i][1], "12345", 5));
		close(inputs[i][1]);
	}
	for (int i = 0; i < TASKS;) {
		co_turn(ep, -1);
		while (i < TASKS && tasks[i].done)
			close(inputs[i++][0]);
	}
	say("ready");
	co_loop(ep);
}
