// SPDX-License-Identifier: MIT
//
// Coroutines of a scheduler of one's own that are told of by ctp/coroutine.h (-DBARE: not told of), resumed and
// suspended in turn. An event is one of the two.
//	told COROUTINES EVENTS [HOW]       makes so many events
//	told cost COROUTINES EVENTS [HOW]  what one takes, in ns, least of 50 turns; and a reading of the clock
// HOW: own: each is suspended on a stack of its own; waits: for a descriptor.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "ticks.h"

#ifdef BARE
typedef struct {
	char none[32];
} ctp_coroutine;
#define ctp_coroutine_created(c, memory, bytes, entry) ((void)(entry))
#define ctp_coroutine_resumed(c) ((void)(c))
#define ctp_coroutine_suspended(c, reason, fd) ((void)(c))
#else
#include <ctp/coroutine.h>
#endif

struct job {
	ctp_coroutine ctp;
	volatile long turns;
	int fd;
};

enum { STACK = 8192 };
static struct job *jobs;
static char *stacks; // of own
static int waits;
static long n;

static void work(void)
{
}

static __attribute__((noinline)) void step(struct job *j)
{
	j->turns++;
	if (waits)
		ctp_coroutine_suspended(&j->ctp, CTP_REASON_READ, j->fd);
	else
		ctp_coroutine_suspended(&j->ctp, CTP_REASON_YIELD, -1);
}

static __attribute__((noinline)) void step_on(struct job *j, char *top)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%rbx\n\tmovq %1, %%rsp\n\tcall *%2\n\tmovq %%rbx, %%rsp"
			 : "+D"(j)
			 : "r"(top), "r"(step)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
#else
	(void)top;
	step(j);
#endif
}

static __attribute__((noinline)) void run(long events)
{
	static long at;
	for (long i = 0; i < events; i += 2) {
		ctp_coroutine_resumed(&jobs[at].ctp);
		if (stacks)
			step_on(&jobs[at], stacks + (at + 1) * STACK);
		else
			step(&jobs[at]);
		at = at + 1 < n ? at + 1 : 0;
	}
}

int main(int argc, char **argv)
{
	int cost = argc > 1 && !strcmp(argv[1], "cost");
	if (argc < 3 + cost)
		return 2;
	n = atol(argv[1 + cost]);
	const char *how = argv[argc - 1];
	jobs = (struct job *)calloc((size_t)n, sizeof(*jobs));
	if (!strcmp(how, "own"))
		stacks = (char *)calloc((size_t)n, STACK);
	waits = !strcmp(how, "waits");
	for (long i = 0; jobs && i < n; i++) {
		jobs[i].fd = waits ? eventfd(0, EFD_NONBLOCK) : -1;
		if (stacks)
			ctp_coroutine_created(&jobs[i].ctp, stacks + i * STACK, STACK, work);
		else
			ctp_coroutine_created(&jobs[i].ctp, &jobs[i], sizeof(*jobs), work);
	}
	run(4 * n);
	if (cost)
		print_cost(run, atol(argv[3]));
	else
		run(atol(argv[2]));
	return 0;
}
