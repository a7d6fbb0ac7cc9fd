// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A coroutine that makes itself a daemon closes all numbers from 3 to 63, some
// of which were open once, some never; and another, from above, those it knows.
#include <unistd.h>

#include "co.h"
#include "must.h"

static int fds[8][2];

static void daemonize(void *arg)
{
	(void)arg;
	for (int fd = 3; fd < 64; fd++)
		close(fd);
}

static void close_mine(void *arg)
{
	(void)arg;
	for (int fd = 12; fd >= 3; fd--)
		close(fd);
}

static void user(void *arg)
{
	for (int i = 1; i < 8; i += 2)
		close(fds[i][*(int *)arg]);
}

int main(void)
{
	int end = 0;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 8; i++)
			pair("pipe", fds[i]);
		co_start(user, &end);
		co_start(round ? daemonize : close_mine, NULL);
	}
	co_start(daemonize, NULL);
	say("ready");
	pause();
}
