// SPDX-License-Identifier: MIT
// expect: CTP015 proven, 1 coroutines
// expect: also CTP018
//
// At a reload a coroutine takes the lock of the table and joins the thread that
// writes the table to the disk; which wants that lock for its last round. There is
// nothing outside that could help.
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, rounds[2], reload[2];
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;

static void *flusher(void *arg)
{
	char round;
	(void)arg;
	while (read(rounds[0], &round, 1) == 1 || errno == EINTR) {
		pthread_mutex_lock(&table);
		pthread_mutex_unlock(&table);
	}
	return NULL;
}

static NOINLINE void reload_table(void)
{
	pthread_mutex_lock(&table);
	must(write(rounds[1], "r", 1));
	say("ready");
	pthread_join(thread, NULL); // fault
	pthread_mutex_unlock(&table);
}

static void reloader(void *arg)
{
	char byte;
	(void)arg;
	must(co_read(ep, reload[0], &byte, 1));
	reload_table();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(rounds)); // the thread reads it as it likes: it blocks
	pair("pipe", reload);
	co_start(reloader, NULL);
	thread = co_thread(flusher, NULL);
	must(write(reload[1], "r", 1));
	co_loop(ep);
}
