// SPDX-License-Identifier: MIT
// expect: CTP005 suspect, 1 coroutine
// end: timeout
//
// Calls to a backend, over one-shot registrations. The answer of a call that was made before the last reload
// is dropped with the call's row, and its caller still waits. Other calls go on from the same place.
#include "unread.h"

static int epoch = 1, made[CONNS];

static void call(void *arg)
{
	struct conn *c = arg;
	char answer[16];
	for (;;) {
		made[number_of(c)] = epoch;
		c->waits = true;
		watch_conn(number_of(c), EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
		co_yield(); // fault
		if (read(c->fd, answer, sizeof(answer)) <= 0)
			return;
		c->got++;
	}
}

static void come(int i)
{
	conns[i].waits = false;
	if (made[i] == epoch)
		co_resume(conns[i].co);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++)
		start_reader(i, call, EPOLLIN | EPOLLONESHOT);
	epoch++;
	for (int i = 0; i < 2; i++) {
		made[i] = epoch; // these are called again
		send_text(i, "answer");
		while (!conns[i].got)
			turn(-1, come);
	}
	send_text(2, "answer");
	while (conns[2].waits)
		turn(-1, come);
	say("ready");
	for (;;)
		turn(-1, come);
}
