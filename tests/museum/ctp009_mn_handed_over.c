// SPDX-License-Identifier: MIT
// expect: CTP009 suspect, 1 coroutine
// end: kill
//
// Two workers. A login coroutine authenticates a connection and hands it over to
// a session, but leaves the registration as it is: the next event resumes the
// login coroutine, which serves another connection by now.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[2], parked[2];

static void session(void *arg)
{
	char command[64];
	int fd = *(int *)arg;
	while (co_blocked(read(fd, command, sizeof(command))))
		co_yield(); // fault
}

static void wait_for(int fd)
{
	char line[64];
	while (co_blocked(read(fd, line, sizeof(line))))
		co_yield();
}

static void login(void *arg)
{
	(void)arg;
	co_watch(ep, conns[0], EPOLLIN | EPOLLET, co_self());
	wait_for(conns[0]);
	co_start(session, &conns[0]);
	co_watch(ep, conns[1], EPOLLIN | EPOLLET, co_self());
	wait_for(conns[1]);
}

static void on_parked(struct co *c)
{
	if (c->fn == login)
		must(write(parked[1], "", 1));
}

int main(void)
{
	pthread_t workers[2];
	char byte;
	int fds[2], others[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(parked));
	pair("unix", fds);
	pair("unix", others);
	conns[0] = fds[0];
	conns[1] = others[0];
	co_parked = on_parked;
	co_start(login, NULL);
	must(read(parked[0], &byte, 1));
	for (int i = 0; i < 2; i++)
		workers[i] = co_loop_thread(&ep);
	must(write(fds[1], "password", 8));
	must(read(parked[0], &byte, 1));
	must(write(fds[1], "command", 7));
	must(read(parked[0], &byte, 1));
	say("ready");
	pthread_join(workers[0], NULL);
}
