// SPDX-License-Identifier: MIT
// expect: clean
//
// The number of the set is closed while its loop sleeps in epoll_wait: that
// wait has the set still, and will deliver what comes. When it has returned the
// loop sees EBADF, and lets all go who waited there.
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[2][2];
static pid_t loop_tid;
static struct co *readers[2];
static bool cancelled;

static void conn_reader(void *arg)
{
	char buf[256];
	int i = (int)(intptr_t)arg;
	readers[i] = co_self();
	while (!cancelled && co_blocked(read(conns[i][0], buf, sizeof(buf))))
		co_wait(ep, conns[i][0], EPOLLIN);
	readers[i] = NULL;
}

static void *io_loop(void *arg)
{
	(void)arg;
	__atomic_store_n(&loop_tid, gettid(), __ATOMIC_RELEASE);
	while (co_turn(ep, -1) || errno == EINTR)
		;
	cancelled = true;
	for (int i = 0; i < 2; i++)
		if (readers[i])
			co_resume(readers[i]);
	return NULL;
}

// Asleep in the kernel: its wait channel has a name.
static bool asleep(void)
{
	char path[64], name[64] = "";
	pid_t tid = __atomic_load_n(&loop_tid, __ATOMIC_ACQUIRE);
	if (!tid)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/wchan", tid);
	FILE *f = fopen(path, "r");
	if (f) {
		must(fgets(name, sizeof(name), f) ? 0 : -1);
		fclose(f);
	}
	return name[0] == 'd' || name[0] == 'e'; // do_epoll_wait, ep_poll
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, (void *)(intptr_t)i);
	}
	pthread_t t = co_thread(io_loop, NULL);
	while (!asleep())
		;
	close(ep);
	say("ready");
	pthread_join(t, NULL);
}
