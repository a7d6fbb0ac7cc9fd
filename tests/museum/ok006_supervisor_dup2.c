// SPDX-License-Identifier: MIT
// expect: clean
//
// Log rotation: a supervisor puts a new file descriptor onto the number of the
// old one by dup2 while writers wait for it, and wakes them. They write to the new one.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, log_fds[2];
static struct co *writers[2];

static void writer(void *arg)
{
	static char line[4096];
	*(struct co **)arg = co_self();
	for (;;)
		co_write(ep, log_fds[0], line, sizeof(line));
}

int main(void)
{
	int fresh[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", log_fds);
	for (int i = 0; i < 2; i++)
		co_start(writer, &writers[i]);
	pair("unix", fresh);
	must(dup2(fresh[0], log_fds[0]));
	for (int i = 0; i < 2; i++)
		co_resume(writers[i]);
	say("ready");
	co_loop(ep);
}
