// SPDX-License-Identifier: MIT
//
// wrapped.c - a server and its clients as blocking code in coroutines, by the
// read, accept and close of wrap.c: `t-wrapped CLIENTS ENGINE` runs them on three
// threads and prints "coroutines C switches S" last.
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { ROUNDS = 20 };
int ep;
static int clients, port, listener, left, coroutines;
static bool stop;
static sem_t all_done;

static NOINLINE void start(co_fn *fn, void *arg)
{
	__atomic_add_fetch(&coroutines, 1, __ATOMIC_SEQ_CST);
	co_start(fn, arg);
}

static NOINLINE void finished(void)
{
	if (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) == 0)
		sem_post(&all_done);
}

static void serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	ssize_t n;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		must(write(fd, buf, (size_t)n) == n ? 0 : -1);
	must(close(fd));
	finished();
}

static void acceptor(void *arg)
{
	(void)arg;
	for (int i = 0; i < clients; i++) {
		int fd = (int)must(accept(listener, NULL, NULL));
		must(fcntl(fd, F_SETFL, O_NONBLOCK));
		start(serve, (void *)(intptr_t)fd);
	}
	finished();
}

static void client(void *arg)
{
	int fd = tcp_connect(port), me = (int)(intptr_t)arg;
	must(fcntl(fd, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < ROUNDS; i++) {
		char text[32], buf[32];
		int n = snprintf(text, sizeof(text), "%d of %d", i, me);
		must(write(fd, text, (size_t)n));
		must(read(fd, buf, sizeof(buf)) == n && !memcmp(buf, text, (size_t)n) ? 0 : -1);
	}
	must(close(fd));
	finished();
}

static void *loop(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		co_turn(ep, -1);
	return NULL;
}

static void woken(struct co_handler *h, uint32_t events)
{
	(void)h; // it stays readable: all threads shall see it
	(void)events;
}

int main(int argc, char **argv)
{
	static struct co_handler end = {.fn = woken};
	pthread_t pool[3];
	char line[96];
	clients = argc > 1 ? atoi(argv[1]) : 20;
	if (argc > 2 && !co_choose(argv[2]))
		return 2;
	left = 2 * clients + 1;
	sem_init(&all_done, 0, 0);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	end.fd = (int)must(eventfd(0, EFD_CLOEXEC));
	co_handle(ep, &end, EPOLLIN);
	listener = tcp_listen(&port);
	for (int i = 0; i < 3; i++)
		pool[i] = co_thread(loop, NULL);
	start(acceptor, NULL);
	for (int i = 0; i < clients; i++)
		start(client, (void *)(intptr_t)i);
	while (sem_wait(&all_done) != 0)
		;
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	must(eventfd_write(end.fd, 1));
	for (int i = 0; i < 3; i++)
		pthread_join(pool[i], NULL);
	snprintf(line, sizeof(line), "coroutines %d switches %lu", coroutines,
		 __atomic_load_n(&co_switches, __ATOMIC_RELAXED));
	say(line);
	return 0;
}
