// SPDX-License-Identifier: MIT
// expect: CTP018 suspect, 1 coroutines
//
// A coroutine gives a job to a thread and waits for the result with a condition
// variable, as a thread would: its loop sleeps until the job is done.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], other[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool asked, done;

static NOINLINE void resolve(void)
{
	pthread_mutex_lock(&lock);
	asked = true;
	pthread_cond_broadcast(&changed);
	while (!done)
		pthread_cond_wait(&changed, &lock); // fault
	pthread_mutex_unlock(&lock);
}

static void *resolver(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (!asked)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	nap_ms(400); // the name server's time
	pthread_mutex_lock(&lock);
	done = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
	resolve();
	say("ready");
	co_read(ep, conn[0], &byte, 1);
}

static void other_conn(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, other[0], &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", conn);
	pair("pipe", other);
	co_thread(resolver, NULL);
	co_start(other_conn, NULL);
	co_start(conn_reader, NULL);
	must(write(conn[1], "g", 1));
	co_loop(ep);
}
