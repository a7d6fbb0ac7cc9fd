// SPDX-License-Identifier: MIT
// expect: clean
//
// Main sends a worker jobs, leaves an answer unread and joins it. It will hear of
// the next job: by SIGHUP, whose handler sends it, whatever main sleeps in.
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, jobs[2], answers[2];

static void worker(void *arg)
{
	char job;
	(void)arg;
	for (;;) {
		must(co_read(ep, jobs[0], &job, 1));
		must(write(answers[1], &job, 1)); // nobody reads it
		say("ready");
	}
}

static void *loop(void *arg)
{
	(void)arg;
	co_start(worker, NULL);
	co_loop(ep);
}

static void next_job(int sig)
{
	(void)sig;
	must(write(jobs[1], "h", 1));
}

int main(void)
{
	char byte = 'j';
	must(signal(SIGHUP, next_job) == SIG_ERR ? -1 : 0);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", jobs);
	must(pipe(answers));
	pthread_t thread = co_thread(loop, NULL);
	must(write(jobs[1], &byte, 1));
	while (read(answers[0], &byte, 1) < 0)
		;
	must(write(jobs[1], &byte, 1));
	pthread_join(thread, NULL);
}
