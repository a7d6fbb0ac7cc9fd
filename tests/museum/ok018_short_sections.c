// SPDX-License-Identifier: MIT
// expect: clean
//
// A counter under a mutex that coroutines and a thread take in turn, thousands
// of times: the lock is often found taken, and never for long.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define ROUNDS 20000

static int ep, conn[2], other[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long requests;

static NOINLINE void count_request(void)
{
	pthread_mutex_lock(&lock);
	requests++;
	pthread_mutex_unlock(&lock);
}

static void *statistics(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		count_request();
	return NULL;
}

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		co_read(ep, conn[0], &byte, 1);
		count_request();
		if (i + 1 < ROUNDS)
			must(write(conn[1], "g", 1));
	}
	say("ready");
	co_read(ep, conn[0], &byte, 1);
}

static void other_conn(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, other[0], &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", conn);
	pair("tcp", other);
	co_start(other_conn, NULL);
	co_start(conn_reader, NULL);
	co_thread(statistics, NULL);
	must(write(conn[1], "g", 1));
	co_loop(ep);
}
