// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 1 coroutine
// engine: both
// end: kill
//
// A download's client has stopped reading, and the coroutine that writes to it
// waits for room (EPOLLOUT). The slow-client policy closes the socket instead
// of shutting it down.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, client, policy;

static void download(void *arg)
{
	static char block[16 << 10];
	(void)arg;
	while (co_write(ep, client, block, sizeof(block)) > 0)
		;
}

static NOINLINE void drop_slow_client(void)
{
	close(client); // fault
	say("ready");
}

static void slow_client_policy(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, policy, &n, sizeof(n)));
	drop_slow_client();
}

int main(void)
{
	int fds[2];
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	policy = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	pair("tcp", fds);
	client = fds[0];
	co_start(slow_client_policy, NULL);
	co_start(download, NULL);
	must(write(policy, &one, sizeof(one)));
	co_loop(ep);
}
