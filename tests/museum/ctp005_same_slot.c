// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 1 coroutine
// engine: both
//
// A game keeps its waiters in a table with as many places as there ever were players:
// a new one has the place of its number modulo that. Where two have one place, the
// second to wait replaces the first, whose move then resumes the second.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define PLACES 2
#define PLAYERS 3

static struct co *waiters[PLACES];
static int ep, fds[PLAYERS][2], moves[PLAYERS];

static void wait_for_move(int player)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)(player % PLACES)};
	waiters[player % PLACES] = co_self();
	if (epoll_ctl(ep, EPOLL_CTL_MOD, fds[player][0], &ev))
		must(epoll_ctl(ep, EPOLL_CTL_ADD, fds[player][0], &ev));
	co_yield(); // fault
}

static void play(void *arg)
{
	int player = (int)(intptr_t)arg;
	char move;
	for (;;) {
		wait_for_move(player);
		if (read(fds[player][0], &move, 1) == 1)
			moves[player]++;
	}
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	struct co *c = waiters[ev.data.u64];
	waiters[ev.data.u64] = NULL;
	if (c)
		co_resume(c);
}

static void move(int player)
{
	must(write(fds[player][1], "m", 1));
	turn();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < PLAYERS; i++) {
		pair("tcp", fds[i]);
		co_start(play, (void *)(intptr_t)i);
	}
	move(0); // resumes player 2, who finds nothing
	for (int i = 0; i < 3; i++) {
		move(1);
		move(2);
	}
	must(moves[0] == 0 && moves[1] == 3 && moves[2] == 3 ? 0 : -1);
	say("ready");
	for (;;)
		turn();
}
