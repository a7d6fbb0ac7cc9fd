// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A game server that never sleeps. Players that were thrown out are closed in the
// same frame, and their coroutines are resumed at the end of the level, so that no
// list changes in the middle of it. Levels are long; the order ends this one.
#include "ordered.h"

#define PLAYERS 6
#define THROWN 3

static struct player {
	int fd, peer, keys;
	bool thrown;
	struct co *co;
} players[PLAYERS];
static int ep;
static unsigned long frames;
static double world[64];

static void player(void *arg)
{
	struct player *p = arg;
	char key;
	while (co_read(ep, p->fd, &key, 1) > 0)
		p->keys++;
	ended++;
}

static NOINLINE void join_game(struct player *p)
{
	int fds[2];
	pair("udp", fds);
	p->fd = fds[0];
	p->peer = fds[1];
	p->co = co_new(player, p);
	co_resume(p->co);
}

static NOINLINE void physics(void)
{
	for (int i = 1; i < 63; i++)
		world[i] = (world[i - 1] + world[i] + world[i + 1]) / 3 + (double)(frames % 7);
}

static NOINLINE void frame(void)
{
	co_turn(ep, 0);
	physics();
	frames++;
}

static NOINLINE void press_keys(void)
{
	for (int i = 0; i < PLAYERS; i++) {
		int before = players[i].keys;
		must(write(players[i].peer, "w", 1));
		while (players[i].keys == before)
			frame();
	}
}

static NOINLINE void throw_out(int from)
{
	for (int i = from; i < PLAYERS; i++) {
		players[i].thrown = true;
		close(players[i].fd); // fault
	}
}

static NOINLINE void end_of_level(void)
{
	for (int i = 0; i < PLAYERS; i++)
		if (players[i].thrown) {
			players[i].thrown = false;
			co_resume(players[i].co);
		}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < PLAYERS; i++)
		join_game(&players[i]);
	press_keys();
	throw_out(PLAYERS - THROWN);
	say("ready");
	while (!ordered)
		frame();
	end_of_level();
	return all_resumed(THROWN);
}
