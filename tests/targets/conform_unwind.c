// SPDX-License-Identifier: MIT
//
// conform_unwind.c - walks of a coroutine's stack, and the ends: of a coroutine
// without uc_link, of a thread and of the program inside one.
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

#include "conform.h"
#include "must.h"

static ucontext_t home, one;
enum { DEEP = 12 };

// ---- walks: our own frames, all of them, and a clean end

static bool ours(void *pc)
{
	Dl_info at, us;
	return dladdr(pc, &at) && dladdr((void *)ours, &us) && at.dli_fbase == us.dli_fbase;
}

static NOINLINE int frames_by_backtrace(void)
{
	void *pcs[64];
	int n = backtrace(pcs, 64), count = 0;
	check(n < 64);
	for (int i = 0; i < n; i++)
		count += ours(pcs[i]);
	return count;
}

struct walk {
	int ours, all;
};

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *arg)
{
	struct walk *w = arg;
	w->ours += ours((void *)_Unwind_GetIP(c));
	return ++w->all > 64 ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

static NOINLINE int frames_by_unwinder(void)
{
	struct walk w = {0, 0};
	_Unwind_Backtrace(on_frame, &w);
	check(w.all < 64);
	return w.ours;
}

static int by_backtrace, by_unwinder;

static NOINLINE int walk_at(int depth)
{
	if (depth > 0) {
		int n = walk_at(depth - 1);
		__asm__ volatile("" : "+r"(n)); // a frame each
		return n + 1;
	}
	swapcontext(&one, &home);
	by_backtrace = frames_by_backtrace();
	by_unwinder = frames_by_unwinder();
	swapcontext(&one, &home);
	return 1;
}

static void walk_body(void)
{
	for (;;)
		check(walk_at(DEEP) == DEEP + 1);
}

static void walks(void)
{
	context(&one, walk_body, NULL);
	for (int i = 0; i < 20; i++) {
		by_backtrace = by_unwinder = 0;
		check(swapcontext(&home, &one) == 0);
		check(swapcontext(&home, &one) == 0);
		check(by_backtrace == DEEP + 3); // walk_at's, the walker's own, walk_body's
		check(by_unwinder == DEEP + 3);
	}
}

// From a handler that interrupts a coroutine.
static void on_signal(int sig)
{
	(void)sig;
	by_backtrace = frames_by_backtrace();
}

static void interrupted_body(void)
{
	for (;;) {
		raise(SIGUSR1);
		swapcontext(&one, &home);
	}
}

static void walk_interrupted(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	must(sigaction(SIGUSR1, &sa, NULL));
	context(&one, interrupted_body, NULL);
	check(swapcontext(&home, &one) == 0);
	check(by_backtrace >= 3); // the handler's, the walker's, the body's
}

// ---- a thread ends inside a coroutine: cleanups run, its value arrives

static __thread ucontext_t thread_home, thread_one;
static int cleaned;

static void cleanup(void *n)
{
	cleaned += (int)(intptr_t)n;
}

static void exits_body(void)
{
	pthread_cleanup_push(cleanup, (void *)1);
	pthread_exit((void *)42);
	pthread_cleanup_pop(0);
}

static void cancelled_body(void)
{
	pthread_cleanup_push(cleanup, (void *)100);
	pthread_cancel(pthread_self());
	for (;;)
		pthread_testcancel();
	pthread_cleanup_pop(0);
}

static void *in_coroutine(void *body)
{
	pthread_cleanup_push(cleanup, (void *)10);
	context(&thread_one, (void (*)(void))body, &thread_home);
	swapcontext(&thread_home, &thread_one);
	pthread_cleanup_pop(0);
	return NULL;
}

static void thread_exit(void)
{
	cleaned = 0;
	for (int i = 0; i < 5; i++)
		check(run_thread(in_coroutine, (void *)exits_body) == (void *)42);
	printf("cleaned %d\n", cleaned); // bare and under ctp: the same
	fflush(stdout);
}

static void thread_cancel(void)
{
	cleaned = 0;
	for (int i = 0; i < 5; i++)
		check(run_thread(in_coroutine, (void *)cancelled_body) == PTHREAD_CANCELED);
	printf("cleaned %d\n", cleaned);
	fflush(stdout);
}

const struct conform of_unwind[] = {
	{"walks", walks}, {"walk_interrupted", walk_interrupted}, {"thread_exit", thread_exit},
	{"thread_cancel", thread_cancel}, {NULL, NULL},
};

// ---- ends

static void returns(void)
{
	say("returns");
}

static void at_exit(void)
{
	say("at exit");
}

// uc_link NULL: the thread ends when the function returns; with the only
// thread the program does.
static void end_no_link(void)
{
	atexit(at_exit);
	context(&one, returns, NULL);
	swapcontext(&home, &one);
	say("not reached");
}

static void *no_link_in_thread(void *arg)
{
	ucontext_t mine, other;
	context(&other, returns, NULL);
	swapcontext(&mine, &other);
	say("not reached");
	return arg;
}

static void end_no_link_thread(void)
{
	atexit(at_exit);
	run_thread(no_link_in_thread, NULL);
	say("the other thread goes on");
}

static void end_set_saved(void)
{
	atexit(at_exit);
	context(&one, returns, NULL);
	setcontext(&one);
}

static void exits(void)
{
	exit(41);
}

static void end_exit(void)
{
	atexit(at_exit);
	context(&one, exits, &home);
	swapcontext(&home, &one);
}

static void quits(void)
{
	quick_exit(42);
}

static void end_quick_exit(void)
{
	at_quick_exit(at_exit);
	context(&one, quits, &home);
	swapcontext(&home, &one);
}

static void aborts(void)
{
	abort();
}

static void end_abort(void)
{
	context(&one, aborts, &home);
	swapcontext(&home, &one);
}

static void dies(void)
{
	raise(SIGTERM);
}

static void end_signal(void)
{
	context(&one, dies, &home);
	swapcontext(&home, &one);
}

static void main_thread_exits(void)
{
	say("main thread ends");
	pthread_exit(NULL);
}

// The main thread ends inside a coroutine; the last thread's end is the program's.
static void end_main_thread(void)
{
	atexit(at_exit);
	context(&one, main_thread_exits, &home);
	swapcontext(&home, &one);
}

static void overflows(void)
{
	volatile char frame[4096];
	frame[0] = 1;
	overflows();
	frame[1] = frame[0]; // no tail call
}

static void end_overflow(void)
{
	char *guarded = (char *)must_map(STACK) + 4096;
	must(getcontext(&one));
	one.uc_stack.ss_sp = guarded;
	one.uc_stack.ss_size = 16384;
	makecontext(&one, overflows, 0);
	must(munmap(guarded - 4096, 4096));
	swapcontext(&home, &one);
}

const struct conform of_end[] = {
	{"end_no_link", end_no_link}, {"end_no_link_thread", end_no_link_thread}, {"end_set_saved", end_set_saved},
	{"end_exit", end_exit}, {"end_quick_exit", end_quick_exit}, {"end_abort", end_abort},
	{"end_signal", end_signal}, {"end_main_thread", end_main_thread}, {"end_overflow", end_overflow}, {NULL, NULL},
};
