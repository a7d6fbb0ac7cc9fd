// SPDX-License-Identifier: MIT
// expect: CTP006 likely, 1 coroutine
// engine: both
//
// The reaper closes an idle connection; the next client's acceptor is given the
// same number. A deadline resumes the first one's reader, which reads what the
// second client has sent.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, listener, port;
static struct co *first;
static int first_fd;

static void conn_reader(void *arg)
{
	char buf[64];
	int fd = (int)must(accept4(listener, NULL, NULL, SOCK_NONBLOCK));
	if (!arg) {
		first = co_self();
		first_fd = fd;
	}
	co_read(ep, fd, buf, sizeof(buf));
}

static void reaper(void)
{
	close(first_fd); // fault
}

static void on_deadline(void)
{
	co_resume(first);
}

int main(void)
{
	char byte = 'x';
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	int client[2] = {tcp_connect(port), -1};
	co_start(conn_reader, NULL);
	client[1] = tcp_connect(port);
	reaper();
	co_start(conn_reader, &byte);
	must(write(client[1], "secret", 6));
	on_deadline();
	say("ready");
	co_loop(ep);
}
