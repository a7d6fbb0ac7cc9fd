// SPDX-License-Identifier: MIT
//
// A reader's descriptor is closed, and its loop watches a pipe whose other end is
// on its way to another program, over the socket at argv[1]: whoever takes it may
// write, and then the reader is resumed by hand. Until then no process holds it.
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2];
static struct co *waiter;

static void reader(void *arg)
{
	char byte;
	(void)arg;
	co_watch(ep, conn[0], EPOLLIN | EPOLLET, co_self());
	if (read(conn[0], &byte, 1) == -1)
		co_yield();
	say("woken");
}

static void send_away(const char *path, int fd)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = {0};
	char byte = 'o';
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int other = (int)must(socket(AF_UNIX, SOCK_STREAM, 0));
	strncpy(to.sun_path, path, sizeof(to.sun_path) - 1);
	must(connect(other, (struct sockaddr *)&to, sizeof(to)));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	must(sendmsg(other, &msg, 0));
	close(fd);
}

int main(int argc, char **argv)
{
	struct epoll_event event;
	int orders[2];
	if (argc < 2)
		return 2;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", conn);
	must(pipe(orders));
	co_watch(ep, orders[0], EPOLLIN, NULL);
	send_away(argv[1], orders[1]);
	waiter = co_new(reader, NULL);
	co_resume(waiter);
	close(conn[0]);
	say("ready");
	must(epoll_wait(ep, &event, 1, -1));
	co_resume(waiter);
}
