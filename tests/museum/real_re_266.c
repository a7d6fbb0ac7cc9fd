// SPDX-License-Identifier: MIT
// expect: CTP006 suspect..likely, 1 coroutine
//
// After creytiv/re pull request 266: one poll brings events of two sockets. The
// first one's handler closes the second and opens another, which gets its
// number. The second event, of a socket that is no more, is then delivered by
// number: to the new one's coroutine, which has nothing to read.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *handlers[64]; // by number
static int ep, transport, old_call;

static void listen_on(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
}

static void call(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char rtp[64];
	listen_on(fd);
	while (co_blocked(read(fd, rtp, sizeof(rtp)))) {
		handlers[fd] = co_self();
		co_yield();
	}
}

static void hang_up(int fd)
{
	co_free(handlers[fd]);
	handlers[fd] = NULL;
	close(fd); // fault
}

static void signalling(void *arg)
{
	char message[64];
	int fds[2];
	(void)arg;
	while (co_blocked(read(transport, message, sizeof(message)))) {
		handlers[transport] = co_self();
		co_yield();
	}
	hang_up(old_call);
	pair("unix", fds);
	must(fds[0] == old_call ? 0 : -1);
	co_start(call, (void *)(intptr_t)fds[0]);
	handlers[transport] = NULL;
}

static void turn(void)
{
	struct epoll_event ev[8];
	int n = epoll_wait(ep, ev, 8, -1);
	for (int i = 0; i < n; i++)
		if (handlers[ev[i].data.fd])
			co_resume(handlers[ev[i].data.fd]);
}

int main(void)
{
	int first[2], second[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", first);
	pair("unix", second);
	transport = first[0];
	old_call = second[0];
	listen_on(transport);
	co_start(signalling, NULL);
	co_start(call, (void *)(intptr_t)old_call);
	must(write(first[1], "BYE", 3));
	must(write(second[1], "rtp", 3));
	turn();
	must(read(transport, first, sizeof(first)) < 0 ? 0 : -1);
	say("ready");
	for (;;)
		turn();
}
