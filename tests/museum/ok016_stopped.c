// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// The program is stopped in the middle of a slice, as by a debugger or Ctrl-Z,
// and continued later: the time that passed is not the coroutine's doing.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, jobs[2], feed[2];

static void worker(void *arg)
{
	char job;
	(void)arg;
	co_read(ep, jobs[0], &job, 1);
	must(raise(SIGSTOP));
	must(write(jobs[1], "j", 1));
	co_read(ep, jobs[0], &job, 1);
	must(write(feed[1], "m", 1));
}

static void subscriber(void *arg)
{
	char message;
	(void)arg;
	co_read(ep, feed[0], &message, 1);
	say("served");
	_exit(0);
}

// The debugger's user: lets the program stand for a while.
static void continue_later(pid_t program)
{
	for (char state = 0; state != 'T';) {
		char path[64], text[512];
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)program);
		FILE *f = fopen(path, "r");
		if (!f)
			_exit(0);
		size_t n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		text[n] = 0;
		state = *(strrchr(text, ')') + 2);
	}
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	kill(program, SIGCONT);
	_exit(0);
}

int main(void)
{
	pid_t program = getpid();
	if (must(fork()) == 0)
		continue_later(program);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", jobs);
	pair("unix", feed);
	co_start(subscriber, NULL);
	co_start(worker, NULL);
	must(write(jobs[1], "j", 1));
	co_loop(ep);
}
