// SPDX-License-Identifier: MIT
//
// manners_walked.c - every function that must not gain a frame, between two
// breakpoints: for a debugger that steps through it (tests/unit/test_cfi.c) and
// sends SIGUSR1 in the middle of a hook. Once on main's thread, once on one that
// has done nothing yet. `t-walked bt`: stops inside a coroutine, inside read.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"
#ifdef HAVE_FCONTEXT
#include "fcontext.h"
#endif

void __longjmp_chk(jmp_buf env, int val) __attribute__((noreturn)); // as fortified programs call it

static ucontext_t here, there, ends;
static jmp_buf buf, far_buf;
static volatile int jumped, handled;
static char stacks[3][64 << 10] __attribute__((aligned(64)));

#define BREAK() raise(SIGTRAP)

// In whatever was under way: through gates that are shut.
static void on_signal(int sig)
{
	static ucontext_t scratch, back, over;
	static volatile int round;
	(void)sig;
	handled++;
	getcontext(&scratch);
	if (!sigsetjmp(buf, 1))
		siglongjmp(buf, 1);
	round = 0;
	getcontext(&back);
	if (!round++) {
		getcontext(&over);
		if (round++ < 3)
			setcontext(&over);
	}
	close(dup(0));
}

static void coroutine(void)
{
	for (int i = 0; i < 3; i++)
		swapcontext(&there, &here);
	if (!_setjmp(far_buf))
		swapcontext(&there, &here);
	swapcontext(&there, &here);
}

static void returns(void)
{
}

static void make(ucontext_t *u, int which, void (*fn)(void), ucontext_t *link)
{
	must(getcontext(u));
	u->uc_stack.ss_sp = stacks[which];
	u->uc_stack.ss_size = sizeof(stacks[which]);
	u->uc_link = link;
	makecontext(u, fn, 0);
}

#ifdef HAVE_FCONTEXT
static struct transfer same(struct transfer t)
{
	return t;
}

static void boosted(struct transfer t)
{
	for (;;)
		t = jump_fcontext(t.from, NULL);
}
#endif

static void *calls(void *arg)
{
	char c;
	int p[2];
	must(pipe(p));
	must(write(p[1], "x", 1));
	BREAK();
	make(&there, 0, coroutine, NULL);
	make(&ends, 1, returns, &here);
	swapcontext(&here, &there);
	swapcontext(&here, &there);
	swapcontext(&here, &ends); // comes back by uc_link
	if (!(setjmp)(buf)) // the function, not the macro
		longjmp(buf, 1);
	if (!_setjmp(buf))
		_longjmp(buf, 1);
	if (!sigsetjmp(buf, 1))
		siglongjmp(buf, 1);
	if (!_setjmp(buf))
		__longjmp_chk(buf, 1);
	swapcontext(&here, &there);
	swapcontext(&here, &there); // it has saved itself in far_buf
	getcontext(&here);
	if (!jumped++)
		longjmp(far_buf, 1); // onto its stack; it swaps back to `here`, or where it lay before
#ifdef HAVE_FCONTEXT
	struct transfer t = {make_fcontext(stacks[2] + sizeof(stacks[2]), sizeof(stacks[2]), boosted), NULL};
	for (int i = 0; i < 3; i++)
		t = jump_fcontext(t.from, NULL);
	t = ontop_fcontext(t.from, NULL, same);
#endif
	must(read(p[0], &c, 1));
	close(p[0]);
	close(p[1]);
	pid_t pid = vfork();
	if (pid == 0)
		_exit(0);
	must(waitpid(pid, NULL, 0));
	must((int)syscall(SYS_getppid));
	getcontext(&here);
	static volatile int again;
	if (again++ < 1)
		setcontext(&here);
	BREAK();
	again = jumped = 0;
	return arg;
}

static void sits(void)
{
	char c;
	say("ready");
	(void)!read(0, &c, 1);
	swapcontext(&there, &here);
}

int main(int argc, char **argv)
{
	pthread_t t;
	if (argc > 1 && !strcmp(argv[1], "bt")) {
		make(&there, 0, sits, NULL);
		swapcontext(&here, &there);
		return 0;
	}
	signal(SIGUSR1, on_signal);
	calls(NULL);
	must(pthread_create(&t, NULL, calls, NULL));
	must(pthread_join(t, NULL));
	printf("handled %d\n", handled);
	return 0;
}
