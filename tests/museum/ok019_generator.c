// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// The rows of a cursor come from a generator, which is resumed under the
// cursor's lock and comes back to who holds it. At the last look it is at work
// and reads from a slow disk; its consumer is suspended, the lock is locked.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], disk[2];
static struct co *rows;
static pthread_mutex_t cursor = PTHREAD_MUTEX_INITIALIZER;

static void generator(void *arg)
{
	char row;
	(void)arg;
	for (int i = 0; i < 100; i++)
		co_yield();
	say("ready");
	must(read(disk[0], &row, 1)); // blocks
}

static void consumer(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
	for (;;) {
		pthread_mutex_lock(&cursor);
		co_resume(rows);
		pthread_mutex_unlock(&cursor);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", conn);
	must(pipe(disk));
	rows = co_new(generator, NULL);
	co_start(consumer, NULL);
	must(write(conn[1], "g", 1));
	co_loop(ep);
}
