// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Main asks a worker to finish, with a question that lies unread, and joins it.
// The worker looks up from its wait now and then, and would find out; only its
// own time is not over yet.
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

static _Noreturn void *loop(void *arg)
{
	(void)arg;
	co_start(worker, NULL);
	for (;;)
		co_turn(ep, 3600 * 1000);
}

int main(void)
{
	char byte = 'j';
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
