// SPDX-License-Identifier: MIT
// expect: CTP023 suspect, 1 coroutine
//
// Six workers, each with an epoll set and an acceptor of its own, and the one
// listener in all sets: every connection wakes all six.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define WORKERS 6
#define CONNECTIONS 4

static int listener, port, accepted[2];
static pthread_barrier_t all;

static void acceptor(void *arg)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		if (fd < 0) {
			co_wait(*(int *)arg, listener, EPOLLIN); // fault
			continue;
		}
		must(write(accepted[1], "", 1));
		close(fd);
	}
}

// Each worker has its event before the first of them accepts, as on as many CPUs.
static void *worker(void *arg)
{
	struct epoll_event ev;
	int ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	(void)arg;
	co_start(acceptor, &ep);
	pthread_barrier_wait(&all);
	for (int i = 0; i < CONNECTIONS; i++) {
		must(epoll_wait(ep, &ev, 1, -1));
		pthread_barrier_wait(&all);
		co_resume(ev.data.ptr);
		pthread_barrier_wait(&all);
	}
	pthread_barrier_wait(&all);
	co_loop(ep);
}

int main(void)
{
	char byte;
	must(pipe(accepted));
	listener = tcp_listen(&port);
	pthread_barrier_init(&all, NULL, WORKERS + 1);
	for (int i = 0; i < WORKERS; i++)
		co_thread(worker, NULL);
	pthread_barrier_wait(&all);
	for (int i = 0; i < CONNECTIONS; i++) {
		int client = tcp_connect(port);
		pthread_barrier_wait(&all);
		must(read(accepted[0], &byte, 1));
		close(client);
		pthread_barrier_wait(&all);
	}
	pthread_barrier_wait(&all);
	say("ready");
	pause();
}
