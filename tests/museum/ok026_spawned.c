// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP017
//
// The same by posix_spawn and popen, from a coroutine: while a child takes its time, the loop waits for it.
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

extern char **environ;

static int ep, conns[2][2], job;

static void conn_reader(void *arg)
{
	char buf[256];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static void job_runner(void *arg)
{
	uint64_t n;
	char line[16], *argv[] = {"true", NULL};
	pid_t pid;
	int status;
	(void)arg;
	must(co_read(ep, job, &n, sizeof(n)));
	must(posix_spawnp(&pid, "true", NULL, NULL, argv, environ));
	must(waitpid(pid, &status, 0));
	FILE *f = popen("echo done", "r");
	must(f && fgets(line, sizeof(line), f) ? 0 : -1);
	pclose(f);
	say("ready");
	must(co_read(ep, job, &n, sizeof(n)));
}

int main(void)
{
	ep = (int)must(epoll_create1(0));
	job = (int)must(eventfd(0, EFD_NONBLOCK));
	for (int i = 0; i < 2; i++) {
		pair("unix", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	co_start(job_runner, NULL);
	must(write(job, &(uint64_t){1}, 8));
	co_loop(ep);
}
