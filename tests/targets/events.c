// SPDX-License-Identifier: MIT
//
// events.c - a program that has events of its own (ctp/event.h).
//   events kinds          one of every kind of field
//   events coroutines N   N requests, each by a coroutine that signals before and after it waits for its turn
//   events parked N       N coroutines that have signalled once, and wait for ever
//   events many N T       N events by each of T threads
//   events off N          N events with arguments that count, and how many were evaluated
//   events module PATH    a library with events, loaded and unloaded three times
//   events handler N      N events each by a handler that interrupts calls of hooks, and as many beside it
//   events fork           a child signals, then its parent
//   events asked MS       two events and a line for each letter that it is sent; it waits MS ms at a time for one
//   events two            a definition of the same name with other fields in another file
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "events.h"

#include "co.h"
#include "must.h"

CTP_EVENT(many, pair, (long, thread), (long, n));
CTP_EVENT(job, begins, (int, n));
CTP_EVENT(job, ends, (int, n), (const char *, how));
CTP_EVENT(two, same, (int, a));

void events_two(void); // events_other.c

static void job(void *arg)
{
	int n = (int)(long)arg;
	ctp_event(job, begins, n);
	co_yield();
	ctp_event(job, ends, n, n % 2 ? "odd" : "even");
}

static void parked(int n)
{
	for (int i = 0; i < n; i++)
		co_resume(co_new(job, (void *)(long)i));
}

static void coroutines(int n)
{
	struct co **all = calloc((size_t)n, sizeof(*all));
	for (int i = 0; i < n; i++)
		co_resume(all[i] = co_new(job, (void *)(long)i));
	for (int i = 0; i < n; i++)
		co_resume(all[i]);
	free(all);
}

static long each;

static void *many(void *arg)
{
	for (long i = 0; i < each; i++)
		ctp_event(many, pair, (long)arg, i);
	return NULL;
}

static void threads(int n)
{
	pthread_t t[64];
	for (long i = 0; i < n; i++)
		must(pthread_create(&t[i], NULL, many, (void *)i) ? -1 : 0);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static volatile long evaluated;

static long one_more(void)
{
	return ++evaluated;
}

static void module(const char *path)
{
	for (int i = 0; i < 3; i++) {
		void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		void (*signal_it)(int) = h ? (void (*)(int))dlsym(h, "signal_it") : NULL;
		must(signal_it ? 0 : -1);
		signal_it(i);
		must(dlclose(h) ? -1 : 0);
	}
}

static volatile long handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
	ctp_event(many, pair, 1, handled);
}

static void interrupted(long n)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	must(sigaction(SIGUSR1, &sa, NULL));
	for (long i = 0; i < n; i++) {
		raise(SIGUSR1);
		ctp_event(many, pair, 0, i);
	}
}

static void asked(int ms)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	char letter;
	for (int n = 0;;) {
		int r = poll(&in, 1, ms);
		if (!r)
			continue;
		must(r);
		if (read(0, &letter, 1) != 1)
			return;
		ctp_event(http, request, "/x", n);
		ctp_event(many, pair, one_more(), n);
		printf("said %d\n", ++n);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	each = argc > 2 ? atol(argv[2]) : 0;
	if (!strcmp(what, "kinds")) {
		events_of_every_kind();
		ctp_event(http, request, "/x", 200);
		events_idle(1);
	} else if (!strcmp(what, "coroutines")) {
		coroutines((int)each);
	} else if (!strcmp(what, "parked")) {
		parked((int)each);
	} else if (!strcmp(what, "many")) {
		threads(atoi(argv[3]));
	} else if (!strcmp(what, "off")) {
		for (long i = 0; i < each; i++)
			ctp_event(many, pair, one_more(), i);
	} else if (!strcmp(what, "module")) {
		module(argv[2]);
	} else if (!strcmp(what, "handler")) {
		interrupted(each);
	} else if (!strcmp(what, "fork")) {
		pid_t child = fork();
		ctp_event(http, request, child ? "parent" : "child", (int)getpid());
		if (!child)
			_exit(0);
		must(waitpid(child, NULL, 0));
	} else if (!strcmp(what, "asked")) {
		asked((int)each);
	} else if (!strcmp(what, "two")) {
		ctp_event(two, same, 1);
		events_two();
	} else {
		return 2;
	}
	printf("evaluated %ld\n", evaluated);
	return 0;
}
