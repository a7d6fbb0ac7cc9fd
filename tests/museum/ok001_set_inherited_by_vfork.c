// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// order: SIGUSR1
//
// A process is made by vfork and takes a set along, as its standard input. In it
// are the two ends of a socket pair, which the server has closed on its side; their
// rows' data leads to the workers. On its other descriptor the helper answers.
#include <sys/socket.h>

#include "ordered.h"

#define WORKERS 2

struct task {
	unsigned number;
	struct co *worker;
};

static int ep, jobs[WORKERS], link_to_helper;

static void worker(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char job[64];
	while (co_read(ep, fd, job, sizeof(job)) > 0)
		;
	ended++;
}

static NOINLINE int helper(void)
{
	struct epoll_event ev;
	char word[8];
	ssize_t n;
	while ((n = read(1, word, sizeof(word))) > 0)
		if (epoll_wait(0, &ev, 1, 0) == 1)
			must(write(1, &ev.data.u64, sizeof(ev.data.u64)));
	return 0;
}

static NOINLINE int make_set(void)
{
	int set = (int)must(epoll_create1(0)), ends[WORKERS];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	for (int i = 0; i < WORKERS; i++) {
		int fds[2];
		pair("pipe", fds);
		jobs[i] = fds[0];
		struct task *t = must_alloc(sizeof(*t));
		t->number = (unsigned)i;
		t->worker = co_new(worker, (void *)(intptr_t)fds[0]);
		struct epoll_event ev = {.events = EPOLLOUT | EPOLLET, .data.ptr = t};
		must(epoll_ctl(set, EPOLL_CTL_ADD, ends[i], &ev));
		co_resume(t->worker);
	}
	return set; // the ends are left open to whoever inherits them
}

static NOINLINE void spawn(int set, char *program)
{
	char *argv[] = {program, "helper", NULL};
	int ends[2];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	if (must(vfork()) == 0) {
		dup2(set, 0);
		dup2(ends[1], 1);
		execv(program, argv);
		_exit(1);
	}
	link_to_helper = ends[0];
	close(ends[1]);
	close(set);
}

static NOINLINE void close_jobs(void)
{
	for (int i = 0; i < WORKERS; i++)
		close(jobs[i]); // fault
}

static NOINLINE void next_of_helper(void)
{
	struct task *t;
	must(write(link_to_helper, "?", 1));
	must(read(link_to_helper, &t, sizeof(t)) == sizeof(t) ? 0 : -1);
	co_resume(t->worker);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return helper();
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	spawn(make_set(), argv[0]);
	close_jobs();
	serve_until_ordered(ep);
	for (int i = 0; i < WORKERS; i++)
		next_of_helper();
	return all_resumed(WORKERS);
}
