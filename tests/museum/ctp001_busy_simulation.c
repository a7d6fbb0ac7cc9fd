// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
//
// A game server. Its loop never sleeps: it polls with a timeout of 0 between two
// steps of the simulation. Players who are kicked have their sockets closed, and
// stay in the list of players, with the coroutines that wait for their moves.
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define PLAYERS 4

struct player {
	struct player *next;
	struct co *co;
	int fd, remote, moves, score;
};

static struct player *players;
static unsigned long steps;
static double world[64];
static int ep;

static void player_main(void *arg)
{
	struct player *p = arg;
	char move[16];
	while (co_read(ep, p->fd, move, sizeof(move)) > 0) {
		p->moves++;
		p->score += move[0] == 'w';
	}
	close(p->fd);
}

static NOINLINE void join_game(int i)
{
	struct player *p = must_alloc(sizeof(*p));
	int fds[2];
	pair("tcp", fds);
	*p = (struct player){.next = players, .fd = fds[0], .remote = fds[1]};
	players = p;
	p->co = co_new(player_main, p);
	co_resume(p->co);
	must(write(p->remote, i % 2 ? "w" : "s", 1));
}

static void step(void)
{
	for (int i = 0; i < 64; i++)
		world[i] = world[i] * 0.99 + world[(i + 1) % 64] * 0.01 + 0.5;
	steps++;
}

static NOINLINE void kick_losers(void)
{
	for (struct player *p = players; p; p = p->next)
		if (p->moves && p->score == 0)
			close(p->fd); // fault
}

static void on_client(struct co_handler *listener, uint32_t events)
{
	(void)events;
	close(accept(listener->fd, NULL, NULL)); // the game is on
}

int main(void)
{
	static struct co_handler listener = {.fn = on_client};
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener.fd = tcp_listen(&port);
	co_handle(ep, &listener, EPOLLIN);
	for (int i = 0; i < PLAYERS; i++)
		join_game(i);
	for (;;) {
		co_turn(ep, 0);
		step();
		if (steps == 2000)
			kick_losers();
		if (steps == 20000)
			say("ready");
	}
}
