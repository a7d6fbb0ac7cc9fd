// SPDX-License-Identifier: MIT
// expect: CTP007 likely, 1 coroutines
//
// A session's connection is duplicated for an audit that nobody reads. When the
// session says bye it closes its number; the audit's copy keeps the connection,
// and with it the registration. Whatever the client sends from then on wakes
// the loop for a session that is gone.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { STRAYS = 4 };

static int ep, conn[2], audit, answer[2], strays;
static struct co *sessions[2];

static NOINLINE void session_close(int fd)
{
	close(fd); // fault
	must(write(answer[1], "", 1));
}

static void session(void *arg)
{
	char line[64];
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u64 = 1};
	(void)arg;
	sessions[1] = co_self();
	must(epoll_ctl(ep, EPOLL_CTL_ADD, conn[0], &ev));
	for (;;) {
		ssize_t n = read(conn[0], line, sizeof(line));
		if (n > 0 && line[0] == 'b')
			break;
		if (co_blocked(n))
			co_yield();
	}
	sessions[1] = NULL;
	session_close(conn[0]);
}

static void *client(void *arg)
{
	char byte;
	(void)arg;
	must(write(conn[1], "bye", 3));
	must(read(answer[0], &byte, 1));
	for (int i = 0; i < STRAYS; i++) {
		must(write(conn[1], "more", 4));
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
	pair("tcp", conn);
	audit = (int)must(fcntl(conn[0], F_DUPFD_CLOEXEC, 50));
	co_start(session, NULL);
	co_thread(client, NULL);
	for (;;) {
		if (epoll_wait(ep, &ev, 1, -1) < 1)
			continue;
		if (sessions[ev.data.u64])
			co_resume(sessions[ev.data.u64]);
		else if (++strays <= STRAYS)
			must(write(answer[1], "", 1));
	}
}
