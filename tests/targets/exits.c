// SPDX-License-Identifier: MIT
//
// exits.c WAY [alone] - a program that has exit handlers, and ends in one of many ways while
// other threads switch coroutines, read from sockets and come and go. "alone": no other
// thread is left by then. Its handlers do what exit handlers do: they run an event loop, resume
// coroutines that wait, close descriptors, free what other threads use.
//
// The first handler to run, and each of its successors, makes a call that only this program
// makes (MARK); exits_watch.c looks for it.
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "co.h"
#include "exits.h"
#include "must.h"

static int ep, ends[4][2];
static struct co *lost; // its descriptor was closed under it; an exit handler resumes it all the same
static const char *way;
static bool alone;
static atomic_ulong turns;   // of the other threads' coroutines
static atomic_bool handlers; // exit handlers run
static atomic_bool over;     // threads shall end

// ----------------------------------------------------------- what waits here

static NOINLINE void reader(void *arg)
{
	char byte;
	while (co_read(ep, *(int *)arg, &byte, 1) > 0)
		;
}

static void set_up(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 4; i++) {
		pair("unix", ends[i]);
		if (i < 3)
			co_start(reader, &ends[i][0]);
	}
	lost = co_new(reader, &ends[3][0]);
	co_resume(lost);
	must(close(ends[3][0]));
}

// ----------------------------------------------------------- other threads

static NOINLINE void yields(void *arg)
{
	(void)arg;
	for (;;)
		co_yield();
}

static void *short_lived(void *arg)
{
	char byte;
	int fds[2];
	co_start(yields, NULL);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	while (read(fds[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(fds[0]);
	close(fds[1]);
	return arg;
}

// Switches all the time, so that its ring fills.
static void *switcher(void *arg)
{
	struct co *c = co_new(yields, NULL);
	while (!atomic_load(&over)) {
		for (int i = 0; i < 1000; i++)
			co_resume(c);
		atomic_fetch_add(&turns, 1000);
	}
	return arg;
}

// ----------------------------------------------------------- handlers

static void mark(void)
{
	syscall(SYS_getpriority, MARK, MARK);
	atomic_store(&handlers, true);
}

// Others go on meanwhile: more switches than a ring holds, and threads that begin and end.
static void let_others_run(void)
{
	unsigned long from = atomic_load(&turns);
	for (int i = 0; !alone && i < 20; i++) {
		pthread_t t;
		must(pthread_create(&t, NULL, short_lived, NULL) == 0 ? 0 : -1);
		pthread_join(t, NULL);
	}
	while (!alone && atomic_load(&turns) - from < 200000)
		;
}

// Registered first, so it runs last.
static void last_handler(void)
{
	mark();
	say("last handler");
}

static void closing_handler(void)
{
	mark();
	must(close(ends[1][0])); // under its waiter
	let_others_run();
}

static void loop_handler(void)
{
	mark();
	must(write(ends[0][1], "x", 1));
	co_turn(ep, -1); // the coroutine that waits for it goes on
	co_resume(lost);
	for (int i = 0; i < 3000; i++) {
		struct co *c = co_new(yields, NULL);
		co_resume(c);
	}
	int fds[2];
	char byte;
	pair("tcp", fds);
	if (read(fds[0], &byte, 1) >= 0 || errno != EAGAIN)
		_exit(98);
	let_others_run();
	if (!strcmp(way, "nested"))
		exit(3);
	if (!strcmp(way, "nested_exit_call"))
		_exit(3);
}

static void quick_handler(void)
{
	loop_handler();
	closing_handler();
}

// ----------------------------------------------------------- ends

static void on_signal(int sig)
{
	(void)sig;
	exit(3);
}

static void *exits_on_thread(void *arg)
{
	(void)arg;
	exit(3);
}

static void *outlives(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	return NULL;
}

static NOINLINE void exits(void *arg)
{
	(void)arg;
	exit(3);
}

// A hook is under way nearly all the time when the timer's signal comes.
static void exit_above_a_hook(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	must(sigaction(SIGPROF, &sa, NULL));
	timer_t timer;
	struct sigevent to = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	must(timer_create(CLOCK_MONOTONIC, &to, &timer));
	must(timer_settime(timer, 0, &(struct itimerspec){.it_value.tv_nsec = 3000000}, NULL));
	for (;;)
		must(close((int)must(dup(0))));
}

static int end(void)
{
	static pthread_t self, other;
	if (!strcmp(way, "_exit"))
		_exit(3);
	if (!strcmp(way, "quick_exit"))
		quick_exit(3);
	if (!strcmp(way, "err"))
		err(3, "leaves");
	if (!strcmp(way, "signal"))
		exit_above_a_hook();
	if (!strcmp(way, "coroutine"))
		co_start(exits, NULL);
	if (!strcmp(way, "thread")) {
		must(pthread_create(&other, NULL, exits_on_thread, NULL) == 0 ? 0 : -1);
		pthread_join(other, NULL);
	}
	if (!strcmp(way, "last_thread")) { // of all: those that switch end, too
		atomic_store(&over, true);
		self = pthread_self();
		must(pthread_create(&other, NULL, outlives, &self) == 0 ? 0 : -1);
		pthread_exit(NULL);
	}
	if (strcmp(way, "return"))
		exit(3);
	return 3;
}

int main(int argc, char **argv)
{
	pthread_t others[2];
	way = argc > 1 ? argv[1] : "return";
	alone = argc > 2;
	must(co_choose("sjlj") ? 0 : -1); // no system call in a switch: exits_watch.c stops at each
	must(atexit(last_handler));
	must(atexit(closing_handler));
	must(atexit(loop_handler));
	must(at_quick_exit(quick_handler));
	set_up();
	for (int i = 0; i < 2; i++)
		must(pthread_create(&others[i], NULL, switcher, NULL) == 0 ? 0 : -1);
	while (atomic_load(&turns) < 10000)
		;
	for (int i = 0; alone && i < 2; i++) {
		atomic_store(&over, true);
		pthread_join(others[i], NULL);
	}
	return end();
}
