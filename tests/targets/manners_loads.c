// SPDX-License-Identifier: MIT
//
// manners_loads.c - modules that come and go.
//   t-loads cycle N MODULE...: each is loaded, switches, and is unloaded, N times in all
//   t-loads namespace N MODULE: the same in a namespace of its own, beside coroutines here
//   t-loads lost N MODULE OTHER: MODULE closes what coroutines wait for and is
//   unloaded; OTHER comes in its place. Sleeps.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep;

static void *symbol(void *module, const char *name)
{
	void *p = module ? dlsym(module, name) : NULL;
	if (!p) {
		fprintf(stderr, "t-loads: %s\n", dlerror());
		exit(98);
	}
	return p;
}

static void run_module(void *module, int n)
{
	void (*run)(int);
	*(void **)&run = symbol(module, "module_run");
	run(n);
}

static int do_cycle(long n, int modules, char **path)
{
	for (long i = 0; i < n; i++) {
		void *m = dlopen(path[i % modules], RTLD_NOW);
		run_module(m, 3);
		must(dlclose(m));
	}
	printf("coroutines %ld switches %ld\n", n, 6 * n);
	return 0;
}

static void yields(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		co_yield();
}

static int do_namespace(long n, int modules, char **path)
{
	(void)modules;
	struct co *c = co_new(yields, (void *)n);
	void *m = dlmopen(LM_ID_NEWLM, path[0], RTLD_NOW);
	for (long i = 0; i <= n; i++) {
		co_resume(c);
		run_module(m, 3);
	}
	must(dlclose(m));
	printf("coroutines 1 switches %lu\n", co_switches);
	return 0;
}

static void reads(void *arg)
{
	char c;
	int *fds = arg;
	(void)co_read(ep, fds[0], &c, 1);
}

static int do_lost(long n, int modules, char **path)
{
	static int fds[8][2];
	int (*closes)(int);
	(void)modules;
	ep = epoll_create1(0);
	for (long i = 0; i < n; i++) {
		pair("unix", fds[i]);
		co_start(reads, fds[i]);
	}
	void *m = dlopen(path[0], RTLD_NOW);
	*(void **)&closes = symbol(m, "module_closes");
	for (long i = 0; i < n; i++)
		must(closes(fds[i][0]));
	must(dlclose(m));
	m = dlopen(path[1], RTLD_NOW);
	run_module(m, 3); // its stacks are named where the other's were
	say("ready");
	co_loop(ep);
}

static const struct {
	const char *name;
	int (*run)(long n, int modules, char **path);
} cases[] = {{"cycle", do_cycle}, {"namespace", do_namespace}, {"lost", do_lost}};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 3 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run(atol(argv[2]), argc - 3, argv + 3);
	fprintf(stderr, "t-loads: what?\n");
	return 2;
}
