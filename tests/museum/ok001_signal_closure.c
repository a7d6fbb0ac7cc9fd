// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A handler with an environment of its own: a closure, a few instructions and two
// words that are made at run time, as libffi makes them. The program keeps no
// pointer to the closure; the kernel does, in its table of signal handlers.
#include <sys/mman.h>

#include "ordered.h"

#define CLIENTS 3

struct closure {
	unsigned char code[48];
	void (*fn)(int number, void *environment);
	void *environment;
};

struct clients {
	struct co *readers[CLIENTS];
	int fds[CLIENTS];
};

static int ep;

static NOINLINE void write_code(struct closure *c)
{
#if defined(__x86_64__)
	static const unsigned char code[] = {
		0xf3, 0x0f, 0x1e, 0xfa,                   // endbr64
		0x48, 0x8b, 0x35, 0x2d, 0x00, 0x00, 0x00, // mov 0x2d(%rip),%rsi: the environment, at 56
		0xff, 0x25, 0x1f, 0x00, 0x00, 0x00,       // jmp *0x1f(%rip): fn, at 48
	};
#elif defined(__aarch64__)
	static const unsigned char code[] = {
		0xc1, 0x01, 0x00, 0x58, // ldr x1, 56
		0x70, 0x01, 0x00, 0x58, // ldr x16, 48
		0x00, 0x02, 0x1f, 0xd6, // br x16
	};
#else
#error "no closures here"
#endif
	memcpy(c->code, code, sizeof(code));
	__builtin___clear_cache((char *)c->code, (char *)c->code + sizeof(code));
}

// A block of the heap, on pages made executable.
static NOINLINE struct closure *make_closure(void (*fn)(int, void *), void *environment)
{
	struct closure *c = aligned_alloc(4096, 4096);
	must(c ? 0 : -1);
	write_code(c);
	c->fn = fn;
	c->environment = environment;
	must(mprotect(c, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	return c;
}

static void client_reader(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

// The handler itself; it comes while the loop sleeps.
static void release(int number, void *environment)
{
	struct clients *all = environment;
	(void)number;
	for (int i = 0; i < CLIENTS; i++)
		co_resume(all->readers[i]);
	ordered = 1;
}

static NOINLINE void open_client(struct clients *all, int i)
{
	int fds[2];
	pair("unix", fds);
	all->fds[i] = fds[0];
	all->readers[i] = co_new(client_reader, (void *)(intptr_t)fds[0]);
	co_resume(all->readers[i]);
	must(write(fds[1], "hello", 5));
	co_turn(ep, -1);
}

static NOINLINE void install(struct clients *all)
{
	union {
		struct closure *closure;
		void (*handler)(int);
	} u = {make_closure(release, all)};
	struct sigaction act = {.sa_handler = u.handler};
	must(sigaction(SIGUSR1, &act, NULL));
}

static NOINLINE void serve_some(void)
{
	struct clients *all = must_alloc(sizeof(*all));
	for (int i = 0; i < CLIENTS; i++)
		open_client(all, i);
	install(all);
	for (int i = 0; i < CLIENTS; i++)
		close(all->fds[i]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	serve_some();
	serve_until_ordered(ep);
	return all_resumed(CLIENTS);
}
