// SPDX-License-Identifier: MIT
//
// manners_cancel.c - threads that are cancelled inside calls that have hooks.
//   t-cancel HOW WHERE ROUNDS: HOW is deferred or asynchronous; WHERE is native
//   or coroutine. Prints how many cleanup handlers ran, and its switches.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int pipes[2], ep, listener, pair_fds[2];
static atomic_long cleaned, inside;
static bool asynchronous, in_coroutine;

static void do_read(void) { char c; (void)!read(pipes[0], &c, 1); }
static void do_epoll_wait(void) { struct epoll_event ev; (void)!epoll_wait(ep, &ev, 1, -1); }
static void do_accept(void) { (void)!accept(listener, NULL, NULL); }
static void do_recv(void) { char c; (void)!recv(pair_fds[0], &c, 1, 0); }
static void do_recvmsg(void)
{
	char c;
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	(void)!recvmsg(pair_fds[0], &m, 0);
}
static void (*const calls[])(void) = {do_read, do_epoll_wait, do_accept, do_recv, do_recvmsg};
enum { CALLS = sizeof(calls) / sizeof(*calls) };

// Runs after the cancellation, on the stack of the call: hooks must still work there.
static void clean(void *arg)
{
	(void)arg;
	close(dup(ep));
	atomic_fetch_add(&cleaned, 1);
}

static void blocks(void *arg)
{
	int old;
	pthread_cleanup_push(clean, NULL);
	if (asynchronous)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	atomic_fetch_add(&inside, 1);
	for (;;)
		calls[(long)arg]();
	pthread_cleanup_pop(0);
}

static void turn(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		co_yield();
}

static void *thread_main(void *arg)
{
	struct co *c = co_new(turn, (void *)3);
	for (int i = 0; i < 4; i++)
		co_resume(c);
	if (in_coroutine)
		co_start(blocks, arg);
	else
		blocks(arg);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	asynchronous = !strcmp(argv[1], "asynchronous");
	in_coroutine = !strcmp(argv[2], "coroutine");
	long rounds = atol(argv[3]), joined = 0;
	must(pipe(pipes));
	ep = epoll_create1(0);
	listener = tcp_listen(&(int){0});
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair_fds));
	for (long i = 0; i < rounds; i++) {
		pthread_t t;
		void *end = NULL;
		long before = atomic_load(&inside);
		must(pthread_create(&t, NULL, thread_main, (void *)(i % CALLS)));
		while (atomic_load(&inside) == before)
			sched_yield();
		for (int n = 0; n < i % 7 * 10; n++) // sometimes before the call, sometimes in it
			sched_yield();
		must(pthread_cancel(t));
		must(pthread_join(t, &end));
		joined += end == PTHREAD_CANCELED;
	}
	printf("cancelled %ld cleaned %ld\n", joined, atomic_load(&cleaned));
	co_start(turn, (void *)0);
	printf("switches %lu\n", co_switches);
	return 0;
}
