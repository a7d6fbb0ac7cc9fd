// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A proxy over one-shot registrations: it does not arm a client again while that one's request is with the
// backend, which is slow. The client has sent its next request already. The answer comes by the backend's
// reader, which resumes the client's from a list, as it did before.
#include "unread.h"

enum { CLIENT, BACKEND };

static void serve(void *arg)
{
	struct conn *c = arg;
	char request[16];
	for (;;) {
		watch_conn(CLIENT, EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
		co_yield();
		if (read(c->fd, request, 4) <= 0)
			return;
		must(write(conns[BACKEND].fd, request, 4));
		c->waits = true;
		co_yield(); // for the answer
		c->got++;
	}
}

static void backend(void *arg)
{
	struct conn *c = arg;
	char answer[16];
	for (;;) {
		co_yield();
		if (read(c->fd, answer, sizeof(answer)) <= 0)
			return;
		conns[CLIENT].waits = false;
		co_resume(conns[CLIENT].co);
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	start_reader(CLIENT, serve, EPOLLIN | EPOLLONESHOT);
	start_reader(BACKEND, backend, EPOLLIN);
	for (int i = 0; i < 2; i++) {
		send_text(CLIENT, "GET1");
		while (!conns[CLIENT].waits)
			turn(-1, resume_reader);
		send_text(BACKEND, "answer");
		while (conns[CLIENT].got <= i)
			turn(-1, resume_reader);
	}
	send_text(CLIENT, "GET2");
	while (!conns[CLIENT].waits)
		turn(-1, resume_reader);
	send_text(CLIENT, "GET3");
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}
