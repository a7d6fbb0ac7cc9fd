// SPDX-License-Identifier: MIT
//
// conform_context.c - getcontext(3), makecontext(3): what returns twice, what
// is saved and restored, what the new context gets.
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"
#include "must.h"

static ucontext_t home, one, two, three;
static int seen;

// ---- getcontext returns twice; locals are what they were

// So many values that the callee-saved registers are all in use.
static NOINLINE long twice_once(ucontext_t *uc, long a, long b, long c, long d, long e, long f)
{
	long g = a * 3 + b, h = c * 5 + d, i = e * 7 + f, j = a ^ f;
	volatile int times = 0;
	check(getcontext(uc) == 0);
	if (times++ < 2)
		setcontext(uc);
	check(times == 3);
	return a + b + c + d + e + f + g + h + i + j;
}

static void twice(void)
{
	for (long i = 0; i < 5000; i++) {
		ucontext_t local;
		ucontext_t *uc = i & 1 ? &local : &one;
		long got = twice_once(uc, i, i + 1, i + 2, i + 3, i + 4, i + 5);
		check(got == 6 * i + 15 + (4 * i + 1) + (6 * i + 13) + (8 * i + 33) + (i ^ (i + 5)));
	}
}

// The same, a coroutine in between; each side keeps its own registers.
static void churn(void)
{
	for (long a = 1, b = 2, c = 3, d = 4, e = 5, k = 0;; k++) {
		check(a == 1 + k && b == 2 + 2 * k && c == 3 + 3 * k && d == 4 + 4 * k && e == 5 + 5 * k);
		a++, b += 2, c += 3, d += 4, e += 5;
		check(swapcontext(&one, &home) == 0);
	}
}

static void registers(void)
{
	context(&one, churn, NULL);
	for (long a = -1, b = -2, c = -3, d = -4, e = -5, k = 0; k < 20000; k++) {
		check(a == -1 - k && b == -2 - 2 * k && c == -3 - 3 * k && d == -4 - 4 * k && e == -5 - 5 * k);
		a--, b -= 2, c -= 3, d -= 4, e -= 5;
		check(swapcontext(&home, &one) == 0);
	}
}

#ifdef __x86_64__
// long call_kept(fn, a, b): calls fn(a, b) with known words in every
// callee-saved register; what it returned, or -999 if one is not the same after.
long call_kept(void *fn, void *a, void *b);
__asm__(".text\n.globl call_kept\n.type call_kept, @function\ncall_kept:\n"
	"	endbr64\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n	sub $8, %rsp\n"
	"	mov %rdi, %rax\n	mov %rsi, %rdi\n	mov %rdx, %rsi\n"
	"	mov $0x1111, %rbx\n	mov $0x2222, %rbp\n	mov $0x3333, %r12\n	mov $0x4444, %r13\n"
	"	mov $0x5555, %r14\n	mov $0x6666, %r15\n"
	"	call *%rax\n"
	"	cmp $0x1111, %rbx\n	jne 1f\n	cmp $0x2222, %rbp\n	jne 1f\n	cmp $0x3333, %r12\n	jne 1f\n"
	"	cmp $0x4444, %r13\n	jne 1f\n	cmp $0x5555, %r14\n	jne 1f\n	cmp $0x6666, %r15\n	jne 1f\n"
	"2:	add $8, %rsp\n	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n	ret\n"
	"1:	mov $-999, %rax\n	jmp 2b\n.size call_kept, . - call_kept\n");

static void kept(void)
{
	context(&one, churn, NULL);
	for (int i = 0; i < 1000; i++) {
		check(call_kept(getcontext, &two, NULL) == 0);
		check((int)call_kept(swapcontext, &home, &one) == 0);
	}
}
#else
static void kept(void)
{
}
#endif

// ---- makecontext's arguments

static int want_args[12], nargs;

static void with_args(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l)
{
	int got[] = {a, b, c, d, e, f, g, h, i, j, k, l};
	for (int n = 0; n < nargs; n++)
		check(got[n] == want_args[n]);
	check(((uintptr_t)__builtin_frame_address(0) & 15) == 0); // as the ABI has it
	seen = nargs;
}

static void arguments(void)
{
	char *stack = must_map(STACK);
	int *w = want_args;
	for (int round = 0; round < 40; round++)
		for (nargs = 0; nargs <= 12; nargs++) {
			for (int i = 0; i < 12; i++)
				w[i] = (round & 1 ? -1 : 1) * (round * 1000003 + i);
			must(getcontext(&one));
			one.uc_stack.ss_sp = stack + (round % 3) * 8;
			one.uc_stack.ss_size = STACK - 64;
			one.uc_link = &home;
			makecontext(&one, (void (*)(void))with_args, nargs, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8],
				    w[9], w[10], w[11]);
			seen = -1;
			check(swapcontext(&home, &one) == 0);
			check(seen == nargs);
		}
}

// Floating point in a new context: aligned stacks, vector registers, varargs.
static void floats_body(void)
{
	char text[64];
	volatile double x = 1.5;
	snprintf(text, sizeof(text), "%.2f %d %.3f", x, 7, x * 2);
	check(!strcmp(text, "1.50 7 3.000"));
	seen = 1;
}

static void floats(void)
{
	seen = 0;
	context(&one, floats_body, &home);
	check(swapcontext(&home, &one) == 0);
	check(seen);
}

static void fields_body(void)
{
	seen++;
}

static void fields(void)
{
	char *stack = must_map(STACK);
	must(getcontext(&one));
	one.uc_stack.ss_sp = stack;
	one.uc_stack.ss_size = STACK;
	one.uc_link = &home;
	makecontext(&one, fields_body, 0);
	check(one.uc_stack.ss_sp == stack && one.uc_stack.ss_size == STACK && one.uc_link == &home);
	check(swapcontext(&home, &one) == 0);
	check(one.uc_stack.ss_sp == stack && one.uc_stack.ss_size == STACK && one.uc_link == &home);
}

// ---- uc_link: one, two, three, home

static char order[16];
static void link_one(void) { strcat(order, "1"); }
static void link_two(void) { strcat(order, "2"); }
static void link_three(void) { strcat(order, "3"); }

static void links(void)
{
	for (int i = 0; i < 50; i++) {
		order[0] = 0;
		context(&three, link_three, &home);
		context(&two, link_two, &three);
		context(&one, link_one, &two);
		check(swapcontext(&home, &one) == 0);
		check(!strcmp(order, "123"));
	}
}

// ---- the signal mask is part of a context

static bool blocked(int sig)
{
	sigset_t s;
	must(pthread_sigmask(SIG_SETMASK, NULL, &s));
	return sigismember(&s, sig);
}

static void block(int sig, bool on)
{
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, sig);
	must(pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &s, NULL));
}

static void mask_body(void)
{
	check(!blocked(SIGUSR1) && blocked(SIGUSR2)); // as when getcontext was called
	block(SIGUSR1, true);
	block(SIGUSR2, false);
	swapcontext(&one, &home);
	check(blocked(SIGUSR1) && !blocked(SIGUSR2));
	seen = 1;
}

static void mask(void)
{
	seen = 0;
	block(SIGUSR2, true);
	context(&one, mask_body, &home);
	block(SIGUSR2, false);
	check(swapcontext(&home, &one) == 0);
	check(!blocked(SIGUSR1) && !blocked(SIGUSR2));
	check(swapcontext(&home, &one) == 0);
	check(seen && !blocked(SIGUSR1) && !blocked(SIGUSR2));
	volatile int times = 0;
	must(getcontext(&two));
	if (times++ == 0) {
		block(SIGUSR1, true);
		setcontext(&two);
	}
	check(!blocked(SIGUSR1));
}

// A signal that waits is taken when the context that lets it through goes on.
static volatile sig_atomic_t taken;
static void on_signal(int sig)
{
	taken += sig == SIGUSR1;
}

static void pending_body(void)
{
	check(taken == 0);
	block(SIGUSR1, true);
	raise(SIGUSR1);
	check(taken == 0);
	swapcontext(&one, &home);
}

static void pending(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	must(sigaction(SIGUSR1, &sa, NULL));
	taken = 0;
	context(&one, pending_body, NULL);
	check(swapcontext(&home, &one) == 0);
	check(taken == 1);
}

// ---- the floating-point environment is, too

static void rounding_body(void)
{
	check(fegetround() == FE_UPWARD); // as when getcontext was called
	for (;;) {
		check(fesetround(FE_DOWNWARD) == 0);
		volatile double x = 1.0, n = 10.0;
		check(x / n < 0.1);
		swapcontext(&one, &home);
		check(fegetround() == FE_DOWNWARD);
	}
}

#ifdef __x86_64__
static unsigned control_words(void)
{
	unsigned short x87;
	__asm__ volatile("fnstcw %0" : "=m"(x87));
	return (__builtin_ia32_stmxcsr() & ~0x3fu) << 16 | x87; // without what calculations left behind
}
#else
static unsigned control_words(void)
{
	return (unsigned)fegetround();
}
#endif

static void rounding(void)
{
	unsigned usual = control_words();
	check(fesetround(FE_UPWARD) == 0);
	context(&one, rounding_body, NULL);
	check(fesetround(FE_TOWARDZERO) == 0);
	unsigned mine = control_words();
	for (int i = 0; i < 1000; i++) {
		check(swapcontext(&home, &one) == 0);
		check(fegetround() == FE_TOWARDZERO && control_words() == mine);
	}
	check(fesetround(FE_TONEAREST) == 0 && control_words() == usual);
}

// ---- threads: made here, run there

static void there_body(void)
{
	for (;;) {
		seen++;
		swapcontext(&one, &home);
	}
}

static void *there(void *arg)
{
	for (int i = 0; i < 50; i++)
		check(swapcontext(&home, &one) == 0);
	return arg;
}

static void threads(void)
{
	seen = 0;
	context(&one, there_body, NULL);
	check(run_thread(there, NULL) == NULL);
	there(NULL);
	check(run_thread(there, NULL) == NULL);
	check(seen == 150);
}

// Each thread its own coroutines; thread-locals are those of the thread that runs.
static __thread long local;
static NOINLINE long read_local(void)
{
	return local;
}

static ucontext_t moved, *moved_home;
static long moved_saw[3];
static void moved_body(void)
{
	for (int i = 0; i < 3; i++) {
		moved_saw[i] = read_local();
		swapcontext(&moved, moved_home);
	}
}

static void *move_on(void *value)
{
	ucontext_t mine;
	local = (long)value;
	moved_home = &mine;
	check(swapcontext(&mine, &moved) == 0);
	return NULL;
}

static void locals(void)
{
	context(&moved, moved_body, NULL);
	for (long i = 0; i < 3; i++)
		run_thread(move_on, (void *)(i * 11 + 5));
	check(moved_saw[0] == 5 && moved_saw[1] == 16 && moved_saw[2] == 27);
}

// ---- errno, and what nobody asked to change

static void errno_body(void)
{
	for (;;) {
		check(errno == 77);
		errno = 78;
		swapcontext(&one, &home);
	}
}

static void errnos(void)
{
	stack_t before, after;
	sigset_t mask_before, mask_after;
	must(sigaltstack(NULL, &before));
	must(pthread_sigmask(SIG_SETMASK, NULL, &mask_before));
	errno = 77;
	must(getcontext(&one));
	check(errno == 77);
	one.uc_stack.ss_sp = must_map(STACK);
	one.uc_stack.ss_size = STACK;
	one.uc_link = NULL;
	errno = 76;
	makecontext(&one, errno_body, 0);
	check(errno == 76);
	for (int i = 0; i < 100; i++) {
		errno = 77;
		check(swapcontext(&home, &one) == 0);
		check(errno == 78);
	}
	must(sigaltstack(NULL, &after));
	must(pthread_sigmask(SIG_SETMASK, NULL, &mask_after));
	check(!memcmp(&mask_before, &mask_after, sizeof(long)));
	check(before.ss_sp == after.ss_sp && before.ss_flags == after.ss_flags);
}

// ---- out of a handler into a coroutine, and back into the handler

static void handled_body(void)
{
	for (;;) {
		seen++;
		swapcontext(&one, &home);
	}
}

static void switch_in_handler(int sig)
{
	(void)sig;
	check(swapcontext(&home, &one) == 0);
}

static void handler(void)
{
	struct sigaction sa = {.sa_handler = switch_in_handler};
	must(sigaction(SIGUSR1, &sa, NULL));
	seen = 0;
	context(&one, handled_body, NULL);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	check(seen == 100 && !blocked(SIGUSR1));
}

// ---- the same context begun again: its stack starts anew

static void again_body(void)
{
	volatile char frame[256];
	memset((char *)frame, seen, sizeof(frame));
	seen++;
	check(frame[255] == (char)(seen - 1));
}

static void again(void)
{
	seen = 0;
	context(&one, again_body, &home);
	for (int i = 0; i < 50; i++) {
		makecontext(&one, again_body, 0);
		check(swapcontext(&home, &one) == 0);
	}
	check(seen == 50);
}

// A copy made before it first ran begins the function as well.
static void begun_by_copy(void)
{
	static ucontext_t copy;
	seen = 0;
	context(&one, fields_body, &home);
	memcpy(&copy, &one, sizeof(copy));
	check(swapcontext(&home, &copy) == 0);
	check(seen == 1);
}

const struct conform of_context[] = {
	{"twice", twice}, {"registers", registers}, {"kept", kept}, {"arguments", arguments}, {"floats", floats},
	{"fields", fields}, {"links", links}, {"mask", mask}, {"pending", pending}, {"rounding", rounding},
	{"threads", threads}, {"locals", locals}, {"errnos", errnos}, {"handler", handler}, {"again", again},
	{"begun_by_copy", begun_by_copy}, {NULL, NULL},
};
