// SPDX-License-Identifier: MIT
// expect: CTP025 likely..proven, 2 coroutines
//
// Each worker has an epoll set of its own. When the pool shrinks, a worker
// closes its set and goes; the subscribers that it had taken on still wait in
// it. The other worker knows nothing of them.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int sets[2], topics[2][2], retire, keepalive;
static bool retired;

static void subscriber(void *arg)
{
	char message[64];
	int fd = *(int *)arg;
	co_watch(sets[1], fd, EPOLLIN | EPOLLET, co_self());
	while (co_blocked(read(fd, message, sizeof(message))))
		co_yield();
}

static void retirement(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(sets[1], retire, &n, sizeof(n)));
	retired = true;
}

static void heartbeat(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(sets[0], keepalive, &n, sizeof(n)));
}

static void *worker(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++)
		co_start(subscriber, &topics[i][0]);
	co_start(retirement, NULL);
	while (!retired)
		co_turn(sets[1], -1);
	close(sets[1]); // fault
	return NULL;
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		sets[i] = (int)must(epoll_create1(EPOLL_CLOEXEC));
		pair("pipe", topics[i]);
	}
	retire = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	keepalive = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(heartbeat, NULL);
	pthread_t w = co_thread(worker, NULL);
	must(write(retire, &(uint64_t){1}, 8));
	pthread_join(w, NULL);
	say("ready");
	co_loop(sets[0]);
}
