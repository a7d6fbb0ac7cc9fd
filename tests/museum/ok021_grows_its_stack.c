// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// A library that gives its coroutines large stacks and makes them usable bit by
// bit: its own handler for SIGSEGV, on an alternate stack, unlocks the next pages
// below. Thousands of calls deep, fault after fault, nothing is wrong.
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

enum { STACK_BYTES = 8 << 20, STEP_BYTES = 64 << 10, DEEP = 20000 };

static ucontext_t loop, worker;
static char *lowest; // of what can be used
static volatile int steps;

static void unlock_more(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr, low = (uintptr_t)lowest;
	(void)sig;
	(void)context;
	if (at >= low || low - at > STEP_BYTES)
		_exit(1);
	lowest -= STEP_BYTES;
	steps = steps + 1;
	must(mprotect(lowest, STEP_BYTES, PROT_READ | PROT_WRITE));
}

__attribute__((noinline)) static int visit(int depth)
{
	volatile char note[64];
	note[0] = (char)depth;
	return depth ? visit(depth - 1) + (note[0] & 1) : 0;
}

static void walk(void)
{
	visit(DEEP);
}

int main(void)
{
	char *stack = must_map(STACK_BYTES);
	stack_t alternate = {.ss_sp = must_alloc(64 << 10), .ss_size = 64 << 10};
	struct sigaction sa = {.sa_sigaction = unlock_more, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	lowest = stack + STACK_BYTES - STEP_BYTES;
	must(mprotect(stack, STACK_BYTES - STEP_BYTES, PROT_NONE));
	must(sigaltstack(&alternate, NULL));
	must(sigaction(SIGSEGV, &sa, NULL));
	must(getcontext(&worker));
	worker.uc_stack.ss_sp = stack;
	worker.uc_stack.ss_size = STACK_BYTES;
	worker.uc_link = &loop;
	makecontext(&worker, walk, 0);
	swapcontext(&loop, &worker);
	say(steps > 10 ? "unlocked as it went" : "never needed it");
	return 0;
}
