// SPDX-License-Identifier: MIT
// expect: CTP019 suspect, 1 coroutine
// expect: also CTP018 suspect
//
// A session keeps the cache locked while it waits for the origin's answer. The janitor
// thread wants the cache meanwhile, and has to wait for as long. The answer came, and the
// lock was let go.
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, origin[2];
static atomic_int janitor_tid;
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void fetch(void)
{
	char entry;
	must(co_read(ep, origin[0], &entry, 1)); // fault
}

static void session(void *arg)
{
	char byte;
	(void)arg;
	pthread_mutex_lock(&cache);
	fetch();
	pthread_mutex_unlock(&cache);
	co_read(ep, origin[0], &byte, 1);
}

static void *janitor(void *arg)
{
	janitor_tid = (int)syscall(SYS_gettid);
	pthread_mutex_lock(&cache);
	pthread_mutex_unlock(&cache);
	return arg;
}

// Until the janitor sleeps for the cache: its call and what that is about are the first words.
static void until_blocked(void)
{
	char path[64];
	long call = 0;
	void *about = NULL;
	while (!janitor_tid)
		nap_ms(1);
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", janitor_tid);
	while (call != SYS_futex || about != &cache) {
		FILE *f = fopen(path, "r");
		must(f ? 0 : -1);
		if (fscanf(f, "%ld %p", &call, &about) != 2)
			call = 0; // it runs
		fclose(f);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", origin);
	co_start(session, NULL);
	pthread_t thread = co_thread(janitor, NULL);
	until_blocked();
	must(write(origin[1], "!", 1));
	must(co_turn(ep, -1) ? 0 : -1);
	pthread_join(thread, NULL);
	say("ready");
	co_loop(ep);
}
