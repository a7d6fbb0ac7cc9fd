// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A runtime that keeps all of its objects below 4 GiB, so that a reference
// is 32 bits wide. Two references share each word of its handle table.
#include <sys/mman.h>

#include "ordered.h"

#define STREAMS 3
#define STACK (32u << 10)

typedef uint32_t ref;

static ref handles[2 * STREAMS]; // object, name, object, name, ...
static unsigned nhandles;
static int ep, sockets[STREAMS];
static char *space, *space_end;

static NOINLINE void make_space(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	must(p == MAP_FAILED ? -1 : 0);
	space = p;
	space_end = space + bytes;
}

// From the end; the space's begin moves nowhere.
static NOINLINE void *take(size_t bytes)
{
	space_end -= (bytes + 63) & ~(size_t)63;
	must(space_end >= space ? 0 : -1);
	return space_end;
}

static NOINLINE void *deref(ref r)
{
	return (void *)(uintptr_t)r;
}

static NOINLINE ref ref_of(const void *p)
{
	return (ref)(uintptr_t)p;
}

static void pump(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void open_stream(const char *name)
{
	int fds[2];
	pair("unix", fds);
	sockets[nhandles / 2] = fds[0];
	char *stack = take(STACK);
	struct co *c = take(sizeof(*c));
	c->pinned = true;
	co_init(c, pump, (void *)(intptr_t)fds[0], stack, STACK);
	handles[nhandles++] = ref_of(c);
	handles[nhandles++] = ref_of(strcpy(take(16), name));
	co_resume(c);
	must(write(fds[1], "bytes", 5));
	co_turn(ep, -1);
}

// The space is complete now: nothing points into it but references.
static NOINLINE void seal(void)
{
	must(mprotect(space, 4096, PROT_NONE)); // a guard
	space = space_end = NULL;
}

static NOINLINE void close_streams(void)
{
	for (int i = 0; i < STREAMS; i++)
		close(sockets[i]); // fault
}

static NOINLINE void finish_streams(void)
{
	for (unsigned i = 0; i < nhandles; i += 2)
		co_resume(deref(handles[i]));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	make_space(1u << 20);
	for (int i = 0; i < STREAMS; i++)
		open_stream("stream");
	seal();
	close_streams();
	serve_until_ordered(ep);
	finish_streams();
	return all_resumed(STREAMS);
}
