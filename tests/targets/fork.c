// SPDX-License-Identifier: MIT
//
// fork.c - processes that make processes. `fork CASE [N]` runs one. Each process
// counts what it does itself and says so last, in one line: the first one
// "coroutines C switches S", a child "child coroutines C switches S" (a copy of
// its parent's coroutine counts in the child once it runs there). A child whose
// image is another one than this says nothing but "child" and what it found.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork.h"
#include "must.h"

unsigned long made, switched;
const char *self;
static const char *who = "";

void tell(void)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%scoroutines %lu switches %lu\n", who, made, switched);
	must(write(1, line, (size_t)n));
}

void child_begins(void)
{
	who = "child ";
	made = switched = 0;
}

void swap(ucontext_t *from, ucontext_t *to)
{
	__atomic_fetch_add(&switched, 1, __ATOMIC_RELAXED);
	must(swapcontext(from, to));
}

void make(struct fiber *f, void (*fn)(void), ucontext_t *link)
{
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	must(getcontext(&f->uc));
	f->uc.uc_stack.ss_sp = f->stack = must_alloc(FIBER_BYTES);
	f->uc.uc_stack.ss_size = FIBER_BYTES;
	f->uc.uc_link = link;
	makecontext(&f->uc, fn, 0);
}

// ---- some work: three coroutines that yield, and return

static __thread struct fiber *on;
static __thread ucontext_t home;

static void yields(void)
{
	struct fiber *f = on;
	for (int i = 0; i < f->turns; i++)
		swap(&f->uc, &home);
	__atomic_fetch_add(&switched, 1, __ATOMIC_RELAXED); // by uc_link
}

void work(int turns)
{
	struct fiber all[3];
	for (int i = 0; i < 3; i++) {
		make(&all[i], yields, &home);
		all[i].turns = turns;
	}
	for (int y = 0; y <= turns; y++)
		for (int i = 0; i < 3; i++) {
			on = &all[i];
			swap(&home, &all[i].uc);
		}
	for (int i = 0; i < 3; i++)
		free(all[i].stack);
}

void work_and_exit(void)
{
	child_begins();
	work(10);
	tell();
	exit(0);
}

// ---- children, and waiting for them

void reap(pid_t pid)
{
	int status;
	must(waitpid(pid, &status, 0) == pid ? 0 : -1);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "child %d ended with status %#x\n", (int)pid, (unsigned)status);
		exit(1);
	}
}

pid_t forked(void (*child)(void))
{
	pid_t pid = fork();
	must(pid);
	if (pid)
		return pid;
	child();
	_exit(0);
}

static void case_plain(int n)
{
	work(5);
	pid_t pid = forked(work_and_exit);
	work(7);
	reap(pid);
}

static void _exits(void)
{
	child_begins();
	work(10);
	tell();
	_exit(0);
}

static void case__exit(int n)
{
	work(5);
	reap(forked(_exits));
}

// A child for each line on stdin.
static void case_told(int n)
{
	char line[8];
	work(1);
	must(write(1, "ready\n", 6));
	while (must(read(0, line, 1)) == 1)
		reap(forked(_exits));
}

static void case_many(int n)
{
	for (int i = 0; i < n; i++)
		reap(forked(work_and_exit));
	work(1);
}

static void case_parallel(int n)
{
	pid_t pids[1000];
	for (int i = 0; i < n; i++)
		pids[i] = forked(work_and_exit);
	work(100);
	for (int i = 0; i < n; i++)
		reap(pids[i]);
}

// Nothing to trace in any of them.
static void idle(void)
{
	_exit(0);
}

static void case_idle(int n)
{
	for (int i = 0; i < n; i++)
		reap(forked(idle));
	work(1);
}

static void grandchild(void)
{
	child_begins();
	work(3);
	pid_t pid = forked(work_and_exit);
	work(4);
	reap(pid);
	tell();
	_exit(0);
}

static void case_nested(int n)
{
	work(5);
	reap(forked(grandchild));
}

// The child is gone before its own child works: that one is an orphan.
static void middle(void)
{
	if (fork() == 0) {
		while (getppid() != 1 && syscall(SYS_getppid) != 1)
			sched_yield();
		work_and_exit();
	}
	_exit(0);
}

static void case_double(int n)
{
	work(5);
	reap(forked(middle));
}

static void case_daemon(int n)
{
	must(daemon(1, 1));
	child_begins();
	work(10);
	tell();
	_exit(0);
}

// A clone that shares nothing, made behind everybody's back.
static void case_clone(int n)
{
	work(5);
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	must((int)pid);
	if (!pid)
		_exits();
	reap((pid_t)pid);
	work(5);
}

static volatile int stop;

static void *spins(void *arg)
{
	while (!stop)
		work(20);
	return NULL;
}

static void case_threads(int n)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		must(-pthread_create(&t[i], NULL, spins, NULL));
	for (int i = 0; i < n; i++)
		reap(forked(work_and_exit));
	stop = 1;
	for (int i = 0; i < 3; i++)
		must(-pthread_join(t[i], NULL));
}

static const struct {
	const char *name;
	void (*run)(int n);
} cases[] = {
	{ "plain", case_plain }, { "_exit", case__exit }, { "many", case_many }, { "told", case_told }, { "parallel", case_parallel },
	{ "idle", case_idle }, { "nested", case_nested }, { "double", case_double }, { "daemon", case_daemon },
	{ "clone", case_clone }, { "threads", case_threads },
	{ "inside", case_inside }, { "goes_on", case_goes_on }, { "unbegun", case_unbegun }, { "pool", case_pool },
	{ "exec", case_exec }, { "worked", case_worked }, { "late", case_late }, { "vfork", case_vfork }, { "spawn", case_spawn }, { "system", case_system },
	{ "popen", case_popen }, { "unset", case_unset }, { "clearenv", case_clearenv }, { "static", case_static },
	{ "closeall", case_closeall }, { "chdir", case_chdir }, { "chroot", case_chroot }, { "setuid", case_setuid },
	{ "setuid_exec", case_setuid_exec }, { "setuid_first", case_setuid_first }, { "chroot_first", case_chroot_first },
	{ "outlive", case_outlive }, { "sleeper", case_sleeper }, { "lost", case_lost },
};

int main(int argc, char **argv)
{
	self = realpath("/proc/self/exe", NULL);
	if (argc > 1 && !strcmp(argv[1], "work"))
		work_and_exit();
	for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run(argc > 2 ? atoi(argv[2]) : 3);
			tell();
			return 0;
		}
	fprintf(stderr, "fork: no such case\n");
	return 2;
}
