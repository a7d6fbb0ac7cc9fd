// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A pool of workers: those without a job are parked in a list, waiting for no
// descriptor at all. Three have worked, on descriptors that they closed
// themselves, and are parked again.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define WORKERS 8

static struct co *idle[WORKERS];
static int ep, nidle, job;

static void worker(void *arg)
{
	char byte;
	(void)arg;
	for (;;) {
		co_yield(); // parked for work
		int fd = job;
		must(co_read(ep, fd, &byte, 1));
		close(fd);
		idle[nidle++] = co_self();
	}
}

static void dispatch(void)
{
	int fds[2];
	pair("unix", fds);
	job = fds[0];
	co_resume(idle[--nidle]);
	must(write(fds[1], "j", 1));
	co_turn(ep, -1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (; nidle < WORKERS; nidle++) {
		idle[nidle] = co_new(worker, NULL);
		co_resume(idle[nidle]);
	}
	for (int i = 0; i < 3; i++)
		dispatch();
	say("ready");
	co_loop(ep);
}
