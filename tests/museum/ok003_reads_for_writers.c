// SPDX-License-Identifier: MIT
// expect: clean
//
// Two coroutines for each connection: one reads requests into a queue, the other answers them. The queue of a
// connection whose client is slow has been full for a while, and its reader waits until it is not.
#include "asked.h"

enum { SESSIONS = 3, ROUNDS = 5, ROOM = 2 };
static struct lane {
	char q[ROOM];
	int n, fd;
	struct co *reader, *writer;
} lanes[SESSIONS];
static int nlanes;
static bool paused;

static void wake(struct co **c)
{
	if (*c)
		runnable[nrunnable++] = *c;
	*c = NULL;
}

static NOINLINE void wait_as(struct co **c)
{
	*c = co_self();
	co_yield();
}

static void writer(void *arg)
{
	struct lane *l = arg;
	for (;;) {
		while (!l->n || paused)
			wait_as(&l->writer);
		l->n--;
		must(write(l->fd, "y", 1));
		wake(&l->reader);
	}
}

static void session(void *arg)
{
	struct lane *l = &lanes[nlanes++];
	l->fd = (int)(intptr_t)arg;
	co_start(writer, l);
	char what;
	while (co_read(ep, l->fd, &what, 1) == 1) {
		while (l->n == ROOM)
			wait_as(&l->reader);
		l->q[l->n++] = what;
		wake(&l->writer);
	}
}

int main(void)
{
	int clients[SESSIONS];
	open_server();
	for (int i = 0; i < SESSIONS; i++)
		clients[i] = dial();
	for (int i = 0; i < SESSIONS * ROUNDS; i++)
		ask_and_hear(clients[i % SESSIONS], 'q');
	paused = true;
	for (int k = 0; k <= ROOM; k++)
		for (int i = 0; i < SESSIONS; i++)
			ask(clients[i], 'q');
	for (int i = 0; i < SESSIONS; i++)
		while (!lanes[i].reader)
			turn();
	serve_for_good(3500);
}
