// SPDX-License-Identifier: MIT
// expect: clean
//
// Four workers wait for one eventfd that counts jobs, each through a number of its own for it.
// All are woken for each job, and one of them takes it; the others wait on.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define WORKERS 4

static int ep, jobs, done;

static void worker(void *arg)
{
	uint64_t n;
	int mine = *(int *)arg;
	while (co_read(ep, mine, &n, sizeof(n)) > 0)
		done++;
}

int main(void)
{
	static int numbers[WORKERS];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	jobs = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE));
	for (int i = 0; i < WORKERS; i++) {
		numbers[i] = (int)must(dup(jobs));
		co_start(worker, &numbers[i]);
	}
	for (int i = 0; i < 10; i++) {
		must(write(jobs, &(uint64_t){1}, 8));
		must(co_turn(ep, -1) ? 0 : -1);
	}
	must(done == 10 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
