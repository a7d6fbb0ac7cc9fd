// SPDX-License-Identifier: MIT
//
// co.c - see co.h. Functions that hold a pointer to a coroutine are kept out
// of line, so that none of their registers or spills outlives them in the
// frame of a loop that sleeps.
#include "co.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "must.h"

#define STACK_BYTES (64u << 10)

enum co_stack co_kind = CO_MMAP;
bool co_scheduler_registers;
void (*co_parked)(struct co *);
unsigned long co_switches;

static __thread struct co *current;

static void count(void)
{
	__atomic_fetch_add(&co_switches, 1, __ATOMIC_RELAXED);
}

// Out of line: the address of a thread-local must not be kept across a switch.
NOINLINE struct co *co_self(void)
{
	return current;
}
static NOINLINE void set_current(struct co *c)
{
	current = c;
}

static void enter(unsigned lo, unsigned hi)
{
	struct co *c = (struct co *)((uintptr_t)lo | (uintptr_t)hi << 32);
	c->fn(c->arg);
	c->done = true;
	count();
	setcontext(c->back);
}

void co_init(struct co *c, co_fn *fn, void *arg, char *stack, size_t bytes)
{
	c->fn = fn;
	c->arg = arg;
	c->stack = stack;
	c->bytes = bytes;
	c->done = false;
	c->fd = -1;
	pthread_mutex_init(&c->lock, NULL);
	must(getcontext(&c->uc));
	c->uc.uc_stack.ss_sp = stack;
	c->uc.uc_stack.ss_size = bytes;
	c->uc.uc_link = NULL;
	makecontext(&c->uc, (void (*)(void))enter, 2, (unsigned)(uintptr_t)c,
		    (unsigned)((uintptr_t)c >> 32));
}

NOINLINE struct co *co_new(co_fn *fn, void *arg)
{
	struct co *c;
	char *stack;
	if (co_kind == CO_ONE) {
		stack = must_map(STACK_BYTES);
		c = (struct co *)stack;
		co_init(c, fn, arg, stack + sizeof(*c), STACK_BYTES - sizeof(*c));
	} else {
		c = must_alloc(sizeof(*c));
		stack = co_kind == CO_HEAP ? must_alloc(STACK_BYTES) : must_map(STACK_BYTES);
		co_init(c, fn, arg, stack, STACK_BYTES);
	}
	c->kind = co_kind;
	return c;
}

void co_free(struct co *c)
{
	if (c->kind == CO_ONE) {
		munmap(c, STACK_BYTES);
		return;
	}
	if (c->kind == CO_HEAP)
		free(c->stack);
	else
		munmap(c->stack, c->bytes);
	free(c);
}

NOINLINE void co_watch(int ep, int fd, uint32_t events, struct co *c)
{
	struct epoll_event ev = {.events = events, .data.ptr = c};
	if (epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev) == 0)
		return;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
}

static NOINLINE void parked(struct co *c)
{
	int fd = c->fd;
	c->fd = -1;
	if (fd >= 0)
		co_watch(c->ep, fd, c->events, c);
	if (co_parked)
		co_parked(c);
}

NOINLINE void co_resume(struct co *c)
{
	ucontext_t back;
	co_resume_from(c, &back);
}

NOINLINE void co_resume_from(struct co *c, ucontext_t *back)
{
	pthread_mutex_lock(&c->lock);
	c->back = back;
	set_current(c);
	count();
	swapcontext(back, &c->uc);
	set_current(NULL);
	bool done = c->done;
	if (!done)
		parked(c);
	pthread_mutex_unlock(&c->lock);
	if (done && !c->pinned)
		co_free(c);
}

NOINLINE void co_start(co_fn *fn, void *arg)
{
	co_resume(co_new(fn, arg));
}

NOINLINE void co_yield(void)
{
	struct co *c = co_self();
	count();
	swapcontext(&c->uc, c->back);
}

NOINLINE void co_wait(int ep, int fd, uint32_t events)
{
	struct co *c = co_self();
	if (co_scheduler_registers) {
		c->fd = fd;
		c->ep = ep;
		c->events = events | EPOLLONESHOT;
	} else {
		co_watch(ep, fd, events | EPOLLONESHOT, c);
	}
	co_yield();
}

NOINLINE ssize_t co_read(int ep, int fd, void *buf, size_t n)
{
	for (;;) {
		ssize_t r = read(fd, buf, n);
		if (r >= 0 || errno != EAGAIN)
			return r;
		co_wait(ep, fd, EPOLLIN);
	}
}

NOINLINE ssize_t co_write(int ep, int fd, const void *buf, size_t n)
{
	for (;;) {
		ssize_t r = write(fd, buf, n);
		if (r >= 0 || errno != EAGAIN)
			return r;
		co_wait(ep, fd, EPOLLOUT);
	}
}

void co_handle(int ep, struct co_handler *h, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = h};
	h->tag = CO_HANDLER;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, h->fd, &ev));
}

static NOINLINE void dispatch(struct epoll_event *ev, int n)
{
	for (int i = 0; i < n; i++) {
		struct co_handler *h = ev[i].data.ptr;
		if (h->tag == CO_HANDLER)
			h->fn(h, ev[i].events);
		else
			co_resume(ev[i].data.ptr);
	}
}

// What the compiler left behind in dead frames could stand in the padding of
// a live one: a coroutine that shall be unreachable must really be so.
static NOINLINE void wipe(void)
{
	char dead[16 << 10];
	memset(dead, 0, sizeof(dead));
	__asm__ volatile("" : : "r"(dead) : "memory");
}

NOINLINE bool co_turn(int ep, int timeout_ms)
{
	struct epoll_event ev[64];
	wipe();
	int n = epoll_wait(ep, ev, 64, timeout_ms);
	if (n < 0)
		return false;
	dispatch(ev, n);
	return true;
}

_Noreturn void co_loop(int ep)
{
	for (;;)
		co_turn(ep, -1);
}

static void *loop_thread(void *ep)
{
	co_loop(*(int *)ep);
}

pthread_t co_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	if (pthread_create(&t, NULL, fn, arg) != 0)
		abort();
	return t;
}

pthread_t co_loop_thread(int *ep)
{
	return co_thread(loop_thread, ep);
}
