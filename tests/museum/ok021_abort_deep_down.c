// SPDX-License-Identifier: MIT
// expect: fact INFO
// end: crash
//
// A check fails in a coroutine that is close to the end of its stack, and the
// program gives up by abort(). Deep, but its stack was enough.
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "must.h"

enum { STACK_BYTES = 64 << 10, GUARD_BYTES = 4096, DEPTH = 48 << 10 };

static ucontext_t loop, checker;

__attribute__((noinline)) static int check(const char *bottom)
{
	volatile char kept[512];
	kept[0] = 1;
	if (bottom - (const char *)kept > DEPTH)
		abort();
	return bottom ? check(bottom) + kept[0] : 0;
}

static void run_checks(void)
{
	char bottom = 0;
	check(&bottom);
}

int main(void)
{
	char *memory = must_map(GUARD_BYTES + STACK_BYTES);
	must(mprotect(memory, GUARD_BYTES, PROT_NONE));
	must(getcontext(&checker));
	checker.uc_stack.ss_sp = memory + GUARD_BYTES;
	checker.uc_stack.ss_size = STACK_BYTES;
	checker.uc_link = &loop;
	makecontext(&checker, run_checks, 0);
	say("ready");
	swapcontext(&loop, &checker);
	return 0;
}
