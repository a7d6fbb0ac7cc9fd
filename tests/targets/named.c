// SPDX-License-Identifier: MIT
//
// named.c - a program that names its coroutines (ctp/task.h).
//   named steps  every way to name one, what each call says on a line; then, parked: a
//                coroutine by each name, one that was renamed, one without; created ones, too
//   named lost [thread]   three connections by name, whose descriptors a reaper closes, or a thread by its name
//   named fork   parks one by name, forks, goes on with it in the child, where it parks again
//   named race   two threads that name one coroutine by two names for ever
// Prints "ready" once all is as it stays. `named-nopie` is the same, not position-independent.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctp/task.h>

#include "co.h"
#include "must.h"

static int ep, pairs[3][2];

static void say_step(const char *what, int r)
{
	printf("%s %s\n", what, r == 0 ? "0" : r == ERANGE ? "ERANGE" : r == ESRCH ? "ESRCH" : "other");
}

#define STEP(call) say_step(#call, call)

// As long as it may be, and longer: in the middle of a character.
#define LONGEST "a name of forty-seven bytes, which is the most."
#define LONGER "a name that would end within a character: \xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f"

static void stay(void *arg)
{
	if (arg)
		ctp_set_name(arg);
	co_yield();
}

static void steps_main(void *arg)
{
	(void)arg;
	errno = 77;
	STEP(ctp_set_name("first"));
	STEP(ctp_set_name(LONGEST));
	STEP(ctp_set_name(LONGER));
	STEP(ctp_set_name(NULL));
	STEP(ctp_set_name("second"));
	printf("errno %d\n", errno);
	co_yield();
}

static void ended_main(void *arg)
{
	ctp_set_name("ended");
	(void)arg;
}

static void steps(void)
{
	int here;
	STEP(ctp_set_name("a thread's own stack"));
	co_start(steps_main, NULL);
	STEP(ctp_set_name("a thread's own stack"));
	STEP(ctp_set_name_of(&here, "a thread's own stack"));
	STEP(ctp_set_name_of(NULL, "nobody"));
	co_start(ended_main, NULL);
	co_start(stay, LONGEST);
	co_start(stay, LONGER);
	co_start(stay, "evil \x1b[31m \xff \xc3(\" <b>");
	co_start(stay, NULL);
	struct co *made = co_new(stay, NULL);
	STEP(ctp_set_name_of(&made->own.uc, "made, by its context"));
	struct co *other = co_new(stay, NULL);
	STEP(ctp_set_name_of(other->stack + other->bytes / 2, "made, by its stack"));
	say("ready");
	pause();
}

static void connection(void *arg)
{
	char name[32], byte;
	int *ends = arg;
	snprintf(name, sizeof(name), "conn %d to 10.0.0.1", ends[0]);
	ctp_set_name(name);
	snprintf(name, sizeof(name), "gone"); // it was copied
	while (co_read(ep, ends[0], &byte, 1) > 0)
		;
}

static void reaper(void *arg)
{
	(void)arg;
	ctp_set_name("reaper");
	for (int i = 0; i < 3; i++)
		must(close(pairs[i][0]));
	co_yield();
}

static void *sweeper(void *arg)
{
	pthread_setname_np(pthread_self(), "sweeper");
	co_start(stay, NULL);
	for (int i = 0; i < 3; i++)
		must(close(pairs[i][0]));
	say("ready");
	pause();
	return arg;
}

static void lost(bool by_thread)
{
	struct epoll_event ev;
	for (int i = 0; i < 3; i++) {
		pair("unix", pairs[i]);
		co_start(connection, pairs[i]);
	}
	if (by_thread) {
		co_thread(sweeper, NULL);
	} else {
		co_start(reaper, NULL);
		say("ready");
	}
	for (;;)
		epoll_wait(ep, &ev, 1, -1);
}

static void twice(void *arg)
{
	ctp_set_name(arg);
	co_yield();
	co_yield();
}

static void go_on(void)
{
	struct co *c = co_new(twice, "from before the fork");
	co_resume(c);
	fflush(stdout);
	pid_t child = must((int)fork());
	if (child == 0) {
		co_resume(c);
		say("ready");
		pause();
		_exit(0);
	}
	must(waitpid(child, NULL, 0));
}

static struct co *named;

static void *race(void *name)
{
	for (;;)
		ctp_set_name_of(named->stack + 64, name);
	return NULL;
}

static void racers(void)
{
	pthread_t threads[2];
	static char names[2][47];
	named = co_new(stay, NULL);
	for (int i = 0; i < 2; i++) {
		memset(names[i], "ab"[i], sizeof(names[i]) - 1);
		must(-pthread_create(&threads[i], NULL, race, names[i]));
	}
	say("ready");
	pause();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	setvbuf(stdout, NULL, _IOLBF, 0);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	if (!strcmp(what, "steps"))
		steps();
	else if (!strcmp(what, "lost"))
		lost(argc > 2);
	else if (!strcmp(what, "fork"))
		go_on();
	else if (!strcmp(what, "race"))
		racers();
	fprintf(stderr, "named: what?\n");
	return 2;
}
