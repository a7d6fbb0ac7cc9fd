// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A virtual machine's values are boxed in NaNs with a tag of 17 bits and an
// address of 47 (LuaJIT's GC64 mode). Its stack of values, in static storage, has
// numbers, strings and, tagged as threads, the coroutines that wait.
#include "ordered.h"

#define THREADS 3
#define SLOTS 64

typedef union {
	uint64_t bits;
	double number;
} tvalue;

#define TAG_SHIFT 47
#define ADDRESS ((1ull << TAG_SHIFT) - 1)
#define TAG_STRING 0x1fffbull
#define TAG_THREAD 0x1fff9ull // all 17 bits matter: the lowest is bit 47

static tvalue stack[SLOTS], *top = stack;
static int ep, fds_of[THREADS], nthreads;

static NOINLINE void push_number(double x)
{
	(top++)->number = x;
}

static NOINLINE void push(uint64_t tag, const void *p)
{
	(top++)->bits = tag << TAG_SHIFT | ((uintptr_t)p & ADDRESS);
}

static bool is(const tvalue *v, uint64_t tag)
{
	return v->bits >> TAG_SHIFT == tag;
}

static NOINLINE struct co *thread_of(const tvalue *v)
{
	return (struct co *)(uintptr_t)(v->bits & ADDRESS);
}

static void chunk(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char line[64];
	while (co_read(ep, fd, line, sizeof(line)) > 0)
		;
	ended++;
}

static NOINLINE void vm_spawn(const char *name)
{
	int fds[2];
	pair("tcp", fds);
	fds_of[nthreads++] = fds[0];
	struct co *c = co_new(chunk, (void *)(intptr_t)fds[0]);
	push(TAG_STRING, name);
	push_number(fds[0]);
	push(TAG_THREAD, c);
	co_resume(c);
	must(write(fds[1], "print()", 7));
	co_turn(ep, -1);
}

static NOINLINE void vm_close_sockets(void)
{
	for (int i = 0; i < nthreads; i++)
		close(fds_of[i]); // fault
}

static NOINLINE void vm_resume_top(void)
{
	const tvalue *v = --top;
	if (is(v, TAG_THREAD))
		co_resume(thread_of(v));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < THREADS; i++)
		vm_spawn("worker");
	vm_close_sockets();
	serve_until_ordered(ep);
	while (top > stack)
		vm_resume_top();
	return all_resumed(THREADS);
}
