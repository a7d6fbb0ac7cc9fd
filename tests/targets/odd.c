// SPDX-License-Identifier: MIT
//
// odd.c - the less usual ways to switch, counted: see counts.c.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "counts.h"
#include "must.h"

#define STACK 65536

// ---- uc_link chains: 1 -> 2 -> ... -> back

static ucontext_t chain[40], home;

static void link_body(void)
{
	switched++; // through uc_link, to the next or home
}

void count_link(void)
{
	char *stacks = must_map(40 * STACK);
	for (int round = 0; round < 25; round++) {
		for (int i = 0; i < 40; i++) {
			make(&chain[i], stacks + i * STACK, STACK, i == 39 ? &home : &chain[i + 1]);
			makecontext(&chain[i], link_body, 0);
		}
		swap(&home, &chain[0]);
	}
}

// ---- setcontext only: getcontext, then setcontext elsewhere

static ucontext_t ping_uc, pong_uc;
static volatile int rounds, in_ping;

static void ping(void)
{
	for (;;) {
		volatile int again = 0;
		must(getcontext(&ping_uc));
		if (again)
			continue;
		again = 1;
		switched++;
		if (rounds-- == 0)
			setcontext(&home);
		setcontext(&pong_uc);
	}
}

static void pong(void)
{
	for (;;) {
		volatile int again = 0;
		must(getcontext(&pong_uc));
		if (again)
			continue;
		again = 1;
		switched++;
		setcontext(&ping_uc);
	}
}

void count_set(void)
{
	volatile int back = 0;
	rounds = 200;
	make(&ping_uc, must_map(STACK), STACK, NULL);
	makecontext(&ping_uc, ping, 0);
	make(&pong_uc, must_map(STACK), STACK, NULL);
	makecontext(&pong_uc, pong, 0);
	must(getcontext(&home));
	if (back)
		return;
	back = 1;
	switched++;
	setcontext(&ping_uc);
}

// ---- the same context and stack, again and again; both shifted against each other

static ucontext_t few[3];

static void reuse_body(int yields)
{
	for (int i = 0; i < yields; i++)
		swap(&few[0], &home);
	switched++;
}

void count_reuse(void)
{
	char *stacks = must_map(5 * STACK);
	for (int i = 0; i < 500; i++) {
		size_t shift = (size_t)(i % 7) * 64;
		make(&few[0], stacks + (i % 5) * STACK + shift, STACK - 2 * shift, &home);
		makecontext(&few[0], (void (*)(void))reuse_body, 1, i % 4);
		for (int k = 0; k <= i % 4; k++)
			swap(&home, &few[0]);
	}
}

// ---- many coroutines copied in and out of one stack

#define COPIED 50
static char *shared;
static struct copied {
	ucontext_t uc;
	char *saved;
	size_t bytes;
	int done;
} copies[COPIED];

static NOINLINE void copy_out(struct copied *c)
{
	char here;
	char *from = &here;
	__asm__ volatile("" : "+r"(from));
	c->bytes = (size_t)(shared + STACK - from);
	c->saved = realloc(c->saved, c->bytes);
	memcpy(c->saved, from, c->bytes);
}

static void copied_body(int i)
{
	volatile int sum = 0;
	for (int k = 0; k < 10; k++) {
		sum += i;
		copy_out(&copies[i]);
		switched++; // in this frame: what lies deeper was not copied
		swapcontext(&copies[i].uc, &home);
	}
	if (sum != 10 * i)
		abort();
	copies[i].done = 1;
	switched++;
}

void count_copy(void)
{
	shared = must_map(STACK);
	for (int left = COPIED, round = 0; left > 0; round++)
		for (int i = 0; i < COPIED; i++) {
			struct copied *c = &copies[i];
			if (round == 0) {
				make(&c->uc, shared, STACK, &home);
				makecontext(&c->uc, (void (*)(void))copied_body, 1, i);
			} else {
				memcpy(shared + STACK - c->bytes, c->saved, c->bytes);
			}
			swap(&home, &c->uc);
			left -= c->done;
		}
	for (int i = 0; i < COPIED; i++)
		free(copies[i].saved);
}

// ---- makecontext with 0 to 10 arguments

static int args_seen;

static void args_body(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
{
	int v[10] = {a, b, c, d, e, f, g, h, i, j};
	for (int k = 0; k < args_seen; k++)
		if (v[k] != 1000 + k)
			abort();
	switched++;
}

void count_args(void)
{
	char *stack = must_map(STACK);
	void (*fn)(void) = (void (*)(void))args_body;
	for (args_seen = 0; args_seen <= 10; args_seen++) {
		make(&few[0], stack, STACK - 64, &home); // the body looks for all ten, above its stack if need be
		makecontext(&few[0], fn, args_seen, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009);
		swap(&home, &few[0]);
	}
}

// ---- getcontext that returns twice on its own stack: no switch

void count_twice(void)
{
	volatile int n = 0;
	must(getcontext(&few[1]));
	if (n++ < 1000)
		setcontext(&few[1]);
	make(&few[0], must_map(STACK), STACK, &home);
	makecontext(&few[0], (void (*)(void))reuse_body, 1, 1);
	swap(&home, &few[0]);
	n = 0;
	must(getcontext(&few[1]));
	if (n++ < 1000)
		setcontext(&few[1]);
	swap(&home, &few[0]);
}

// ---- swapcontext(x, x)

static void self_body(void)
{
	for (int i = 0; i < 100; i++)
		must(swapcontext(&few[1], &few[1]));
	switched++;
}

void count_self(void)
{
	for (int i = 0; i < 100; i++)
		must(swapcontext(&few[2], &few[2]));
	make(&few[0], must_map(STACK), STACK, &home);
	makecontext(&few[0], self_body, 0);
	swap(&home, &few[0]);
}

// ---- stacks of 8 KiB, and odd sizes and alignments

void count_small(void)
{
	char *stacks = must_map(64 * 8192);
	for (int i = 0; i < 64; i++) {
		make(&few[0], stacks + i * 8192, 8192, &home);
		makecontext(&few[0], (void (*)(void))reuse_body, 1, 3);
		for (int k = 0; k <= 3; k++)
			swap(&home, &few[0]);
	}
}

void count_unaligned(void)
{
	for (int i = 0; i < 32; i++) {
		char *stack = must_alloc((size_t)STACK + 64);
		make(&few[0], stack + i, (size_t)(STACK - 3 * i), &home);
		makecontext(&few[0], (void (*)(void))reuse_body, 1, 2);
		for (int k = 0; k <= 2; k++)
			swap(&home, &few[0]);
		free(stack);
	}
}

// ---- the program ends inside a coroutine

static void exit_body(void)
{
	report();
	exit(size);
}

void count_exit(void)
{
	make(&few[0], must_map(STACK), STACK, &home);
	makecontext(&few[0], exit_body, 0);
	swap(&home, &few[0]);
}

// ---- a timer signal strikes anywhere, hooks included; the handler switches nothing

static void on_tick(int sig)
{
	(void)sig;
	int keep = errno;
	char byte;
	if (read(-1, &byte, 1) == -1)
		errno = keep;
}

void count_signal(void)
{
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	timer_t timer;
	struct itimerspec t = {{0, 50000}, {0, 50000}};
	must(sigaction(SIGALRM, &sa, NULL));
	must(timer_create(CLOCK_MONOTONIC, NULL, &timer));
	must(timer_settime(timer, 0, &t, NULL));
	char *stack = must_map(STACK);
	for (int i = 0; i < 500; i++) {
		make(&few[0], stack, STACK, &home);
		makecontext(&few[0], (void (*)(void))reuse_body, 1, 100);
		for (int k = 0; k <= 100; k++)
			swap(&home, &few[0]);
	}
	must(timer_delete(timer));
}

// ---- no coroutine at all

void count_none(void)
{
}

// ---- closes every descriptor and uses the numbers for its own things

static void closeall_round(const char *path)
{
	static const char text[] = "these bytes are mine";
	char buf[sizeof(text)];
	int fds[12];
	for (int i = 0; i < 12; i++)
		fds[i] = (int)must(open(path, O_RDWR | O_CREAT | O_TRUNC, 0600));
	for (int i = 0; i < 12; i++) {
		must(pwrite(fds[i], text, sizeof(text), 0));
		must(pread(fds[i], buf, sizeof(buf), 0));
		if (memcmp(buf, text, sizeof(text)) != 0)
			abort();
		if (lseek(fds[i], 0, SEEK_END) != (off_t)sizeof(text))
			abort();
		make(&few[0], shared, STACK, &home);
		makecontext(&few[0], (void (*)(void))reuse_body, 1, 3);
		for (int k = 0; k <= 3; k++)
			swap(&home, &few[0]);
	}
	for (int i = 0; i < 12; i++)
		must(close(fds[i]));
}

void count_closeall(void)
{
	int out = (int)must(fcntl(1, F_DUPFD_CLOEXEC, 700));
	shared = must_map(STACK);
	for (int round = 0; round < 3; round++) {
		for (int fd = 0; fd < 700; fd++)
			close(fd);
		closeall_round("closeall.tmp");
		must(unlink("closeall.tmp"));
	}
	must(dup2(out, 1));
}
