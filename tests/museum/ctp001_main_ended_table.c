// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// The process goes on without its first thread, and its table still has the readers of what was closed: a
// signal makes it resume them.
#include <pthread.h>
#include <signal.h>

#include "late.h"

static pthread_t first;
static volatile sig_atomic_t told;

static void on_signal(int number)
{
	(void)number;
	told = 1;
}

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd); // fault
}

static void *serve(void *arg)
{
	(void)arg;
	pthread_join(first, NULL);
	open_conns("unix");
	drop_conns();
	say("ready");
	while (!told)
		co_turn(ep, -1);
	resume_all();
	say("resumed");
	exit(0);
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_signal};
	must(sigaction(SIGUSR1, &act, NULL));
	first = pthread_self();
	co_thread(serve, NULL);
	pthread_exit(NULL);
}
