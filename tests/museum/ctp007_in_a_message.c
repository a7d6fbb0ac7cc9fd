// SPDX-License-Identifier: MIT
// expect: CTP007 likely, 1 coroutines
//
// The master hands each accepted connection to a worker in a message and closes
// its own number; this worker is stuck and never takes the message. The master
// had registered the connection, so what the client sends keeps waking it.
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { STRAYS = 5 };

static int ep, conn[2], queue[2], answer[2], strays;
static struct co *greeter_of[1];

static void hand_over(int fd)
{
	char byte = 'f', space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	must(sendmsg(queue[1], &msg, 0));
}

static void greeter(void *arg)
{
	char line[64];
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u64 = 0};
	(void)arg;
	greeter_of[0] = co_self();
	must(epoll_ctl(ep, EPOLL_CTL_ADD, conn[0], &ev));
	while (co_blocked(read(conn[0], line, sizeof(line))))
		co_yield();
	greeter_of[0] = NULL;
	hand_over(conn[0]);
	close(conn[0]); // fault
	must(write(answer[1], "", 1));
}

static void *client(void *arg)
{
	char byte;
	(void)arg;
	for (int i = 0; i <= STRAYS; i++) {
		must(write(conn[1], "hello", 5));
		must(read(answer[0], &byte, 1));
	}
	say("ready");
	return NULL;
}

int main(void)
{
	struct epoll_event ev;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(answer));
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, queue));
	pair("tcp", conn);
	co_start(greeter, NULL);
	co_thread(client, NULL);
	for (;;) {
		if (epoll_wait(ep, &ev, 1, -1) < 1)
			continue;
		if (greeter_of[ev.data.u64])
			co_resume(greeter_of[ev.data.u64]);
		else if (++strays <= STRAYS)
			must(write(answer[1], "", 1));
	}
}
