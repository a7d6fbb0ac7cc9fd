// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
//
// Another thread could resume the readers of what was closed: it sits in a
// read of a pipe, waiting for the order to sweep.
#include "late.h"

static int orders[2]; // for the janitor

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd); // fault
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
	say("ready");
	pthread_join(t, NULL);
	say("swept");
}
