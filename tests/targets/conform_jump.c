// SPDX-License-Identifier: MIT
//
// conform_jump.c - setjmp(3): values, masks, locals, from where one may jump.
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"
#include "must.h"

enum { KINDS = 5 };
// setjmp as a function, not as the macro, saves the mask on this system.
int(setjmp)(jmp_buf env) __attribute__((returns_twice));
#define SAVE(kind, env) \
	((kind) == 0 ? _setjmp(env) : (kind) == 1 ? setjmp(env) : (kind) == 4 ? (setjmp)(env) : sigsetjmp(env, (kind) == 3))

static NOINLINE _Noreturn void jump(int kind, sigjmp_buf env, int value)
{
	if (kind == 0)
		_longjmp(env, value);
	if (kind == 1 || kind == 4)
		longjmp(env, value);
	siglongjmp(env, value);
}

// ---- the value

static NOINLINE int value_once(int kind, int value)
{
	sigjmp_buf env;
	int got = SAVE(kind, env);
	if (got == 0)
		jump(kind, env, value);
	return got;
}

static void values(void)
{
	static const int all[] = {1, 2, -1, INT_MAX, INT_MIN, 77, 256, 65536};
	for (int kind = 0; kind < KINDS; kind++) {
		check(value_once(kind, 0) == 1);
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			check(value_once(kind, all[i]) == all[i]);
	}
}

// ---- locals that did not change are what they were, in registers or not

static NOINLINE void clobber(int n)
{
	volatile long frame[32];
	for (int i = 0; i < 32; i++)
		frame[i] = n * i;
	check(frame[31] == n * 31);
}

static NOINLINE long locals_once(int kind, long a, long b, long c, long d, long e, long f)
{
	sigjmp_buf env;
	volatile int times = 0;
	long g = a * 3 + b, h = c * 5 + d, i = e * 7 + f;
	int got = SAVE(kind, env);
	clobber(times);
	check(got == times);
	if (times++ < 3)
		jump(kind, env, times);
	return a + b + c + d + e + f + g + h + i;
}

static void locals(void)
{
	for (long i = 0; i < 20000; i++) {
		long got = locals_once((int)(i % KINDS), i, i + 1, i + 2, i + 3, i + 4, i + 5);
		check(got == 6 * i + 15 + 4 * i + 1 + 6 * i + 13 + 8 * i + 33);
	}
}

// ---- the signal mask: saved if asked for

static bool blocked(void)
{
	sigset_t s;
	must(pthread_sigmask(SIG_SETMASK, NULL, &s));
	return sigismember(&s, SIGUSR1);
}

static void block(bool on)
{
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	must(pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &s, NULL));
}

static NOINLINE bool blocked_after(int kind)
{
	sigjmp_buf env;
	block(false);
	if (SAVE(kind, env) == 0) {
		block(true);
		jump(kind, env, 1);
	}
	bool is = blocked();
	block(false);
	return is;
}

static void masks(void)
{
	for (int i = 0; i < 100; i++) {
		check(blocked_after(0));
		check(blocked_after(1));
		check(blocked_after(2));
		check(!blocked_after(3));
		check(!blocked_after(4));
	}
}

// ---- out of handlers

static sigjmp_buf out;
static int rounds;

static void out_of_it(int sig)
{
	(void)sig;
	rounds++;
	siglongjmp(out, rounds);
}

static NOINLINE void handlers_once(int i)
{
	int got = sigsetjmp(out, 1);
	if (got == 0)
		raise(SIGUSR1);
	check(got == i + 1 && !blocked());
}

static void handlers(void)
{
	struct sigaction sa = {.sa_handler = out_of_it};
	must(sigaction(SIGUSR1, &sa, NULL));
	rounds = 0;
	for (int i = 0; i < 300; i++)
		handlers_once(i);
}

static void handlers_alternate(void)
{
	stack_t ss = {.ss_sp = must_map(STACK), .ss_size = STACK}, now;
	struct sigaction sa = {.sa_handler = out_of_it, .sa_flags = SA_ONSTACK};
	must(sigaltstack(&ss, NULL));
	must(sigaction(SIGUSR1, &sa, NULL));
	rounds = 0;
	for (int i = 0; i < 300; i++)
		handlers_once(i);
	must(sigaltstack(NULL, &now));
	check(now.ss_sp == ss.ss_sp && now.ss_flags == 0);
	ss.ss_flags = SS_DISABLE;
	must(sigaltstack(&ss, NULL));
}

// A fault, as those who probe memory have it.
static void faults(void)
{
	struct sigaction sa = {.sa_handler = out_of_it}, old;
	must(sigaction(SIGSEGV, &sa, &old));
	char *nowhere = NULL;
	__asm__ volatile("" : "+r"(nowhere));
	rounds = 0;
	for (volatile int i = 0; i < 100; i++) {
		int got = sigsetjmp(out, 1);
		if (got == 0)
			*(volatile char *)nowhere = 1;
		check(got == i + 1);
	}
	must(sigaction(SIGSEGV, &old, NULL));
}

// ---- out of others' frames

static jmp_buf from_sort;
static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 13 || *(const int *)b == 13)
		longjmp(from_sort, 13);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void sort_once(void)
{
	int v[] = {5, 3, 9, 13, 1, 7};
	int got = setjmp(from_sort);
	if (got == 0)
		qsort(v, 6, sizeof(*v), compare);
	check(got == 13);
}

static void out_of_sort(void)
{
	for (int i = 0; i < 200; i++)
		sort_once();
}

// Nested: each goes to the one that is innermost.
static NOINLINE int nest(int depth, jmp_buf outer)
{
	jmp_buf env;
	volatile int sum = depth;
	int got = setjmp(env);
	if (got == 0) {
		if (depth == 0)
			longjmp(outer, 100);
		nest(depth - 1, env);
	}
	check(got == 100);
	if (outer)
		longjmp(outer, 100);
	return sum;
}

static void nested(void)
{
	for (int i = 0; i < 200; i++)
		check(nest(20, NULL) == 20);
}

// ---- in coroutines, with all of it

static ucontext_t home, one;

static void inside_body(void)
{
	for (;;) {
		values();
		masks();
		for (long i = 0; i < 100; i++)
			locals_once((int)(i % KINDS), i, i, i, i, i, i);
		out_of_sort();
		nested();
		check(swapcontext(&one, &home) == 0);
	}
}

static void inside(void)
{
	context(&one, inside_body, NULL);
	for (int i = 0; i < 20; i++)
		check(swapcontext(&home, &one) == 0);
}

static void *in_thread(void *arg)
{
	values();
	masks();
	inside();
	return arg;
}

static void threads(void)
{
	for (int i = 0; i < 10; i++)
		run_thread(in_thread, NULL);
}

// A jump onto another stack; the two keep what is theirs. errno and the
// floating-point environment are the thread's: a jump leaves them.
static sigjmp_buf here, there;

static NOINLINE void across_once(void)
{
	if (sigsetjmp(here, 0) == 0) {
		errno = 55;
		siglongjmp(there, 1);
	}
	check(errno == 56);
}

static NOINLINE void back_once(void)
{
	if (sigsetjmp(there, 0) == 0) {
		errno = 56;
		siglongjmp(here, 1);
	}
	check(errno == 55);
}

static void across_body(void)
{
	for (long a = 1, b = 2, c = 3, k = 0;; k++) {
		check(a == 1 + k && b == 2 + 2 * k && c == 3 + 3 * k);
		a++, b += 2, c += 3;
		back_once();
	}
}

static NOINLINE void across_first(void)
{
	if (sigsetjmp(here, 0) == 0)
		setcontext(&one);
}

static void across(void)
{
#ifdef __USE_FORTIFY_LEVEL
	if (__USE_FORTIFY_LEVEL > 0)
		return; // its check takes a jump down for an error
#endif
	context(&one, across_body, NULL);
	across_first();
	for (long a = -1, b = -2, c = -3, k = 0; k < 20000; k++) {
		check(a == -1 - k && b == -2 - 2 * k && c == -3 - 3 * k);
		a--, b -= 2, c -= 3;
		across_once();
	}
}

static NOINLINE void rounding_once(void)
{
	jmp_buf env;
	check(fesetround(FE_UPWARD) == 0);
	if (setjmp(env) == 0) {
		check(fesetround(FE_DOWNWARD) == 0);
		longjmp(env, 1);
	}
	check(fegetround() == FE_DOWNWARD);
	check(fesetround(FE_TONEAREST) == 0);
}

static void rounding(void)
{
	for (int i = 0; i < 100; i++)
		rounding_once();
}

const struct conform of_jump[] = {
	{"jump_values", values}, {"jump_locals", locals}, {"jump_masks", masks}, {"jump_handlers", handlers},
	{"jump_handlers_alternate", handlers_alternate}, {"jump_faults", faults}, {"jump_out_of_sort", out_of_sort},
	{"jump_nested", nested}, {"jump_inside", inside}, {"jump_threads", threads}, {"jump_across", across},
	{"jump_rounding", rounding}, {NULL, NULL},
};
