// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// end: timeout
//
// A loop that never sleeps. Who has spoken too much takes its own interest away, and waits until it is given
// back: by its place in a list, from which another who has left was taken out meanwhile.
#include <sys/socket.h>

#include "unread.h"

#define SPEAKERS 3

static int speakers[SPEAKERS] = {0, 1, 2}, muted = -1; // muted: a place in the list
static int nspeakers = SPEAKERS;

static int place_of(int number)
{
	int at = 0;
	while (speakers[at] != number)
		at++;
	return at;
}

static void wait_here(struct conn *c)
{
	c->waits = true;
	co_yield();
	c->waits = false;
}

static void mute(struct conn *c)
{
	watch_conn(number_of(c), EPOLL_CTL_MOD, 0);
	muted = place_of(number_of(c));
	wait_here(c); // fault
}

static void speak(void *arg)
{
	struct conn *c = arg;
	char text[5];
	for (;;) {
		ssize_t n = read(c->fd, text, sizeof(text));
		if (n == 0)
			break;
		if (co_blocked(n)) {
			wait_here(c);
			continue;
		}
		c->got++;
		if (text[0] == '!')
			mute(c);
	}
	int at = place_of(number_of(c));
	memmove(&speakers[at], &speakers[at + 1], (size_t)(--nspeakers - at) * sizeof(*speakers));
	must(epoll_ctl(ep, EPOLL_CTL_DEL, c->fd, NULL));
}

static void restore(void)
{
	if (muted >= 0 && muted < nspeakers)
		watch_conn(speakers[muted], EPOLL_CTL_MOD, EPOLLIN);
	muted = -1;
}

int main(void)
{
	for (int i = 0; i < SPEAKERS; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SPEAKERS; i++)
		start_reader(i, speak, EPOLLIN);
	for (int i = 0; i < SPEAKERS; i++)
		send_text(i, "hello");
	while (!conns[0].got || !conns[1].got || !conns[2].got)
		turn(0, resume_reader);
	send_text(2, "!very");
	while (muted < 0)
		turn(0, resume_reader);
	must(shutdown(conns[0].peer, SHUT_WR));
	while (nspeakers == SPEAKERS)
		turn(0, resume_reader);
	restore();
	send_text(2, "again");
	say("ready");
	for (unsigned long turns = 0;; turns++) {
		if (turns % 10000 == 0)
			send_text(1, "hello");
		turn(0, resume_reader);
	}
}
