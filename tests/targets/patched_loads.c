// SPDX-License-Identifier: MIT
//
// patched_loads.c MODULE TIMES THREADS [mdwe|seccomp|nodump]: loads an object that has its own
// switch function, uses it, unloads it, and again, while other threads use another copy of it;
// before that the process gives up rights to change its code. Prints "coroutines C switches S".
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "must.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

static long made, switched;
static int stop;

static void run(const char *path, int flags, int times)
{
	for (int i = 0; i < times; i++) {
		void *module = dlopen(path, flags);
		if (!module) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		long (*go)(int) = (long (*)(int))dlsym(module, "module_run");
		__atomic_fetch_add(&switched, go(10), __ATOMIC_RELAXED);
		__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
		dlclose(module);
	}
}

static void *beside(void *arg)
{
	void *module = dlopen(arg, RTLD_NOW | RTLD_LOCAL);
	long (*go)(int) = (long (*)(int))dlsym(module, "module_run");
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&switched, go(100), __ATOMIC_RELAXED);
		__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void give_up(const char *what)
{
	if (!strcmp(what, "mdwe") && prctl(PR_SET_MDWE, 1L, 0L, 0L, 0L))
		exit(77);
	if (!strcmp(what, "nodump"))
		must(prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L));
	if (!strcmp(what, "seccomp")) {
		scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
		must(seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mprotect), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC)));
		must(seccomp_load(f));
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[16];
	char copy[4096];
	int n = argc > 3 ? atoi(argv[3]) : 0;
	if (argc > 4)
		give_up(argv[4]);
	snprintf(copy, sizeof(copy), "%s.copy", argv[1]);
	for (int i = 0; i < n && i < 16; i++)
		must(pthread_create(&threads[i], NULL, beside, copy));
	run(argv[1], RTLD_NOW | RTLD_LOCAL, atoi(argv[2]));
	stop = 1;
	for (int i = 0; i < n && i < 16; i++)
		pthread_join(threads[i], NULL);
	printf("coroutines %ld switches %ld\n", made, switched);
}
