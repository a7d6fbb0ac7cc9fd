// SPDX-License-Identifier: MIT
// expect: CTP019 likely, 1 coroutines
// engine: both
//
// A coroutine streams a snapshot with the registry locked, and waits for its
// slow client in the middle. The registrar thread is blocked for as long.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, client[2], go[2];
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;

static void snapshot_writer(void *arg)
{
	static char snapshot[1 << 20];
	(void)arg;
	pthread_mutex_lock(&registry);
	for (size_t sent = 0; sent < sizeof(snapshot);)
		sent += (size_t)co_write(ep, client[0], snapshot + sent, sizeof(snapshot) - sent); // fault
	pthread_mutex_unlock(&registry);
}

static void *registrar(void *arg)
{
	char byte;
	(void)arg;
	must(read(go[0], &byte, 1));
	say("ready");
	pthread_mutex_lock(&registry);
	pthread_mutex_unlock(&registry);
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(go));
	pair("unix", client);
	co_thread(registrar, NULL);
	co_start(snapshot_writer, NULL);
	must(write(go[1], "g", 1));
	co_loop(ep);
}
