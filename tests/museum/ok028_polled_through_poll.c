// SPDX-License-Identifier: MIT
// expect: clean
// order: stdin
//
// The loop sleeps in poll: there the console's descriptor and the set's own stand side
// by side, as the console's may be a file. The set is only asked, without
// waiting, when poll says that it has something.
#include <poll.h>

#include "ordered.h"

#define PLAYERS 5

static struct player {
	int fd, peer, moves;
} players[PLAYERS];
static int ep;

static void player(void *arg)
{
	struct player *p = arg;
	char move[16];
	while (co_read(ep, p->fd, move, sizeof(move)) > 0)
		p->moves++;
	ended++;
}

static NOINLINE void join_game(struct player *p)
{
	int fds[2];
	pair("tcp", fds);
	p->fd = fds[0];
	p->peer = fds[1];
	co_start(player, p);
}

static NOINLINE void on_console(struct pollfd *console)
{
	char line[128];
	ssize_t n = read(console->fd, line, sizeof(line));
	if (n > 0 && line[0] == 's')
		ordered = 1;
	if (n <= 0)
		console->fd = -1; // nobody is there
}

static NOINLINE void turn(struct pollfd fds[2])
{
	if (poll(fds, 2, -1) < 1)
		return;
	if (fds[0].revents)
		on_console(&fds[0]);
	if (fds[1].revents)
		co_turn(ep, 0);
}

static NOINLINE void move_all(struct pollfd fds[2], int upto)
{
	for (int i = 0; i < PLAYERS; i++) {
		must(write(players[i].peer, "e2e4", 4));
		while (players[i].moves < upto)
			turn(fds);
	}
}

int main(void)
{
	struct pollfd fds[2] = {{.fd = 0, .events = POLLIN}};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	fds[1] = (struct pollfd){.fd = ep, .events = POLLIN};
	for (int i = 0; i < PLAYERS; i++)
		join_game(&players[i]);
	move_all(fds, 1);
	say("ready");
	while (!ordered)
		turn(fds);
	move_all(fds, 2);
	for (int i = 0; i < PLAYERS; i++)
		close(players[i].peer);
	while (ended < PLAYERS)
		turn(fds);
	return all_resumed(PLAYERS);
}
