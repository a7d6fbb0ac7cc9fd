// SPDX-License-Identifier: MIT
// expect: clean
//
// The journal has a thread of its own, whose only coroutine waits for work at a
// condition. That thread runs no loop: it may sleep as long as it likes.
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], done[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool work;

static void journal(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (!work)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	must(write(done[1], "d", 1));
	co_yield();
}

static void *journal_thread(void *arg)
{
	co_start(journal, arg);
	return NULL;
}

static void *producer(void *arg)
{
	(void)arg;
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); // nothing to write yet
	pthread_mutex_lock(&lock);
	work = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
}

static void collector(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, done[0], &byte, 1);
	say("ready");
	co_read(ep, done[0], &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", conn);
	pair("unix", done);
	co_start(conn_reader, NULL);
	co_start(collector, NULL);
	co_thread(journal_thread, NULL);
	co_thread(producer, NULL);
	co_loop(ep);
}
