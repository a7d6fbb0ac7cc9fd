// SPDX-License-Identifier: MIT
//
// engines_set.c - ucontext without swapcontext, or with contexts that are
// copied about, and stacks that were something else before.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engines.h"
#include "must.h"

static ucontext_t home, one, two;

// ---- LWP's way: saved by getcontext and a flag, first entry by setcontext

enum { PROCS = 6 };
static struct proc {
	ucontext_t uc;
	volatile int left;
} procs[PROCS];
static struct proc *self;
static ucontext_t *scheduler_uc;

// Saves p, and goes to `to`; comes back when somebody sets p's context.
static NOINLINE void save_and_set(ucontext_t *from, ucontext_t *to)
{
	volatile int back = 0;
	must(getcontext(from));
	if (back)
		return;
	back = 1;
	set(to);
}

static void proc_body(void)
{
	struct proc *p = self;
	while (p->left-- > 0)
		save_and_set(&p->uc, scheduler_uc);
	p->left = -100;
	set(scheduler_uc); // for good: it was not saved
}

static void run_procs(ucontext_t *scheduler)
{
	scheduler_uc = scheduler;
	for (int i = 0; i < PROCS; i++) {
		procs[i].left = 20;
		make(&procs[i].uc, must_map(STACK), STACK, proc_body, NULL);
	}
	for (int left = PROCS; left > 0;)
		for (int i = 0; i < PROCS; i++) {
			if (procs[i].left <= -100)
				continue;
			self = &procs[i];
			save_and_set(scheduler, &procs[i].uc);
			left -= procs[i].left <= -100;
		}
}

static void lwp(void)
{
	run_procs(&home);
	ended(PROCS, 0);
}

static void scheduling(void)
{
	run_procs(&one);
	set(&home);
}

// The scheduler is itself a coroutine.
static void lwp_scheduler(void)
{
	make(&one, must_map(STACK), STACK, scheduling, NULL);
	save_and_set(&home, &one);
	ended(PROCS + 1, 0);
}

// ---- uc_link leads to a context that getcontext saved

static void nothing(void)
{
	switched(); // through uc_link
}

static void link_to_saved(void)
{
	char *stacks = must_map(2 * STACK);
	for (volatile int i = 0; i < 200; i++) {
		make(&one, stacks, STACK, nothing, &home);
		make(&two, stacks + STACK, STACK, nothing, &one);
		save_and_set(&home, &two);
	}
	ended(400, 0);
}

// The saved context of a coroutine is where another one's link leads.
static void linked_to(void)
{
	for (int i = 0; i < 10; i++) {
		make(&two, must_map(STACK), STACK, nothing, &one);
		save_and_set(&one, &two);
	}
	switched();
}

static void link_to_coroutine(void)
{
	make(&one, must_map(STACK), STACK, linked_to, &home);
	save_and_set(&home, &one);
	ended(11, 0);
}

// ---- gone for good without a save; the stack serves again

static void leave_for_good(void)
{
	set(&home);
}

static void gone(void)
{
	char *stack = must_map(STACK);
	for (volatile int i = 0; i < 100; i++) {
		make(&one, stack, STACK, leave_for_good, NULL);
		save_and_set(&home, &one);
	}
	ended(100, 0);
}

// ---- saved into one scratch context, kept as a copy, entered by another copy

static struct copy {
	ucontext_t kept;
	int n;
} copies[8];
static ucontext_t scratch;

static void copied_body(void)
{
	for (int i = 0; i < 20; i++)
		swap(&scratch, &home);
	switched(); // through uc_link
}

static NOINLINE void enter_copy(struct copy *c)
{
	ucontext_t entered;
	memcpy(&entered, &c->kept, sizeof(entered));
	swap(&home, &entered);
	memcpy(&c->kept, &scratch, sizeof(scratch));
}

static void copied(void)
{
	for (int i = 0; i < 8; i++) {
		make(&scratch, must_map(STACK), STACK, copied_body, &home);
		memcpy(&copies[i].kept, &scratch, sizeof(scratch));
	}
	for (int round = 0; round <= 20; round++)
		for (int i = 0; i < 8; i++)
			enter_copy(&copies[i]);
	ended(8, 0);
}

// ---- many coroutines copied through one stack, saved by getcontext

static char *shared;
static struct visitor {
	ucontext_t uc;
	char *words;
	size_t bytes;
	int done;
} visitors[20];
static struct visitor *visitor;

static NOINLINE void copy_out(struct visitor *v)
{
	char *from = __builtin_frame_address(0);
	v->bytes = (size_t)(shared + STACK - from);
	v->words = realloc(v->words, v->bytes);
	memcpy(v->words, from, v->bytes);
}

static void visit(void)
{
	struct visitor *volatile me = visitor; // on the stack, where it is copied with
	volatile int sum = 0;
	for (volatile int k = 0; k < 10; k++) {
		volatile int back = 0;
		sum += 3;
		must(getcontext(&me->uc));
		if (back)
			continue;
		back = 1;
		copy_out(me);
		set(&home);
	}
	check(sum == 30);
	me->done = 1;
	set(&home);
}

static NOINLINE void enter_visitor(struct visitor *v, bool first)
{
	volatile int back = 0;
	visitor = v;
	must(getcontext(&home));
	if (back)
		return;
	back = 1;
	if (!first)
		memcpy(shared + STACK - v->bytes, v->words, v->bytes);
	set(&v->uc);
}

static void one_stack(void)
{
	shared = must_map(STACK);
	for (int i = 0; i < 20; i++)
		make(&visitors[i].uc, shared, STACK, visit, NULL);
	for (int round = 0; round <= 10; round++)
		for (int i = 0; i < 20; i++)
			enter_visitor(&visitors[i], round == 0);
	for (int i = 0; i < 20; i++)
		check(visitors[i].done);
	ended(20, 0);
}

// ---- memory that was a thread's stack is a coroutine's, and again a thread's

static void yielding(void)
{
	for (int i = 0; i < 5; i++)
		swap(&one, &home);
	switched();
}

static void *runs_one(void *arg)
{
	ucontext_t from;
	make(&two, arg, STACK, nothing, &from);
	swap(&from, &two);
	return NULL;
}

static void thread_stack(void)
{
	enum { BIG = 4 * STACK };
	char *stack = must_map(BIG), *other = must_map(STACK);
	for (int i = 0; i < 30; i++) {
		pthread_attr_t a;
		pthread_t t;
		pthread_attr_init(&a);
		pthread_attr_setstack(&a, stack, BIG);
		check(pthread_create(&t, &a, runs_one, other) == 0);
		pthread_join(t, NULL);
		pthread_attr_destroy(&a);
		make(&one, stack, BIG, yielding, &home);
		for (int k = 0; k <= 5; k++)
			swap(&home, &one);
	}
	ended(60, 0);
}

// A coroutine's stack in a frame of the one who runs it, and one in that one's.
static NOINLINE void in_frame(int depth)
{
	char stack[STACK];
	ucontext_t me, next;
	if (depth == 0)
		return;
	make(&next, stack, sizeof(stack), nothing, &me);
	swap(&me, &next);
	in_frame(depth - 1);
	make(&next, stack, sizeof(stack), nothing, &me);
	swap(&me, &next);
}

static void in_frames(void)
{
	in_frame(6);
	switched(); // through uc_link
}

static void frames(void)
{
	in_frame(10);
	make(&one, must_map(16 * STACK), 16 * STACK, in_frames, &home);
	swap(&home, &one);
	ended(20 + 12 + 1, 0);
}

// ---- a native stack is larger than most, and much of it in use

static NOINLINE void far_down(size_t bytes)
{
	char frame[1 << 20];
	__asm__ volatile("" : : "r"(frame) : "memory");
	if (bytes > sizeof(frame)) {
		far_down(bytes - sizeof(frame));
		__asm__ volatile("" : : "r"(frame) : "memory");
		return;
	}
	swap(&home, &one);
	save_and_set(&home, &one);
	swap(&home, &one);
}

static void *runs_far_down(void *bytes)
{
	swap(&home, &one);
	far_down((size_t)bytes);
	swap(&home, &one);
	return NULL;
}

static void always(void)
{
	for (;;)
		swap(&one, &home);
}

static void deep_native(void)
{
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 20);
	make(&one, must_map(STACK), STACK, always, NULL);
	for (size_t mb = 2; mb <= 40; mb += 6) {
		check(pthread_create(&t, &a, runs_far_down, (void *)(mb << 20)) == 0);
		pthread_join(t, NULL);
	}
	ended(0, 0);
}

// ---- switches in the last things that a thread does, and the program

static pthread_key_t key;
static void last_thing(void *n)
{
	ucontext_t from;
	make(&two, must_map(STACK), STACK, nothing, &from);
	swap(&from, &two);
	if ((intptr_t)n > 1)
		pthread_setspecific(key, (void *)((intptr_t)n - 1));
}

static void *has_last_thing(void *switches_before)
{
	pthread_setspecific(key, (void *)3);
	if (switches_before)
		last_thing((void *)1);
	return NULL;
}

static void destructor(void)
{
	pthread_key_create(&key, last_thing);
	for (int i = 0; i < 20; i++)
		pthread_join(thread(has_last_thing, i & 1 ? &key : NULL), NULL);
	ended(20 * 3 + 10, 0);
}

static void at_exit_switches(void)
{
	for (int i = 0; i < 10; i++)
		last_thing((void *)1);
	report();
}

static void at_exit(void)
{
	atexit(at_exit_switches);
	last_thing((void *)1);
	ended(11, 0);
	exit(5);
}

const struct engines_case cases[] = {
	{"lwp", lwp}, {"lwp_scheduler", lwp_scheduler}, {"link_to_saved", link_to_saved},
	{"link_to_coroutine", link_to_coroutine}, {"gone", gone}, {"copied", copied}, {"one_stack", one_stack},
	{"thread_stack", thread_stack}, {"frames", frames}, {"deep_native", deep_native}, {"destructor", destructor},
	{"at_exit", at_exit}, {NULL, NULL},
};
