// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 6 coroutines
// order: SIGUSR1
//
// Compressed pointers: whoever waits is kept as a 32-bit handle, the distance
// from where the program's heap began. The sessions that live on are kept in
// the same way, and are found so with each event.
#include "ordered.h"

#define SESSIONS 9
#define CLOSED 6

typedef uint32_t handle;

struct slot {
	handle owner;
	int32_t fd;
	int32_t peer;
	uint32_t served;
};

static struct slot *slots;
static char *heap_begin;
static int ep;

static NOINLINE handle pack(struct co *c)
{
	return (handle)((char *)c - heap_begin);
}

static NOINLINE struct co *unpack(handle h)
{
	return (struct co *)(heap_begin + h);
}

// Its row's data is the slot's number: not even the kernel has a pointer.
static NOINLINE void slot_arm(struct slot *s)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = (uint32_t)(s - slots)};
	if (epoll_ctl(ep, EPOLL_CTL_MOD, s->fd, &ev))
		must(epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &ev));
}

static NOINLINE ssize_t slot_read(struct slot *s, void *buf, size_t n)
{
	for (;;) {
		ssize_t r = read(s->fd, buf, n);
		if (!co_blocked(r))
			return r;
		slot_arm(s);
		co_yield();
	}
}

static void session(void *arg)
{
	struct slot *s = arg;
	char buf[64];
	while (slot_read(s, buf, sizeof(buf)) > 0)
		s->served++;
	ended++;
}

static NOINLINE void open_session(uint32_t number)
{
	struct slot *s = &slots[number];
	int fds[2];
	pair("unix", fds);
	s->fd = fds[0];
	s->peer = fds[1];
	struct co *c = co_new(session, s);
	s->owner = pack(c);
	co_resume(c);
}

static NOINLINE void dispatch(struct epoll_event *ev, int n)
{
	for (int i = 0; i < n; i++)
		co_resume(unpack(slots[ev[i].data.u32].owner));
}

static NOINLINE bool turn(int timeout_ms)
{
	struct epoll_event ev[8];
	int n = epoll_wait(ep, ev, 8, timeout_ms);
	if (n > 0)
		dispatch(ev, n);
	return n >= 0;
}

static NOINLINE void greet(void)
{
	for (int i = 0; i < SESSIONS; i++)
		must(write(slots[i].peer, "hi", 2));
	for (int i = 0; i < SESSIONS; i++)
		while (!slots[i].served)
			turn(-1);
}

static NOINLINE void drop(int number)
{
	close(slots[number].fd); // fault
}

static NOINLINE void sweep(int number)
{
	co_resume(unpack(slots[number].owner));
}

int main(void)
{
	co_kind = CO_HEAP;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	slots = must_alloc(SESSIONS * sizeof(*slots));
	heap_begin = (char *)slots; // the first block
	for (uint32_t i = 0; i < SESSIONS; i++)
		open_session(i);
	greet();
	for (int i = 0; i < CLOSED; i++)
		drop(i);
	co_turn(ep, 0); // wipes dead frames
	say("ready");
	while (!ordered)
		turn(-1);
	for (int i = 0; i < CLOSED; i++)
		sweep(i);
	return all_resumed(CLOSED);
}
