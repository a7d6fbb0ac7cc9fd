// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// Writers of a log are idle: each waits for the next lines. Jobs, which are made where
// there is work, have ended. The program has nothing more to do, and nothing outside
// will give it any: it sleeps until it is killed.
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

#define WRITERS 3
#define JOBS 12

static struct co *idle[WRITERS];
static int ep, nidle, lines, ended;

static void writer(void *arg)
{
	(void)arg;
	for (;;) {
		idle[nidle++] = co_self();
		co_yield();
		lines++;
	}
}

static NOINLINE void write_line(void)
{
	if (nidle)
		co_resume(idle[--nidle]);
}

static void job(void *arg)
{
	(void)arg;
	write_line();
	ended++;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < WRITERS; i++)
		co_start(writer, NULL);
	for (int i = 0; i < JOBS; i++)
		co_start(job, NULL);
	must(lines == JOBS && ended == JOBS ? 0 : -1);
	say("ready");
	co_loop(ep);
}
