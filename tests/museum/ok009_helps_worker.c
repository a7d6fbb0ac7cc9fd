// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A worker waits for jobs by an eventfd. Whoever has posted many helps it out: it takes the
// count, and does the job. The next job's count is the worker's again.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, jobs[2], clients[2], done;

static void worker(void *arg)
{
	uint64_t n;
	(void)arg;
	while (co_read(ep, jobs[0], &n, sizeof(n)) > 0)
		done += (int)n;
}

static void client(void *arg)
{
	char byte;
	uint64_t n;
	(void)arg;
	while (co_read(ep, clients[0], &byte, 1) > 0) {
		must(write(jobs[1], &(uint64_t){1}, 8));
		must(read(jobs[0], &n, sizeof(n)));
		done += (int)n;
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("eventfd", jobs);
	pair("unix", clients);
	co_start(worker, NULL);
	co_start(client, NULL);
	must(write(clients[1], "c", 1));
	must(co_turn(ep, -1) ? 0 : -1);
	must(write(jobs[1], &(uint64_t){1}, 8));
	must(co_turn(ep, -1) ? 0 : -1);
	must(done == 2 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
