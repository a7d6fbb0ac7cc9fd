// SPDX-License-Identifier: MIT
//
// A handler cannot run on a stack that has overflowed, so a thread that begins to run
// coroutines gets an alternate signal stack. All of these lie in one mapping, made before the
// program's own mappings, so that no stack of the program overflows into one. The program does
// not see it: a query says that there is none, the program's own replaces ours, and when the
// program removes its own, ours is installed again. A handler of the program's that asks for
// an alternate stack would run on ours where the program has none: once the program installs
// such a handler, no more of ours are given out. They are not part of the thread contexts,
// which the witness leaves out of its search: what a signal frame keeps of the program's
// registers counts as a pointer.
#include <sys/mman.h>
#include <sys/syscall.h>

#include "cpu.h"
#include "preload/coroutine/crash.h"
#include "preload/guest/exit.h"
#include "preload/guest/real.h"
#include "preload/coroutine/thread.h"

enum { STACK_BYTES = 64 << 10 };

static unsigned char *stacks; // by slot
static uint64_t stacks_bytes;
static uint32_t opened; // so many of them may be written
static uint32_t none;   // the program's own handlers ask for alternate stacks

// Also in a forked child, where nothing else of the parent's is known any more.
static bool is_ours(const stack_t *s)
{
	return stacks && (uint64_t)s->ss_sp - (uint64_t)stacks < stacks_bytes;
}

bool crash_stack_is_ours(uint64_t at)
{
	return stacks && at - (uint64_t)stacks < stacks_bytes;
}

static bool now(stack_t *s)
{
	return guest_syscall(SYS_sigaltstack, 0, (long)s, 0, 0, 0, 0) == 0;
}

static bool take_away(void)
{
	stack_t off = {.ss_flags = SS_DISABLE}, is;
	return now(&is) && is_ours(&is) && guest_syscall(SYS_sigaltstack, (long)&off, 0, 0, 0, 0, 0) == 0;
}

// Whether a handler of ours would have a stack of its own on this thread.
static void count(struct thread_ctx *g, bool armed)
{
	if (g->armed == armed || !crash_note())
		return;
	g->armed = armed;
	ctp_add32(&crash_note()->armed, armed ? 1 : UINT32_MAX);
}

void crash_stack_init(void)
{
	uint64_t all = ctp_tracer->region.threads_max * (uint64_t)STACK_BYTES;
	void *p = stacks ?
			  MAP_FAILED :
			  real_mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return;
	guest_syscall(SYS_munlock, (long)p, (long)all, 0, 0, 0,
		      0); // after mlockall(MCL_FUTURE) what is made writable would be made now
	madvise(p, all, MADV_DONTDUMP);
	stacks = p;
	stacks_bytes = all;
}

void crash_stack_arm(struct thread_ctx *g)
{
	stack_t is;
	if (!crash_note() || !now(&is))
		return;
	if (is.ss_flags & SS_DISABLE) {
		stack_t ours = {.ss_sp = stacks + (uint64_t)g->slot * STACK_BYTES, .ss_size = STACK_BYTES};
		if (!stacks || ctp_load32(&none) ||
		    !thread_open_rows(stacks, STACK_BYTES, g->slot, &opened) ||
		    guest_syscall(SYS_sigaltstack, (long)&ours, 0, 0, 0, 0, 0))
			return;
	}
	count(g, true);
}

void crash_stack_disarm(struct thread_ctx *g)
{
	count(g, false);
	take_away();
}

void crash_stack_end(void)
{
	struct thread_ctx *g = cpu_self();
	ctp_store32(&none, 1);
	if (g && g->thread && take_away())
		count(g, false);
}

int crash_stack_query(const stack_t *ss, stack_t *old)
{
	int r = real_sigaltstack(ss, old);
	if (r)
		return r;
	if (old && is_ours(old))
		*old = (stack_t){.ss_flags = SS_DISABLE};
	struct thread_ctx *g = ss ? cpu_self() : NULL;
	if (!g || !g->thread || !ctp_tracer->attached)
		return r;
	if (!(ss->ss_flags & SS_DISABLE))
		count(g, true);
	else if (g->armed) {
		count(g, false);
		crash_stack_arm(g);
	}
	return r;
}
