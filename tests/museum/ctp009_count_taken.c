// SPDX-License-Identifier: MIT
// expect: fact CTP009
//
// A worker waits for jobs by an eventfd. A command to reset clears what is queued, and reads
// the eventfd so that it starts from nothing; meanwhile a job was posted, whose count that read
// took. Who helps a worker out, and does its job, looks the same: so it is said, and no finding.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, jobs[2], commands[2], done;

static void worker(void *arg)
{
	uint64_t n;
	(void)arg;
	while (co_read(ep, jobs[0], &n, sizeof(n)) > 0)
		done++;
}

static NOINLINE void forget_jobs(void)
{
	uint64_t n;
	must(read(jobs[0], &n, sizeof(n))); // fault
}

static void commander(void *arg)
{
	char command;
	(void)arg;
	while (co_read(ep, commands[0], &command, 1) > 0)
		forget_jobs();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("eventfd", jobs);
	pair("unix", commands);
	co_start(worker, NULL);
	co_start(commander, NULL);
	must(write(commands[1], "r", 1));
	must(write(jobs[1], &(uint64_t){1}, 8)); // its event comes in the same batch, behind the command's
	must(co_turn(ep, -1) ? 0 : -1);
	must(done == 0 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
