// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// The program forks while a coroutine sleeps with a lock held. The child lets
// its copy of the lock go, as an atfork handler would; then the parent's does.
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2];
static bool done;
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;

static void session(void *arg)
{
	char byte;
	(void)arg;
	pthread_mutex_lock(&registry);
	co_read(ep, conn[0], &byte, 1);
	pthread_mutex_unlock(&registry);
	done = true;
}

static NOINLINE int fork_helper(void)
{
	int status;
	pid_t pid = (pid_t)must(fork());
	if (pid == 0) {
		pthread_mutex_unlock(&registry);
		pthread_mutex_lock(&registry);
		pthread_mutex_unlock(&registry);
		_exit(7);
	}
	must(waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", conn);
	co_start(session, NULL);
	say(fork_helper() == 7 ? "the child ended well" : "the child died");
	must(write(conn[1], "g", 1));
	while (!done)
		co_turn(ep, -1);
	return 0;
}
