// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// engine: both
//
// A log reader reads pipes until EAGAIN. After the first line it asks one of them for
// room, as if it wrote there: such an end never has any, and its next line stays.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { LOGS = 2 };

static int ep, logs[LOGS][2], lines;

static void tail(void *arg)
{
	int *log = arg;
	uint32_t mask = EPOLLIN;
	char line[16];
	for (;;) {
		while (co_blocked(read(*log, line, sizeof(line))))
			co_wait(ep, *log, mask | EPOLLONESHOT); // fault
		lines++;
		mask = log == logs[1] ? EPOLLOUT : EPOLLIN;
	}
}

static void append(int count)
{
	int until = lines + count;
	for (int i = 0; i < LOGS; i++)
		must(write(logs[i][1], "line", 4));
	while (lines < until)
		co_turn(ep, -1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < LOGS; i++) {
		pair("pipe", logs[i]);
		co_start(tail, logs[i]);
	}
	append(LOGS);
	append(LOGS - 1);
	say("ready");
	co_loop(ep);
}
