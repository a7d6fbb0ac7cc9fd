// SPDX-License-Identifier: MIT
// expect: CTP008 none..suspect, 1 coroutine
// engine: both
//
// A session reads until EAGAIN, and then waits until its answers, which others make,
// are ready, in a queue; it reads again when they are. Its loop registers connections
// by number when their sessions have stopped reading, and takes out what is readable
// meanwhile, so as not to spin; the next request lies there until then. The answer
// comes over a connection of its own.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, client[2], backend[2], requests, answers;
static struct co *waiter;
static bool registered, answered;

static void session(void *arg)
{
	char request[16];
	(void)arg;
	for (;;) {
		while (read(client[0], request, sizeof(request)) > 0)
			requests++;
		while (!answered) {
			waiter = co_self();
			co_yield();
		}
		answered = false;
		answers++;
	}
}

static NOINLINE void turn(void)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 1};
	char answer;
	if (!registered)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, client[0], &ev));
	registered = true;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	if (ev.data.u64 == 1) {
		must(epoll_ctl(ep, EPOLL_CTL_DEL, client[0], NULL));
		return;
	}
	must(read(backend[0], &answer, 1));
	answered = true;
	registered = false;
	co_resume(waiter);
}

int main(void)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 2};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", client);
	pair("tcp", backend);
	must(epoll_ctl(ep, EPOLL_CTL_ADD, backend[0], &ev));
	co_start(session, NULL);
	for (int i = 0; i < 3; i++) {
		must(write(client[1], "next", 4));
		turn(); // is readable
		must(write(backend[1], "a", 1));
		turn();
		must(answers == i + 1 ? 0 : -1);
	}
	must(write(client[1], "next", 4));
	turn();
	say("ready");
	for (;;)
		turn();
}
