// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Two that wait for their peer though there is more to be written. An uploader sends
// what fits, and the next part only when the peer has acknowledged that. A feed drops
// what its subscriber has no room for, and waits for the next command where it waits
// for all of them. Both peers have read everything since, so there is room.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static char part[1 << 20];
static int ep, upload[2], feed[2], dropped;

static void uploader(void *arg)
{
	char ack[16];
	(void)arg;
	do
		must(write(upload[0], part, sizeof(part))); // short
	while (co_read(ep, upload[0], ack, sizeof(ack)) > 0);
}

static void publish(void)
{
	ssize_t n;
	while ((n = write(feed[0], part, 4096)) > 0)
		;
	dropped += co_blocked(n);
}

static void publisher(void *arg)
{
	char command[16];
	(void)arg;
	for (;;) {
		co_wait(ep, feed[0], EPOLLIN);
		if (read(feed[0], command, 1) <= 0)
			return;
		publish();
	}
}

static void drain(int fd)
{
	static char sink[64 << 10];
	while (read(fd, sink, sizeof(sink)) > 0)
		;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", upload);
	pair("unix", feed);
	co_start(uploader, NULL);
	co_start(publisher, NULL);
	for (int i = 0; i < 3; i++) {
		must(write(feed[1], "c", 1));
		must(co_turn(ep, -1) ? 0 : -1);
		drain(feed[1]);
	}
	must(dropped == 3 ? 0 : -1);
	drain(upload[1]);
	say("ready");
	co_loop(ep);
}
