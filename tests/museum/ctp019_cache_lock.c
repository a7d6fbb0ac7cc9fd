// SPDX-License-Identifier: MIT
// expect: CTP019 likely, 1 coroutines
// expect: CTP018 suspect, 1 coroutines
// end: timeout
//
// The first session finds the cache empty and fetches the entry, with the cache
// locked. The second one wants the lock: its thread sleeps, and with it the
// only loop that could bring the first one back.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[3][2], origin[2];
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void fetch(void)
{
	char entry;
	must(write(origin[0], "?", 1));
	co_read(ep, origin[0], &entry, 1); // fault
}

static void session(void *arg)
{
	int fd = *(int *)arg;
	char byte;
	co_read(ep, fd, &byte, 1);
	pthread_mutex_lock(&cache);
	fetch();
	pthread_mutex_unlock(&cache);
	co_read(ep, fd, &byte, 1);
}

static void idle(void *arg)
{
	char byte;
	co_read(ep, *(int *)arg, &byte, 1);
}

// It answers when it is asked, but the first asker cannot hear it any more.
static void *origin_server(void *arg)
{
	char query;
	(void)arg;
	while (co_blocked(read(origin[1], &query, 1)))
		poll(&(struct pollfd){.fd = origin[1], .events = POLLIN}, 1, -1);
	must(write(conns[1][1], "g", 1));
	say("ready");
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", origin);
	for (int i = 0; i < 3; i++)
		pair("pipe", conns[i]);
	co_start(idle, &conns[2][0]);
	for (int i = 0; i < 2; i++)
		co_start(session, &conns[i][0]);
	co_thread(origin_server, NULL);
	must(write(conns[0][1], "g", 1));
	co_loop(ep);
}
