// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 3 coroutines
// engine: both
//
// Four workers share one set. To take its clients off the air, an
// administrator's thread puts /dev/null in the place of each one's descriptor:
// dup2 closes what was there, and the coroutines that read it wait for ever.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CLIENTS 3

static int ep, clients[CLIENTS][2], answered[2];

static void client(void *arg)
{
	int fd = *(int *)arg;
	char request[64];
	ssize_t n;
	while ((n = co_read(ep, fd, request, sizeof(request))) > 0)
		must(co_write(ep, fd, request, (size_t)n));
}

// The second suspension of a client comes after its answer.
static void on_parked(struct co *c)
{
	(void)c;
	must(write(answered[1], "", 1));
}

static NOINLINE void *take_offline(void *arg)
{
	char byte;
	int null = (int)must(open("/dev/null", O_RDWR | O_CLOEXEC));
	(void)arg;
	for (int i = 0; i < 2 * CLIENTS; i++)
		must(read(answered[0], &byte, 1));
	for (int i = 0; i < CLIENTS; i++)
		must(dup2(null, clients[i][0])); // fault
	say("ready");
	return NULL;
}

int main(void)
{
	pthread_t worker = 0;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(answered));
	co_parked = on_parked;
	for (int i = 0; i < CLIENTS; i++) {
		pair("tcp", clients[i]);
		co_start(client, &clients[i][0]);
	}
	for (int i = 0; i < 4; i++)
		worker = co_loop_thread(&ep);
	co_thread(take_offline, NULL);
	for (int i = 0; i < CLIENTS; i++)
		must(write(clients[i][1], "hello", 5));
	pthread_join(worker, NULL);
}
