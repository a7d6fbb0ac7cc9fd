// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// As ctp001_by_thread, and the order to sweep is given.
#include "late.h"

static int orders[2]; // for the janitor

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd);
}

// Waits in a read of its own, not in the loop, until it is told to sweep.
static void *janitor(void *arg)
{
	char order;
	(void)arg;
	must(read(orders[0], &order, 1));
	resume_all();
	return NULL;
}

int main(void)
{
	pthread_t t;
	open_conns("tcp");
	must(pipe(orders));
	drop_conns();
	t = co_thread(janitor, NULL);
	co_turn(ep, 10);
	must(write(orders[1], "s", 1));
	pthread_join(t, NULL);
	say("swept");
}
