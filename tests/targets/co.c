// SPDX-License-Identifier: MIT
//
// co.c - see co.h. Functions that hold a pointer to a coroutine are kept out
// of line, so that none of their registers or spills outlives them in the
// frame of a loop that sleeps. An engine makes a coroutine, passes control
// between two contexts, and leaves one for good; the rest is the same for all.
#undef _FORTIFY_SOURCE // its longjmp goes up the stack only, and dies of a switch
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
const struct co_engine *co_engine = &co_ucontext;

static __thread struct co *current;

void co_count(void)
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

static struct co *joined(unsigned lo, unsigned hi)
{
	return (struct co *)((uintptr_t)lo | (uintptr_t)hi << 32);
}

static void make_context(struct co *c, ucontext_t *uc, void (*entry)(unsigned lo, unsigned hi), ucontext_t *link)
{
	must(getcontext(uc));
	uc->uc_stack.ss_sp = c->stack;
	uc->uc_stack.ss_size = c->bytes;
	uc->uc_link = link;
	makecontext(uc, (void (*)(void))entry, 2, (unsigned)(uintptr_t)c, (unsigned)((uintptr_t)c >> 32));
}

// ---- ucontext: swapcontext, and setcontext at the end

static void uc_enter(unsigned lo, unsigned hi)
{
	co_body(joined(lo, hi));
}

static void uc_make(struct co *c)
{
	make_context(c, &c->own.uc, uc_enter, NULL);
}

static void uc_swap(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	swapcontext(&from->uc, &to->uc);
}

static void uc_leave(union co_context *to)
{
	setcontext(&to->uc);
}

const struct co_engine co_ucontext = {"ucontext", uc_make, uc_swap, uc_leave};

// ---- sjlj: born in one swapcontext that never returns, siglongjmp ever after

static void jump_enter(unsigned lo, unsigned hi)
{
	struct co *c = joined(lo, hi);
	if (sigsetjmp(c->own.jump, 0) == 0) {
		co_count();
		siglongjmp(c->back->jump, 1);
	}
	co_body(c);
}

static void jump_make(struct co *c)
{
	union co_context creator;
	ucontext_t born, old;
	c->back = &creator;
	make_context(c, &born, jump_enter, &old);
	if (sigsetjmp(creator.jump, 0) == 0) {
		co_count();
		swapcontext(&old, &born);
	}
}

static void jump_swap(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	if (sigsetjmp(from->jump, 0) == 0)
		siglongjmp(to->jump, 1);
}

static void jump_leave(union co_context *to)
{
	siglongjmp(to->jump, 1);
}

const struct co_engine co_sjlj = {"sjlj", jump_make, jump_swap, jump_leave};

// Where co_fcontext.c, co_sigalt.c, co_patched.c are linked in.
extern const struct co_engine co_fcontext __attribute__((weak)), co_sigalt __attribute__((weak));
extern const struct co_engine co_patched[] __attribute__((weak)); // ends with one that has no name

// Programs that offer no choice of their own take the environment's.
static void __attribute__((constructor)) choose(void)
{
	const char *name = getenv("CO_ENGINE");
	if (name && !co_choose(name))
		abort();
}

bool co_choose(const char *name)
{
	const struct co_engine *all[] = {&co_ucontext, &co_sjlj, &co_fcontext, &co_sigalt};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i] && !strcmp(all[i]->name, name)) {
			co_engine = all[i];
			return true;
		}
	for (const struct co_engine *e = co_patched; e && e->name; e++)
		if (!strcmp(e->name, name)) {
			co_engine = e;
			return true;
		}
	return false;
}

// ---- what all engines have in common

_Noreturn void co_body(struct co *c)
{
	c->fn(c->arg);
	c->done = true;
	co_count();
	c->engine->leave(c->back);
	abort();
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
	c->engine = co_engine;
	c->engine->make(c);
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
	union co_context back;
	co_resume_from(c, &back);
}

NOINLINE void co_resume_from(struct co *c, union co_context *back)
{
	struct co *outer = co_self(); // NULL in a loop
	pthread_mutex_lock(&c->lock);
	c->back = back;
	set_current(c);
	co_count();
	c->engine->swap(c, back, &c->own);
	set_current(outer);
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
	co_count();
	c->engine->swap(c, &c->own, c->back);
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

// Out of line for the same reason: errno is a thread-local.
NOINLINE bool co_blocked(ssize_t r)
{
	return r < 0 && errno == EAGAIN;
}

NOINLINE ssize_t co_read(int ep, int fd, void *buf, size_t n)
{
	for (;;) {
		ssize_t r = read(fd, buf, n);
		if (!co_blocked(r))
			return r;
		co_wait(ep, fd, EPOLLIN);
	}
}

NOINLINE ssize_t co_write(int ep, int fd, const void *buf, size_t n)
{
	for (;;) {
		ssize_t r = write(fd, buf, n);
		if (!co_blocked(r))
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
