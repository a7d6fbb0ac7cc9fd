// SPDX-License-Identifier: MIT
// expect: CTP019 suspect, 1 coroutines
//
// Four workers; a session was suspended with the table's lock held, taken by
// pthread_mutex_trylock. Nobody has wanted it yet.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], pauses[2];
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void walk_table(void)
{
	uint64_t ticks;
	if (pthread_mutex_trylock(&table) != 0)
		return;
	say("ready");
	co_read(ep, pauses[0], &ticks, sizeof(ticks)); // fault
	pthread_mutex_unlock(&table);
}

static void session(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
	walk_table();
}

int main(void)
{
	pthread_t workers[4];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", conn);
	pair("eventfd", pauses);
	co_start(session, NULL);
	for (int i = 0; i < 4; i++)
		workers[i] = co_loop_thread(&ep);
	must(write(conn[1], "g", 1));
	pthread_join(workers[0], NULL);
}
