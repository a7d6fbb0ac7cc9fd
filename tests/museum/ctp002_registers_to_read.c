// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// engine: both
//
// A report server has one function to wait for a descriptor, which it is told the
// direction. A report that does not fit into the socket is waited for with that of
// the request before. The client has read all of it, and sends nothing until it has
// the rest; clients of short reports are served on.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CLIENTS 2

static char report[1 << 20];
static struct session {
	int fd, client, reports;
	size_t bytes;
} sessions[CLIENTS];
static int ep, blocked;

static void send_report(struct session *s)
{
	for (size_t sent = 0; sent < s->bytes;) {
		ssize_t n = write(s->fd, report + sent, s->bytes - sent);
		if (co_blocked(n)) {
			blocked++;
			co_wait(ep, s->fd, EPOLLIN); // fault
		} else if (n > 0) {
			sent += (size_t)n;
		} else {
			return;
		}
	}
	s->reports++;
}

static void session(void *arg)
{
	struct session *s = arg;
	char request[16];
	while (co_read(ep, s->fd, request, sizeof(request)) > 0)
		send_report(s);
}

static void ask(const struct session *s)
{
	must(write(s->client, "report", 6));
	must(co_turn(ep, -1) ? 0 : -1);
}

static void drain(const struct session *s)
{
	static char sink[64 << 10];
	while (read(s->client, sink, sizeof(sink)) > 0)
		;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CLIENTS; i++) {
		struct session *s = &sessions[i];
		int fds[2];
		pair("unix", fds);
		*s = (struct session){.fd = fds[0], .client = fds[1], .bytes = i ? sizeof(report) : 64};
		co_start(session, s);
		ask(s);
	}
	must(blocked == 1 ? 0 : -1);
	drain(&sessions[1]);
	for (int i = 0; i < 3; i++)
		ask(&sessions[0]);
	must(sessions[0].reports == 4 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
