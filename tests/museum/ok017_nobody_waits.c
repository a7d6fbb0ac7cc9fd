// SPDX-License-Identifier: MIT
// expect: clean
//
// A tool that has a loop for its only connection sleeps between two tries:
// there is nobody else whom that could hold up.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2];

static void client(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
	usleep(300000);
	say("ready");
	co_read(ep, conn[0], &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", conn);
	co_start(client, NULL);
	must(write(conn[1], "g", 1));
	co_loop(ep);
}
