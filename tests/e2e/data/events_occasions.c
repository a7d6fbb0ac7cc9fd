// SPDX-License-Identifier: MIT
//
// Waits in one way again and again, and signals two events after each wait: events_occasions HOW. Ways that wait for
// something wait for stdin, or for a connection; the others until stdin has a byte, which is looked for by a read that
// never waits. Each turn says so before it waits.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctp/event.h>

CTP_EVENT(turn, one, (int, n));
CTP_EVENT(turn, two, (int, n));

static const char *how;
static int epoll = -1, listener = -1;

static int is(const char *name)
{
	return strcmp(how, name) == 0;
}

static void prepare(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t size = sizeof(at);
	struct epoll_event e = {.events = EPOLLIN};
	if (is("epoll_wait")) {
		epoll = epoll_create1(0);
		epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &e);
	} else if (is("accept")) {
		listener = socket(AF_INET, SOCK_STREAM, 0);
		at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		bind(listener, (struct sockaddr *)&at, sizeof(at));
		listen(listener, 8);
		getsockname(listener, (struct sockaddr *)&at, &size);
		printf("port %d\n", ntohs(at.sin_port));
	} else if (is("sleep") || is("usleep")) {
		fcntl(0, F_SETFL, O_NONBLOCK);
	}
}

static void wait_once(void)
{
	struct epoll_event e;
	struct pollfd p = {.fd = 0, .events = POLLIN};
	fd_set set;
	if (is("epoll_wait"))
		epoll_wait(epoll, &e, 1, -1);
	else if (is("poll"))
		poll(&p, 1, -1);
	else if (is("select")) {
		FD_ZERO(&set);
		FD_SET(0, &set);
		select(1, &set, NULL, NULL, NULL);
	} else if (is("accept"))
		close(accept(listener, NULL, NULL));
	else if (is("sleep"))
		sleep(1);
	else
		usleep(10000);
}

int main(int argc, char **argv)
{
	char byte = 0;
	how = argc > 1 ? argv[1] : "";
	prepare();
	for (int n = 1; byte != 'q'; n++) {
		printf("waits %d\n", n);
		fflush(stdout);
		wait_once();
		ctp_event(turn, one, n);
		ctp_event(turn, two, n);
		if (read(0, &byte, 1) == 0)
			return 1;
	}
	return 0;
}
