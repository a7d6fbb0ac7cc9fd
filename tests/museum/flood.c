// SPDX-License-Identifier: MIT
//
// flood.c - preloaded into an exhibit, so that its history is lost: stops
// ctp-run before main, and makes each thread switch so often before its own
// code that its ring is full. Whoever runs the exhibit continues ctp-run
// when its state is final; until then nothing of the exhibit's fits. With FLOOD_GOES_ON
// it goes on at once, and only the begin is lost.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS 140000 // two switches each; a ring holds 262144 records

static __thread ucontext_t here, there;
static __thread volatile int over;
static int flooded; // main was, so every thread shall be

static void body(void)
{
	while (!over)
		swapcontext(&there, &here);
}

static void flood(void)
{
	static __thread char stack[32 << 10] __attribute__((aligned(16)));
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, body, 0);
	for (int i = 0; i < ROUNDS; i++)
		swapcontext(&here, &there);
	over = 1; // it ends: one that stayed suspended would be a coroutine of the exhibit's
	swapcontext(&here, &there);
}

struct begin {
	void *(*fn)(void *);
	void *arg;
};

static void *thread(void *arg)
{
	struct begin b = *(struct begin *)arg;
	free(arg);
	if (flooded)
		flood();
	return b.fn(b.arg);
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct begin *b = malloc(sizeof(*b));
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (!b)
		abort();
	*b = (struct begin){fn, arg};
	return real(t, attr, thread, b);
}

static int (*real_main)(int, char **, char **);

// What the exhibit starts in its turn has another parent, and is left alone.
static int under_ctp_run(void)
{
	char path[32], name[32] = "";
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)getppid());
	FILE *f = fopen(path, "re");
	int ours = f && fgets(name, sizeof(name), f) && strcmp(name, "ctp-run\n") == 0;
	if (f)
		fclose(f);
	return ours;
}

static int flooded_main(int argc, char **argv, char **envp)
{
	if (under_ctp_run()) {
		kill(getppid(), SIGSTOP);
		flooded = !getenv("FLOOD_GOES_ON");
		flood();
		if (!flooded)
			kill(getppid(), SIGCONT);
	}
	return real_main(argc, argv, envp);
}

int __libc_start_main(int (*fn)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
	*(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
	real_main = fn;
	return real(flooded_main, argc, argv, init, fini, rtld_fini, stack_end);
}
