// SPDX-License-Identifier: MIT
// expect: CTP006 likely, 1 coroutine
//
// Two workers on one epoll set. A job's pipe is closed by the janitor thread when
// the job is cancelled; another job opens its own pipe and gets the number. The
// cancelled one is resumed to clean up, and drains the pipe first.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct job {
	struct co *co;
	int pipe[2];
};
static struct job jobs[2];
static int ep;

static void job(void *arg)
{
	struct job *j = arg;
	char buf[64];
	pair("pipe", j->pipe);
	j->co = co_self();
	co_read(ep, j->pipe[0], buf, sizeof(buf));
}

static void *janitor(void *arg)
{
	(void)arg;
	close(jobs[0].pipe[0]); // fault
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_start(job, &jobs[0]);
	pthread_join(co_thread(janitor, NULL), NULL);
	co_start(job, &jobs[1]);
	must(write(jobs[1].pipe[1], "for the second", 14));
	co_resume(jobs[0].co);
	for (int i = 0; i < 2; i++)
		co_loop_thread(&ep);
	say("ready");
	pause();
}
