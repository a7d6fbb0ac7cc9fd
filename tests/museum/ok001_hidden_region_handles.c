// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 5 coroutines
// order: SIGUSR1
//
// A virtual machine with compressed references: the distance from the image's base, in
// units of 16 bytes. All its tasks are known so, those that run on as well, each by
// a number in a vector of references that is itself known by one.
#include "ordered.h"

#define TASKS 9
#define DROPPED 5

typedef uint32_t ref;

struct vector {
	uint32_t n;
	ref items[TASKS];
};

static char *base;
static ref all;
static int ep, sockets[TASKS], peers[TASKS], served[TASKS];

static NOINLINE ref compress(const void *p)
{
	return (ref)((uintptr_t)((const char *)p - base) >> 4);
}

static NOINLINE void *expand(ref r)
{
	return base + ((uintptr_t)r << 4);
}

// The row's data is a number: whose turn it is.
static NOINLINE void wait_turn(int i)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)i};
	if (epoll_ctl(ep, EPOLL_CTL_MOD, sockets[i], &ev))
		must(epoll_ctl(ep, EPOLL_CTL_ADD, sockets[i], &ev));
	co_yield();
}

static void task(void *arg)
{
	int i = (int)(intptr_t)arg;
	char buf[64];
	for (;;) {
		ssize_t n = read(sockets[i], buf, sizeof(buf));
		if (co_blocked(n))
			wait_turn(i);
		else if (n > 0)
			served[i]++;
		else
			break;
	}
	ended++;
}

static NOINLINE void spawn(int i)
{
	struct vector *v = expand(all);
	int fds[2];
	pair("unix", fds);
	sockets[i] = fds[0];
	peers[i] = fds[1];
	struct co *c = co_new(task, (void *)(intptr_t)i);
	v->items[v->n++] = compress(c);
	co_resume(c);
}

static NOINLINE void resume(int i)
{
	const struct vector *v = expand(all);
	co_resume(expand(v->items[i]));
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) == 1)
		resume((int)ev.data.u64);
}

static NOINLINE void greet(int i)
{
	must(write(peers[i], "go", 2));
	while (!served[i])
		turn();
}

static NOINLINE void drop(int i)
{
	close(sockets[i]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_kind = CO_HEAP;
	take_orders(SIGUSR1);
	base = must_alloc(64); // the image's header
	all = compress(must_alloc(sizeof(struct vector)));
	for (int i = 0; i < TASKS; i++)
		spawn(i);
	for (int i = 0; i < TASKS; i++)
		greet(i);
	for (int i = 0; i < DROPPED; i++)
		drop(i);
	wipe_dead_frames();
	say("ready");
	while (!ordered)
		turn();
	for (int i = 0; i < DROPPED; i++)
		resume(i);
	return all_resumed(DROPPED);
}
