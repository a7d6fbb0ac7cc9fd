// SPDX-License-Identifier: MIT
//
// bare.c - coroutines in all states, to be found by somebody who was not there: bare N [OFFSET]. Of N
// coroutines each fifth is: held and suspended, suspended with nothing that leads to it, created, ended
// (its stack and control block are kept), freed. Prints "ready H L C" (held, lost, created) and stays;
// with `spin` two more switch as fast as they can on a thread of their own, with `epoll` the held ones
// wait for a pipe of their own, by a registration alone; with `fired` the lost ones do, and it has fired: the
// event was taken and nobody was resumed; with `top` control blocks lie above their stacks. It stays in pause, or
// with `forgets` and `keeps` in a loop of epoll_wait, with a register of which holds the last lost one: it will be
// overwritten, or used; with `waits` in main's own loop of epoll_wait; or with `busy` in a loop in which one more
// waits, by a one-shot that fires each turn.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define STAY __asm__ volatile("" ::: "memory")
enum { HELD, LOST, CREATED, ENDED, FREED, WAYS };

static struct co **kept;
static size_t nkept;
static int ep;
static struct co *last; // of the lost ones
static struct epoll_event event;
static bool by_epoll, fired, on_top, turns;

static NOINLINE void deep(int depth)
{
	char room[64];
	memset(room, depth, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
	if (depth)
		deep(depth - 1);
	else
		co_yield();
	STAY;
}

static NOINLINE void serve(void *arg)
{
	deep((int)(intptr_t)arg);
	STAY;
}

static NOINLINE void wait_main(void *arg)
{
	co_wait(ep, (int)(intptr_t)arg, EPOLLIN);
	STAY;
}

// It does something before it ends, as most do: what stood on its stack is overwritten.
static NOINLINE void work(void)
{
	char room[1024];
	snprintf(room, sizeof(room), "%p", (void *)room);
	__asm__ volatile("" ::"r"(room) : "memory");
}

static NOINLINE void busy_main(void *arg)
{
	char byte;
	for (;;) {
		co_wait(ep, (int)(intptr_t)arg, EPOLLIN);
		must(read((int)(intptr_t)arg, &byte, 1) == 1 ? 0 : -1);
	}
}

static _Noreturn void be_busy(const int *pipes)
{
	for (;;) {
		must(write(pipes[1], "", 1) == 1 ? 0 : -1);
		co_turn(ep, -1);
	}
}

static NOINLINE void end_main(void *arg)
{
	deep((int)(intptr_t)arg);
	work();
	STAY;
}

static NOINLINE void take_event(int to)
{
	struct epoll_event e;
	must(write(to, "", 1) == 1 ? 0 : -1);
	must(epoll_wait(ep, &e, 1, -1) == 1 ? 0 : -1);
}

static void keep(struct co *c)
{
	c->pinned = true;
	kept[nkept++] = c;
}

// In one mapping with its stack, at the end of it.
static NOINLINE struct co *new_on_top(co_fn *fn, void *arg)
{
	const size_t bytes = 64 << 10;
	char *stack = must_map(bytes);
	struct co *c = (struct co *)(void *)(stack + ((bytes - sizeof(*c)) & ~(size_t)63));
	co_init(c, fn, arg, stack, (size_t)((char *)c - stack));
	c->pinned = true;
	return c;
}

static NOINLINE void start(int i)
{
	int way = i % WAYS, pipes[2];
	struct co *c;
	if ((way == HELD && by_epoll) || (way == LOST && fired)) {
		must(pipe(pipes));
		co_start(wait_main, (void *)(intptr_t)pipes[0]);
		if (fired)
			take_event(pipes[1]);
		return;
	}
	co_fn *fn = way == ENDED || way == FREED ? end_main : serve;
	c = on_top ? new_on_top(fn, (void *)(intptr_t)(i % 3)) : co_new(fn, (void *)(intptr_t)(i % 3));
	if (way == HELD || way == CREATED || way == ENDED)
		keep(c);
	if (way == LOST && turns)
		last = c;
	if (way != CREATED)
		co_resume(c);
	if (way == ENDED || way == FREED)
		co_resume(c);
}

// What lies below the stack pointer would lead to the last ones.
static NOINLINE void wipe(void)
{
	char room[16384];
	memset(room, 0, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
}

static void spin_main(void *arg)
{
	for (;;)
		deep((int)(intptr_t)arg);
}

static void *spin(void *arg)
{
	struct co *a = co_new(spin_main, NULL), *b = co_new(spin_main, (void *)2);
	for (;;) {
		co_resume(a);
		co_resume(b);
	}
	return arg;
}

#ifdef __x86_64__
#define TURN(name, behind)                                                                                        \
	__asm__(".text\n.type " name ", @function\n" name ":\n.cfi_startproc\n"                                      \
		"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"                                          \
		"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbp, 0\n"                                          \
		"sub $24, %rsp\n.cfi_adjust_cfa_offset 24\n"                                                             \
		"mov %edi, %ebp\nmov %rsi, 8(%rsp)\nmov %rdx, %rbx\n"                                                    \
		"1: mov %ebp, %edi\nmov 8(%rsp), %rsi\nmov $1, %edx\nmov $-1, %ecx\ncall epoll_wait@PLT\n"              \
		behind "mov %rbx, %rdi\ncall co_resume\njmp 1b\n.cfi_endproc\n.size " name ", . - " name "\n")
TURN("turn_and_forget", "mov 8(%rsp), %rax\nmov 4(%rax), %rbx\n"); // whom the event is for
TURN("turn_and_keep", "");
_Noreturn void turn_and_forget(int set, struct epoll_event *e, struct co *c);
_Noreturn void turn_and_keep(int set, struct epoll_event *e, struct co *c);

static NOINLINE struct co *take_last(void)
{
	struct co *c = last;
	last = NULL;
	return c;
}
#endif

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10, pipes[2];
	pthread_t t;
	kept = must_alloc(sizeof(*kept) * (size_t)(n + 1));
	ep = epoll_create1(0);
	by_epoll = argc > 2 && !strcmp(argv[2], "epoll");
	fired = argc > 2 && !strcmp(argv[2], "fired");
	turns = argc > 2 && (!strcmp(argv[2], "forgets") || !strcmp(argv[2], "keeps"));
	on_top = argc > 2 && !strcmp(argv[2], "top");
	for (int i = 0; i < n; i++)
		start(i);
	must(pipe(pipes));
	if (argc > 2 && !strcmp(argv[2], "busy"))
		co_start(busy_main, (void *)(intptr_t)pipes[0]);
	wipe();
	if (argc > 2 && !strcmp(argv[2], "spin"))
		pthread_create(&t, NULL, spin, NULL);
	printf("ready %d %d %d\n", (n + 4) / 5, (n + 3) / 5, (n + 2) / 5);
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[2], "busy"))
		be_busy(pipes);
	while (argc > 2 && !strcmp(argv[2], "waits"))
		epoll_wait(ep, &event, 1, -1);
#ifdef __x86_64__
	if (argc > 2 && !strcmp(argv[2], "forgets"))
		turn_and_forget(ep, &event, take_last());
	if (argc > 2 && !strcmp(argv[2], "keeps"))
		turn_and_keep(ep, &event, take_last());
#endif
	for (;;)
		pause();
}
