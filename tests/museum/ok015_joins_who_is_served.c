// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Main hands a worker its first job and joins it for good. What the worker waits
// for next only main has ever written; but its loop listens as well, and the next
// client is the outside's to send.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, port, jobs[2], listener;

static void worker(void *arg)
{
	char job;
	(void)arg;
	for (;;) {
		must(co_read(ep, jobs[0], &job, 1));
		say("ready");
	}
}

static void acceptor(void *arg)
{
	(void)arg;
	co_wait(ep, listener, EPOLLIN);
}

static void *loop(void *arg)
{
	(void)arg;
	co_start(acceptor, NULL);
	co_start(worker, NULL);
	co_loop(ep);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	pair("pipe", jobs);
	pthread_t thread = co_thread(loop, NULL);
	must(write(jobs[1], "j", 1));
	pthread_join(thread, NULL);
}
