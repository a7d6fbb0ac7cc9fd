// SPDX-License-Identifier: MIT
//
// Locks its memory, as mlockall's FLAGS say: locked FLAGS. Prints what came of it, without figures that vary:
// how it ended, whether memory is locked, whether it is much, whether what is mapped next is locked as well.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "must.h"

enum { LIMIT = 8 << 20, MUCH_KB = 16 << 10, MORE = 1 << 20 };

static ucontext_t mine, other;
static char stack[64 << 10];

static void once(void)
{
	must(!swapcontext(&other, &mine));
}

static long status_kb(const char *name)
{
	char line[256];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");
	must(f != NULL);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			kb = atol(line + strlen(name));
	fclose(f);
	return kb;
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	must(argc == 2 && !getrlimit(RLIMIT_MEMLOCK, &limit));
	limit.rlim_cur = limit.rlim_max < LIMIT ? limit.rlim_max : LIMIT;
	must(!setrlimit(RLIMIT_MEMLOCK, &limit));
	must(!getcontext(&other));
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof(stack);
	makecontext(&other, once, 0);
	must(!swapcontext(&mine, &other));
	must(printf("locked before %ld\n", status_kb("VmLck:")) > 0); // and stdio has its memory
	errno = 0;
	int r = mlockall(atoi(argv[1]));
	printf("mlockall %d %s\n", r, strerror(errno));
	long locked = status_kb("VmLck:");
	printf("locked %d much %d resident %d\n", locked > 0, locked > MUCH_KB, status_kb("VmRSS:") > MUCH_KB);
	must(mmap(NULL, MORE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	printf("and later %d\n", status_kb("VmLck:") - locked >= MORE >> 10);
	return 0;
}
