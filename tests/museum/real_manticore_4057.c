// SPDX-License-Identifier: MIT
// expect: CTP007 suspect, 1 coroutine
// expect: fact CTP026
//
// After manticoresoftware/manticoresearch pull request 4057: a reload of the
// configuration forks while an agent's connection is in the epoll set. The
// connection finishes, the parent closes it and gives its task to other work,
// relying on the close to take the row out of the set. But the child has the
// socket too, so the row lives, and an event of the dead connection wakes
// whoever has its data now.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, agent, wakes;

static NOINLINE void finish(int fd)
{
	close(fd); // fault
}

static void task(void *arg)
{
	char answer[64];
	(void)arg;
	co_watch(ep, agent, EPOLLIN | EPOLLET, co_self());
	while (co_blocked(read(agent, answer, sizeof(answer))))
		co_yield();
	finish(agent);
	for (;;) {
		co_yield(); // other work
		wakes++;
	}
}

// The helper that makes the configuration: it runs until the parent ends.
static void reload(const int *lifeline)
{
	char byte;
	if (must(fork()) != 0)
		return;
	close(lifeline[1]);
	while (read(lifeline[0], &byte, 1) > 0)
		;
	_exit(0);
}

int main(void)
{
	int fds[2], lifeline[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe2(lifeline, O_CLOEXEC));
	pair("tcp", fds);
	agent = fds[0];
	co_start(task, NULL);
	reload(lifeline);
	must(write(fds[1], "answer", 6));
	must(co_turn(ep, -1) ? 0 : -1);
	must(write(fds[1], "more", 4));
	while (!wakes)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
