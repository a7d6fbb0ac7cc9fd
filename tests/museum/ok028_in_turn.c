// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A library's set and the program's own, polled in turn: neither can be told of the
// other, so the loop sleeps a little in the one and then a little in the other. What
// is registered in the library's has not spoken for many turns.
#include "ordered.h"

#define EACH 3
#define NAP_MS 1
#define TURNS 50

struct endpoint {
	int *set, fd, peer, heard;
};

static struct endpoint own[EACH], foreign[EACH];
static int own_set, library_set;
static unsigned turns;

static void listen_to(void *arg)
{
	struct endpoint *e = arg;
	char word[32];
	while (co_read(*e->set, e->fd, word, sizeof(word)) > 0)
		e->heard++;
	ended++;
}

static NOINLINE void add(struct endpoint *e, int *set, const char *kind)
{
	int fds[2];
	pair(kind, fds);
	*e = (struct endpoint){.set = set, .fd = fds[0], .peer = fds[1]};
	co_start(listen_to, e);
}

static NOINLINE void turn(void)
{
	co_turn(own_set, NAP_MS);
	co_turn(library_set, NAP_MS);
	turns++;
}

static NOINLINE void speak(struct endpoint *all, int upto)
{
	for (int i = 0; i < EACH; i++) {
		must(write(all[i].peer, "word", 4));
		while (all[i].heard < upto)
			turn();
	}
}

static NOINLINE void idle_turns(unsigned n)
{
	for (unsigned until = turns + n; turns < until;)
		turn();
}

static NOINLINE void hang_up(void)
{
	for (int i = 0; i < EACH; i++) {
		close(own[i].peer);
		close(foreign[i].peer);
	}
	while (ended < 2 * EACH)
		turn();
}

int main(void)
{
	own_set = (int)must(epoll_create1(EPOLL_CLOEXEC));
	library_set = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < EACH; i++) {
		add(&own[i], &own_set, "unix");
		add(&foreign[i], &library_set, "tcp");
	}
	speak(foreign, 1);
	speak(own, 1);
	idle_turns(TURNS);
	say("ready");
	while (!ordered)
		turn();
	speak(foreign, 2);
	hang_up();
	return all_resumed(2 * EACH);
}
