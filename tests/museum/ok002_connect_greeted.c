// SPDX-License-Identifier: MIT
// expect: clean
//
// A mail client waits for a connect that is under way as for the server's greeting, which comes first: it is
// heard. It waits for the answer to its own first line then.
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, served;
static int chat[2];

static void answer(void *arg)
{
	char request[16];
	for (; co_read(ep, *(int *)arg, request, sizeof(request)) > 0; served++)
		;
}

static void deliver(void *arg)
{
	char greeting[16];
	int fd = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	if (connect(fd, arg, sizeof(struct sockaddr_in)))
		co_wait(ep, fd, EPOLLIN);
	must(co_read(ep, fd, greeting, sizeof(greeting)));
	must(write(fd, "HELO", 4));
	co_read(ep, fd, greeting, sizeof(greeting));
}

int main(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(to);
	int server = (int)must(socket(AF_INET, SOCK_STREAM, 0));
	must(bind(server, (struct sockaddr *)&to, sizeof(to)));
	must(listen(server, 5));
	must(getsockname(server, (struct sockaddr *)&to, &length));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", chat);
	co_start(answer, &chat[0]);
	co_start(deliver, &to);
	must(write((int)must(accept(server, NULL, NULL)), "220", 3));
	while (served < 3) {
		must(write(chat[1], "more", 4));
		must(co_turn(ep, -1) ? 0 : -1);
	}
	say("ready");
	co_loop(ep);
}
