// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// expect: also CTP017
//
// A worker is told EAGAIN, waits by poll itself until the request is there, takes
// it in a way that nobody sees, and goes back to the pool. The whole program is quiet then.
#include <poll.h>
#include <sys/syscall.h>

#include "pooled.h"

static pthread_barrier_t told;

static void *peers(void *arg)
{
	for (int i = 0; i < WORKERS; i++) {
		pthread_barrier_wait(&told);
		must(write(conns[i][1], "?", 1));
	}
	return arg;
}

static void worker(void *arg)
{
	struct pollfd p = {*(int *)arg, POLLIN, 0};
	char request;
	co_watch(ep, p.fd, EPOLLIN | EPOLLET, co_self());
	if (read(p.fd, &request, 1) == -1) {
		pthread_barrier_wait(&told);
		must(poll(&p, 1, -1));
		must(syscall(SYS_read, p.fd, &request, 1));
	}
	for (;;)
		back_to_pool();
}

int main(void)
{
	pthread_t thread;
	must(-pthread_barrier_init(&told, NULL, 2));
	must(-pthread_create(&thread, NULL, peers, NULL));
	open_conns(worker);
	must(-pthread_join(thread, NULL));
	close_conns();
}
