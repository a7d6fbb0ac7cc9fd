// SPDX-License-Identifier: MIT
//
// manners_throws.cc - exceptions and forced unwinds through frames of whoever
// stands between, and what backtrace() says. Built by its check, twice: as a
// library (-DBEHIND) whose read throws, and as the program.
#include <cstddef>
#include <stdexcept>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef BEHIND
extern "C" ssize_t read(int fd, void *buf, size_t n)
{
	if (fd == -77)
		throw std::runtime_error("read");
	return syscall(SYS_read, fd, buf, n);
}
#else
#include <cstdio>
#include <cstring>
#include <execinfo.h>
#include <pthread.h>
#include <ucontext.h>

static ucontext_t here, there;
static char stack[256 << 10];
static int caught, cleaned, switches;

struct cleaner {
	~cleaner() { cleaned++; }
};

static void swap(ucontext_t *from, ucontext_t *to)
{
	switches++;
	swapcontext(from, to);
}

static void reads()
{
	cleaner c;
	char byte;
	(void)!read(-77, &byte, 1);
}

static void throws(bool away)
{
	for (int i = 0; i < 100; i++)
		try {
			reads();
		} catch (const std::runtime_error &e) {
			caught += !strcmp(e.what(), "read");
			if (away)
				swap(&there, &here); // with a caught exception on the stack
		}
}

extern "C" void walks(const char *where)
{
	void *frames[64];
	int n = backtrace(frames, 64), own = 0;
	char **names = backtrace_symbols(frames, n);
	for (int i = 0; i < n; i++)
		own += strstr(names[i], "walks") || strstr(names[i], "coroutine") ||
		       strstr(names[i], "main+");
	printf("%s: %d own frames, %s\n", where, own, n < 12 ? "and it ends" : "without an end");
}

extern "C" void coroutine()
{
	walks("coroutine");
	throws(true);
	swap(&there, &here);
	cleaner c;
	pthread_exit(nullptr);
}

static void make()
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
}

static void *leaves(void *arg)
{
	make();
	for (int i = 0; i < 102; i++)
		swap(&here, &there);
	return arg;
}

static void uncaught()
{
	reads();
}

int main(int argc, char **)
{
	pthread_t t;
	if (argc > 1) { // nobody catches it: the unwinder must find the end of the stack
		getcontext(&there);
		there.uc_stack.ss_sp = stack;
		there.uc_stack.ss_size = sizeof(stack);
		makecontext(&there, uncaught, 0);
		swapcontext(&here, &there);
	}
	walks("main");
	throws(false);
	pthread_create(&t, nullptr, leaves, nullptr);
	pthread_join(t, nullptr);
	printf("caught %d cleaned %d\nswitches %d\n", caught, cleaned, switches);
}
#endif
