// SPDX-License-Identifier: MIT
//
// robust_steps.c - a signal at every single instruction of a switch, hooks included, by the
// CPU's trap flag (x86_64). What its handler does is told:
//   t-steps calls    calls what is hooked, returns
//   t-steps away     swaps the flow away and, after others have switched, back
//   t-steps jumps    longjmps out
//   t-steps nested   away; another is swapped away inside a switch at each of its instructions; the first
//                    goes on, then the other
//   t-steps threads  the same, but the first goes on on another thread while the other stands in its hook
//   t-steps errors   away, and before it goes on all others jump, too: each within its own stack
// With `longjmp` behind it, the switches are made by setjmp and longjmp. (These two: not behind every one.)
// Prints "switches N clean M": what it counted itself, and how many of these no signal came near.
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <semaphore.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#if defined(__x86_64__)
enum {
	TRAP = 0x100,
	STACK = 64 << 10,
	HOME_REACH = 1 << 20,
	CLEAN = 8,
	WINDOW = 16,
	STRIDE = 5,
	JUMPING_STRIDE = 19
};

struct flow {
	ucontext_t uc, inside, back; // where it left by itself, in the handler, and who resumed it
	char *stack;
	bool saves;   // a getcontext before the switch
	bool stepped; // its next switch is
	bool in_handler;
	jmp_buf env;
	bool by_jump;               // it left by longjmp, and is resumed by it:
	jmp_buf left, within, home; // the same three places as of `uc`, `inside` and `back`
};

static struct flow first, second, helper;
static struct flow *volatile stepping;
static volatile long left_steps;
static volatile bool fired;
static void (*volatile action)(struct flow *);
static long switches, clean;
static bool jumping, fails;
static sem_t go_other, other_done;
static __thread char *home __attribute__((tls_model("initial-exec"))); // above whoever resumes them

static inline __attribute__((always_inline)) void trap(bool on)
{
	unsigned long flags = __builtin_ia32_readeflags_u64();
	__builtin_ia32_writeeflags_u64(on ? flags | TRAP : flags & ~(unsigned long)TRAP);
}

static void trapped(int sig, siginfo_t *info, void *context)
{
	struct flow *f = stepping;
	size_t up = (size_t)(home - (char *)&sig);
	(void)info;
	if (!f || up < HOME_REACH || --left_steps) // it has arrived
		return;
	fired = true;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP; // the rest needs no steps
	action(f);
}

// As where an error is handled: a jump within the stack.
static __attribute__((noinline)) void fail(void)
{
	jmp_buf env;
	if (!_setjmp(env))
		longjmp(env, 1);
}

static void body(void)
{
	struct flow *volatile f = stepping ? stepping : &helper;
	volatile int jumped = _setjmp(f->env);
	trap(false);
	(void)jumped;
	for (;;) {
		ucontext_t scratch;
		if (f->saves)
			getcontext(&scratch);
		__atomic_fetch_add(&switches, 1, __ATOMIC_RELAXED);
		if (f->stepped && !fired)
			trap(true);
		if (!f->by_jump)
			swapcontext(&f->uc, &f->back);
		else if (!_setjmp(f->left))
			longjmp(f->home, 1);
		trap(false);
		if (fails && !f->stepped)
			fail();
	}
}

static void make(struct flow *f)
{
	must(getcontext(&f->uc));
	f->stack = must_map(STACK);
	f->uc.uc_stack.ss_sp = f->stack;
	f->uc.uc_stack.ss_size = STACK;
	makecontext(&f->uc, body, 0);
}

// Resumes it, wherever it is, until somebody swaps back.
static __attribute__((noinline)) void go(struct flow *f)
{
	bool inside = f->in_handler, jumps = f->by_jump;
	f->in_handler = false;
	f->by_jump = jumping;
	__atomic_fetch_add(&switches, 1, __ATOMIC_RELAXED);
	if (!jumping)
		must(swapcontext(&f->back, inside ? &f->inside : &f->uc));
	else if (!_setjmp(f->home))
		jumps ? longjmp(inside ? f->within : f->left, 1) : must(setcontext(&f->uc));
	trap(false);
}

static void clean_ones(struct flow *f)
{
	for (int i = 0; i < CLEAN; i++)
		go(f);
	clean += 2 * CLEAN;
}

// Its switch, with `what` behind the n-th instruction. False: it has less.
static bool at(struct flow *f, long n, void (*what)(struct flow *))
{
	action = what;
	left_steps = n;
	fired = false;
	stepping = f;
	f->stepped = true;
	go(f);
	f->stepped = false;
	return fired;
}

static void calls(struct flow *f)
{
	ucontext_t scratch;
	(void)f;
	getcontext(&scratch);
	close(dup(0));
}

static void away(struct flow *f)
{
	f->in_handler = true;
	__atomic_fetch_add(&switches, 1, __ATOMIC_RELAXED);
	if (!jumping)
		swapcontext(&f->inside, &f->back);
	else if (!_setjmp(f->within))
		longjmp(f->home, 1);
}

static void jumps(struct flow *f)
{
	longjmp(f->env, 1);
}

// The first goes on on another thread, to its end, while this stands in its hook.
static void hands_over(struct flow *f)
{
	sem_post(&go_other);
	sem_wait(&other_done);
	away(f);
}

static void *other(void *arg)
{
	home = __builtin_frame_address(0);
	for (;;) {
		sem_wait(&go_other);
		if (!first.stack)
			return arg;
		if (first.in_handler)
			go(&first);
		sem_post(&other_done);
	}
}

static void finish(struct flow *f)
{
	while (f->in_handler)
		go(f);
}

static void both(bool threads)
{
	for (long k = 1; k <= WINDOW; k += jumping ? STRIDE : 1) {
		bool more = true;
		for (long j = 1 + k % STRIDE; more; j += jumping ? JUMPING_STRIDE : STRIDE) {
			at(&first, k, away);
			more = at(&second, j, threads ? hands_over : away);
			stepping = NULL;
			finish(&first);
			finish(&second);
			clean_ones(&first);
			clean_ones(&second);
		}
	}
}

static void one(void (*what)(struct flow *))
{
	bool more = true;
	for (long k = 1; more; k += jumping || fails ? STRIDE : 1) {
		more = at(&first, k, what);
		if (first.in_handler) {
			if (fails)
				fail();
			go(&helper);
			go(&helper);
		}
		finish(&first);
		stepping = NULL;
		clean_ones(&first);
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = trapped, .sa_flags = SA_NODEFER | SA_SIGINFO};
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	home = __builtin_frame_address(0);
	bool threads = !strcmp(how, "threads");
	sigaction(SIGTRAP, &sa, NULL);
	struct flow *all[] = {&helper, &first, &second};
	for (int i = 0; i < 3; i++) {
		make(all[i]);
		stepping = i ? all[i] : NULL;
		go(all[i]);
		go(all[i]);
	}
	stepping = NULL;
	jumping = argc > 2 && !strcmp(argv[2], "longjmp");
	fails = !strcmp(how, "errors");
	for (int i = 0; i < 3; i++)
		go(all[i]);
	second.saves = helper.saves = true;
	sem_init(&go_other, 0, 0);
	sem_init(&other_done, 0, 0);
	must(pthread_create(&thread, NULL, other, NULL));
	if (threads || !strcmp(how, "nested"))
		both(threads);
	else
		for (int i = 0; i < 2; i++, first.saves = true) // by the short way, and by the long
			one(!strcmp(how, "calls") ? calls : !strcmp(how, "jumps") ? jumps : away);
	first.stack = NULL;
	sem_post(&go_other);
	must(pthread_join(thread, NULL));
	printf("switches %ld clean %ld\n", switches, clean);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
