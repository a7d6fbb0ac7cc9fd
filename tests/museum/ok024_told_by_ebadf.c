// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Cancellation: the reaper closes what a reader waits for and resumes it at once.
// The reader tries once more, learns it from EBADF, and does not close again.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, fds[3][2];
static struct co *readers[3];

static void reader(void *arg)
{
	char buf[16];
	int i = *(int *)arg;
	readers[i] = co_self();
	co_read(ep, fds[i][0], buf, sizeof(buf));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		pair("unix", fds[i]);
		co_start(reader, &i);
	}
	for (int i = 0; i < 2; i++) {
		close(fds[i][0]);
		co_resume(readers[i]);
	}
	say("ready");
	co_loop(ep);
}
