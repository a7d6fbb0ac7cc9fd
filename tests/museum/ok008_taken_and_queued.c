// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP002 suspect
// expect: also CTP008 likely
// order: SIGUSR1
//
// The loop takes an event, removes the row, and queues the job by priority: low ones are
// run in the night only. Two of them were, in an earlier night; three wait for
// the next, which the order begins.
#include "ordered.h"

#define JOBS 5
#define EARLIER 2

struct job {
	struct job *next;
	struct co *co;
	int fd, peer, low;
};

static struct job jobs[JOBS], *night, **night_end = &night;
static int ep, ran;

static ssize_t wait_and_read(struct job *j, char *buf, size_t n)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = j};
	ssize_t r;
	while (co_blocked(r = read(j->fd, buf, n))) {
		must(epoll_ctl(ep, EPOLL_CTL_ADD, j->fd, &ev));
		co_yield();
	}
	return r;
}

static void job(void *arg)
{
	struct job *j = arg;
	char input[64];
	must(wait_and_read(j, input, sizeof(input)));
	close(j->fd);
	close(j->peer);
	ran++;
	ended++;
}

static void enqueue(struct job *j)
{
	j->next = NULL;
	*night_end = j;
	night_end = &j->next;
}

static NOINLINE void dispatch(const struct epoll_event *ev)
{
	struct job *j = ev->data.ptr;
	must(epoll_ctl(ep, EPOLL_CTL_DEL, j->fd, NULL));
	if (j->low)
		enqueue(j);
	else
		co_resume(j->co);
}

static NOINLINE void turn(int timeout_ms)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, timeout_ms) == 1)
		dispatch(&ev);
}

static NOINLINE void begin_night(void)
{
	struct job *all = night;
	night = NULL;
	night_end = &night;
	while (all) {
		struct job *j = all;
		all = j->next;
		co_resume(j->co);
	}
}

static NOINLINE void submit(struct job *j)
{
	int fds[2];
	pair("unix", fds);
	*j = (struct job){.fd = fds[0], .peer = fds[1], .low = 1};
	j->co = co_new(job, j);
	co_resume(j->co);
	must(write(j->peer, "input", 5));
	turn(-1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < EARLIER; i++)
		submit(&jobs[i]);
	begin_night();
	must(ran == EARLIER ? 0 : -1);
	for (int i = EARLIER; i < JOBS; i++)
		submit(&jobs[i]);
	say("ready");
	while (!ordered)
		turn(-1);
	begin_night();
	return all_resumed(JOBS);
}
