// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
//
// The client's greeting is there when its session registers the connection,
// edge-triggered and by its number: a short read says that there is no more yet,
// so the session yields. The table of sessions leads to them still when somebody
// closes their connections.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *volatile sessions[64];
static int ep;

static void session(void *arg)
{
	int fd = *(int *)arg;
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = fd};
	char line[64];
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	while (read(fd, line, sizeof(line)) > 0)
		co_yield(); // fault
}

static void on_accept(int *fd)
{
	int fds[2];
	pair("tcp", fds);
	must(write(fds[1], "HELO\n", 5));
	*fd = fds[0];
	sessions[*fd] = co_new(session, fd);
	co_resume(sessions[*fd]);
}

int main(void)
{
	struct epoll_event ev;
	int conns[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	on_accept(&conns[0]);
	on_accept(&conns[1]);
	for (int i = 0; i < 2; i++)
		close(conns[i]); // fault
	say("ready");
	for (;;)
		if (epoll_wait(ep, &ev, 1, -1) == 1)
			co_resume(sessions[ev.data.fd]);
}
