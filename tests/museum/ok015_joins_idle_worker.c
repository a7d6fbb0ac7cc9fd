// SPDX-License-Identifier: MIT
// expect: clean
//
// Main has sent a worker jobs over a pipe and joins it. Nothing else ends that
// wait, and nothing is wrong: at SIGTERM, for which a thread sits in sigwait, the
// pipe is closed and the worker goes.
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, jobs[2];
static bool over;

static void worker(void *arg)
{
	char job;
	(void)arg;
	while (co_read(ep, jobs[0], &job, 1) == 1)
		say("ready");
	over = true;
}

static void *loop(void *arg)
{
	(void)arg;
	co_start(worker, NULL);
	while (!over)
		co_turn(ep, -1);
	return NULL;
}

static void *ender(void *set)
{
	int sig;
	sigwait(set, &sig);
	close(jobs[1]);
	return NULL;
}

int main(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", jobs);
	pthread_t thread = co_thread(loop, NULL);
	pthread_t other = co_thread(ender, &set);
	must(write(jobs[1], "j", 1));
	pthread_join(thread, NULL);
	pthread_join(other, NULL);
}
