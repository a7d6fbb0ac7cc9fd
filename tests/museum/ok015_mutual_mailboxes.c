// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// Actors that know each other: every one has a mailbox and the address of its
// partner, to whom it passes on what it gets. All are idle, each waits in its
// own mailbox, and each is the one who writes to another's. Messages come from
// outside, by a socket that is not theirs.
#include "ordered.h"

#define PAIRS 3
#define BOX 4

struct actor {
	struct actor *partner;
	struct co *co;
	bool waits;
	int mail[BOX];
	unsigned head, tail, handled;
};

static struct actor actors[2 * PAIRS];
static struct co_handler port;
static int ep, outside[2];

static int receive(struct actor *a)
{
	while (a->head == a->tail) {
		a->waits = true;
		co_yield();
	}
	return a->mail[a->head++ % BOX];
}

static void send(struct actor *to, int message)
{
	to->mail[to->tail++ % BOX] = message;
	if (to->waits) {
		to->waits = false;
		co_resume(to->co);
	}
}

// The message counts down; at 0 it has been handled. A negative one ends both.
static void act(void *arg)
{
	struct actor *a = arg;
	for (;;) {
		int message = receive(a);
		a->handled++;
		if (message != 0)
			send(a->partner, message > 0 ? message - 1 : 0);
		if (message < 0)
			break;
	}
	ended++;
}

static void on_message(struct co_handler *h, uint32_t events)
{
	int8_t letter[2]; // to whom, and what
	(void)events;
	if (read(h->fd, letter, sizeof(letter)) == sizeof(letter))
		send(&actors[letter[0]], letter[1]);
}

static NOINLINE void make_pair(struct actor *a, struct actor *b)
{
	a->partner = b;
	b->partner = a;
	a->co = co_new(act, a);
	b->co = co_new(act, b);
	co_resume(a->co);
	co_resume(b->co);
}

static NOINLINE void deliver(int to, int what)
{
	int8_t letter[2] = {(int8_t)to, (int8_t)what};
	unsigned before = actors[to].handled;
	must(write(outside[1], letter, sizeof(letter)));
	while (actors[to].handled == before)
		co_turn(ep, -1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	pair("unix", outside);
	port.fn = on_message;
	port.fd = outside[0];
	co_handle(ep, &port, EPOLLIN);
	for (int i = 0; i < PAIRS; i++)
		make_pair(&actors[2 * i], &actors[2 * i + 1]);
	for (int i = 0; i < 2 * PAIRS; i++)
		deliver(i, 3);
	serve_until_ordered(ep);
	for (int i = 0; i < 2 * PAIRS; i++)
		deliver(i, -1);
	return all_resumed(2 * PAIRS);
}
