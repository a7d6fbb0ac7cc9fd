// SPDX-License-Identifier: MIT
// expect: CTP005 likely, 2 coroutines
// end: kill
//
// A scheduler of its own: contexts in a static array, rows edge-triggered and
// one-shot, with an index for data. wait_readable() adds a row the first time
// and believes that it stays: for the second wait there is none that is armed.
// A listener is watched too, so that something may still happen.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define TASKS 2

static struct task {
	ucontext_t context;
	int fd;
	int added;
} tasks[TASKS];
static char stacks[TASKS][32 << 10] __attribute__((aligned(16)));
static ucontext_t loop;
static int ep, running;

static void wait_readable(struct task *t)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET | EPOLLONESHOT, .data.u64 = (uint64_t)(t - tasks)};
	if (!t->added++)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, t->fd, &ev));
	swapcontext(&t->context, &loop); // fault
}

static void worker(void)
{
	struct task *t = &tasks[running];
	char job[64];
	for (;;)
		if (read(t->fd, job, sizeof(job)) < 0 && errno == EAGAIN)
			wait_readable(t);
}

static void resume(int i)
{
	running = i;
	swapcontext(&loop, &tasks[i].context);
}

static void turn(int listener)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	if (ev.data.u64 < TASKS)
		resume((int)ev.data.u64);
	else
		close(accept(listener, NULL, NULL));
}

static void spawn(int i, int fd)
{
	struct task *t = &tasks[i];
	must(getcontext(&t->context));
	t->context.uc_stack.ss_sp = stacks[i];
	t->context.uc_stack.ss_size = sizeof(stacks[0]);
	t->fd = fd;
	makecontext(&t->context, worker, 0);
	resume(i);
}

int main(void)
{
	int port, listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = TASKS};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	for (int i = 0; i < TASKS; i++) {
		int fds[2];
		pair("unix", fds);
		spawn(i, fds[0]);
		must(write(fds[1], "first job", 9));
		turn(listener);
		must(write(fds[1], "second job", 10));
	}
	say("ready");
	for (;;)
		turn(listener);
}
