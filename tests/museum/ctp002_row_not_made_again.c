// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
// engine: both
//
// A loop whose registrations are for one event: it takes the row out of the set when
// the event comes, and resumes the waiter. A subscriber reads one message a turn and
// registers again where it asks for the next; the reply to a ping is such a turn, too,
// and its branch goes straight into the wait.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SUBSCRIBERS 3

struct subscriber {
	struct co *co;
	int fd, feed, got;
};

static struct subscriber all[SUBSCRIBERS];
static int ep;

static void ask(struct subscriber *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &ev));
}

static void subscriber_main(void *arg)
{
	struct subscriber *s = arg;
	char message[4];
	bool ping = false;
	for (;;) {
		if (!ping)
			ask(s);
		co_yield(); // fault
		if (recv(s->fd, message, sizeof(message), 0) <= 0)
			return;
		ping = message[0] == '?';
		s->got++;
	}
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	struct subscriber *s = ev.data.ptr;
	must(epoll_ctl(ep, EPOLL_CTL_DEL, s->fd, NULL));
	co_resume(s->co);
}

static NOINLINE void begin(struct subscriber *s)
{
	int fds[2];
	pair("tcp", fds);
	s->fd = fds[0];
	s->feed = fds[1];
	s->co = co_new(subscriber_main, s);
	co_resume(s->co);
}

static NOINLINE void publish(struct subscriber *s, const char *message)
{
	int before = s->got;
	must(write(s->feed, message, 4));
	while (s->got == before)
		turn();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SUBSCRIBERS; i++) {
		begin(&all[i]);
		publish(&all[i], "news");
	}
	publish(&all[1], "?png");
	must(write(all[1].feed, "news", 4));
	say("ready");
	for (;;)
		turn();
}
