// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
//
// A scheduler of its own: contexts in a static array, a ready queue, waits
// registered level-triggered with an index. A task that wants two workers gone
// closes their descriptors; the array still leads to them, and whatever comes
// in by the listener could resume them.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define TASKS 4

static struct task {
	ucontext_t context;
	int fd;
} tasks[TASKS];
static char stacks[TASKS][32 << 10] __attribute__((aligned(16)));
static ucontext_t loop;
static struct task *running, *queue[TASKS];
static int ep, queued;

static void wait_readable(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = running};
	struct task *me = running;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	swapcontext(&me->context, &loop);
	epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);
}

static void worker(void)
{
	char job[64];
	while (read(running->fd, job, sizeof(job)) < 0 && errno == EAGAIN)
		wait_readable(running->fd);
}

static void shrink_pool(void)
{
	for (int i = 0; i < 2; i++)
		close(tasks[i].fd); // fault
}

static void spawn(struct task *t, void (*fn)(void), int fd)
{
	must(getcontext(&t->context));
	t->context.uc_stack.ss_sp = stacks[t - tasks];
	t->context.uc_stack.ss_size = sizeof(stacks[0]);
	t->context.uc_link = &loop;
	t->fd = fd;
	makecontext(&t->context, fn, 0);
	queue[queued++] = t;
}

static void run_queue(void)
{
	while (queued > 0) {
		running = queue[--queued];
		swapcontext(&loop, &running->context);
	}
}

static void turn(int listener)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	if (ev.data.ptr)
		queue[queued++] = ev.data.ptr;
	else
		close(accept(listener, NULL, NULL));
	run_queue();
}

int main(void)
{
	int port, listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	for (int i = 0; i < 3; i++) {
		int fds[2];
		pair("pipe", fds);
		spawn(&tasks[i], worker, fds[0]);
	}
	run_queue();
	spawn(&tasks[3], shrink_pool, -1);
	run_queue();
	say("ready");
	for (;;)
		turn(listener);
}
