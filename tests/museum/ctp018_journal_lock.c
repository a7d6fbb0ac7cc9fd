// SPDX-License-Identifier: MIT
// expect: CTP018 suspect, 1 coroutines
// engine: both
//
// The flusher thread writes the journal out under its lock. A coroutine wants
// to append meanwhile, and waits for the lock with the whole loop.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], other[2];
static struct journal {
	pthread_mutex_t lock;
	int entries;
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};

static NOINLINE void append(void)
{
	pthread_mutex_lock(&journal.lock); // fault
	journal.entries++;
	pthread_mutex_unlock(&journal.lock);
}

static void conn_writer(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
	append();
	say("ready");
	co_read(ep, conn[0], &byte, 1);
}

static void other_conn(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, other[0], &byte, 1);
}

static void *flusher(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&journal.lock);
	must(write(conn[1], "g", 1)); // a request comes just now
	nap_ms(400); // fsync
	pthread_mutex_unlock(&journal.lock);
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", conn);
	pair("tcp", other);
	co_start(other_conn, NULL);
	co_start(conn_writer, NULL);
	co_thread(flusher, NULL);
	co_loop(ep);
}
