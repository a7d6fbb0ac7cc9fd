// SPDX-License-Identifier: MIT
//
// twoways.c - the same switches twice over, for a comparison of what is written down:
//   t-twoways short|other COROUTINES SWITCHES [jump|fcontext] [callers]
// other: a getcontext comes before each, so that none can take the short way; with jump, where
// a coroutine is begun by setcontext and gone on with by siglongjmp, that goes by a copy of where
// it saved itself; with fcontext, by Boost.Context, where who ends is left where he is; with callers,
// main saves itself in a place that belongs to whom it enters. Frames of
// several depths, with frame pointers and without; who goes on is told by a fixed sequence. Some end,
// and others begin on their stacks.
#include <alloca.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "must.h"

enum { MOST = 40, STACK = 64 << 10 };

static ucontext_t contexts[MOST + 1], for_main[MOST], *of_main = &contexts[MOST]; // the last: main's
static sigjmp_buf saves[MOST + 1], jump_to_main[MOST], *jump_of_main = &saves[MOST];
static bool done[MOST], begun[MOST + 1];
static volatile bool goes_long, jumps, boost, callers;
static int count;
static long left;
static unsigned seed = 1;

static unsigned next(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static __attribute__((noipa)) void enter(int to)
{
	static sigjmp_buf copy;
	sigjmp_buf *there = to == MOST ? jump_of_main : &saves[to];
	memcpy(&copy, there, sizeof(copy));
	if (!begun[to]) {
		begun[to] = true;
		setcontext(&contexts[to]);
	}
	siglongjmp(goes_long ? copy : *there, 1);
}

static __attribute__((noipa)) void jump(int self, int to)
{
	if (self == MOST && callers)
		jump_of_main = &jump_to_main[to];
	if (!sigsetjmp(self == MOST ? *jump_of_main : saves[self], 0))
		enter(to);
}

#ifdef HAVE_FCONTEXT
struct transfer {
	void *from, *data;
};
struct transfer jump_fcontext(void *to, void *data);
struct transfer ontop_fcontext(void *to, void *data, struct transfer (*on_top)(struct transfer t));
void *make_fcontext(void *top, size_t bytes, void (*fn)(struct transfer t));
static void *handles[MOST + 1];
static int entered;

static struct transfer on_top(struct transfer t)
{
	return t;
}

static void pass(int self, int to)
{
	void *who = (void *)(intptr_t)self;
	entered = to;
	struct transfer t = next(4) ? jump_fcontext(handles[to], who) : ontop_fcontext(handles[to], who, on_top);
	handles[(intptr_t)t.data] = t.from;
}

#endif

static __attribute__((noinline)) void leave(int self)
{
	static ucontext_t scratch;
	int to = left-- > 0 ? (int)next((unsigned)count + 1) : MOST;
	if (to == self)
		to = (self + 1) % count;
	if (to == self || to >= count)
		to = MOST;
	if (to == self)
		return;
	if (jumps) {
		jump(self, to);
		return;
	}
	if (goes_long)
		getcontext(&scratch);
#ifdef HAVE_FCONTEXT
	if (boost) {
		pass(self, to);
		return;
	}
#endif
	if (self == MOST && callers)
		of_main = &for_main[to];
	must(swapcontext(self == MOST ? of_main : &contexts[self], to == MOST ? of_main : &contexts[to]));
}

static __attribute__((noinline, optimize("O0", "no-omit-frame-pointer"))) void with_pointer(int self, int depth);

static __attribute__((noinline, optimize("O2", "omit-frame-pointer"))) void without(int self, int depth)
{
	if (depth)
		with_pointer(self, depth - 1);
	else
		leave(self);
	__asm__ volatile("" : : : "memory"); // no tail call
}

static __attribute__((noinline, optimize("O0", "no-omit-frame-pointer"))) void with_pointer(int self, int depth)
{
	volatile char *room = alloca(16 + 16 * next(2)); // a frame whose size is told by the frame pointer alone
	room[0] = 1;
	without(self, depth);
}

static void body(int self)
{
	while (left > 0 && next(50))
		next(4) ? leave(self) : next(2) ? without(self, (int)next(4)) : with_pointer(self, (int)next(3));
	done[self] = true;
	if (jumps)
		siglongjmp(*jump_of_main, 1);
	if (callers)
		setcontext(of_main);
}

#ifdef HAVE_FCONTEXT
static void boost_body(struct transfer t)
{
	int self = entered;
	handles[(intptr_t)t.data] = t.from;
	body(self);
	pass(self, MOST);
}
#endif

static void make(int i)
{
	static char *stacks[MOST];
	if (!stacks[i])
		stacks[i] = must_map(STACK);
#ifdef HAVE_FCONTEXT
	if (boost) {
		handles[i] = make_fcontext(stacks[i] + STACK, STACK, boost_body);
		done[i] = false;
		return;
	}
#endif
	must(getcontext(&contexts[i]));
	contexts[i].uc_stack.ss_sp = stacks[i];
	contexts[i].uc_stack.ss_size = STACK;
	contexts[i].uc_link = &contexts[MOST];
	makecontext(&contexts[i], (void (*)(void))body, 1, i);
	done[i] = begun[i] = false;
}

int main(int argc, char **argv)
{
	goes_long = argc > 1 && !strcmp(argv[1], "other");
	count = argc > 2 ? atoi(argv[2]) : 4;
	left = argc > 3 ? atol(argv[3]) : 1000;
	for (int i = 4; i < argc; i++) {
		jumps |= !strcmp(argv[i], "jump");
		boost |= !strcmp(argv[i], "fcontext");
		callers |= !strcmp(argv[i], "callers");
	}
	begun[MOST] = true;
	for (int i = 0; i < count; i++)
		make(i);
	while (left > 0) {
		for (int i = 0; i < count; i++)
			if (done[i])
				make(i);
		next(4) ? leave(MOST) : without(MOST, (int)next(4));
	}
	return 0;
}
