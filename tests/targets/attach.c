// SPDX-License-Identifier: MIT
//
// A server that has run for a while when somebody attaches to it: COUNT coroutines answer a client thread, each on its
// own socket, and main waits for events without a timeout. Knows nothing of ctp.
//
// Usage: attach COUNT [MODULE]. Commands, a letter on standard input:
//   s  says how often the client was answered, how often the wait was interrupted, which signals are caught
//   n  makes a coroutine, which waits
//   c  closes the socket of the last coroutine under it, and tells it nothing
//   o  opens the module: it makes a coroutine that waits, and runs one that switches by its own code
//   x  has the module close the descriptor for which its coroutine waits
//   l  locks its memory, and all that it will map (mlockall)
//   m  the same, each page when it is used
//   u  unlocks it
//   f  forks a child, which has a coroutine answer once and ends
//   q  ends
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

enum { MOST = 64, STACK = 64 << 10 };

struct server {
	int fd, client;
	ucontext_t context;
};

static struct server *servers[MOST];
static int n, set;
static ucontext_t loop;
static unsigned long answered, interrupted;
static const char *module;
static void *opened;

static void body(int i)
{
	struct server *s = servers[i];
	struct epoll_event e = {EPOLLIN, {.u32 = (uint32_t)i}};
	char byte[16];
	must(epoll_ctl(set, EPOLL_CTL_ADD, s->fd, &e));
	for (;;) {
		ssize_t got = read(s->fd, byte, sizeof(byte));
		if (got > 0 && write(s->fd, byte, (size_t)got) == got)
			continue;
		swapcontext(&s->context, &loop);
	}
}

static void add(void)
{
	struct server *s = calloc(1, sizeof(*s));
	int pair[2];
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	must(fcntl(pair[0], F_SETFL, O_NONBLOCK));
	*s = (struct server){pair[0], pair[1]};
	must(getcontext(&s->context));
	s->context.uc_stack.ss_sp = malloc(STACK);
	s->context.uc_stack.ss_size = STACK;
	makecontext(&s->context, (void (*)(void))body, 1, n);
	__atomic_store_n(&servers[n], s, __ATOMIC_RELEASE);
	n++;
	swapcontext(&loop, &s->context);
}

// The first coroutine's: the others have nothing to do.
static void *client(void *arg)
{
	(void)arg;
	for (char byte = 1;;) {
		struct server *s = __atomic_load_n(&servers[0], __ATOMIC_ACQUIRE);
		if (write(s->client, &byte, 1) != 1 || read(s->client, &byte, 1) != 1)
			return NULL;
		__atomic_add_fetch(&answered, 1, __ATOMIC_RELAXED);
		usleep(500);
	}
}

static unsigned caught(void)
{
	unsigned many = 0;
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction is;
		many += !sigaction(sig, NULL, &is) && is.sa_handler != SIG_DFL && is.sa_handler != SIG_IGN;
	}
	return many;
}

static void open_module(void)
{
	opened = dlopen(module, RTLD_NOW | RTLD_LOCAL);
	int (*make)(int) = opened ? (int (*)(int))dlsym(opened, "opened_add") : NULL;
	long (*go)(int) = opened ? (long (*)(int))dlsym(opened, "module_run") : NULL;
	if (!make || !go || make(set) || go(10) != 20)
		exit(3);
}

static void fork_one(void)
{
	int status;
	pid_t child = must(fork());
	if (!child) {
		add();
		_exit(0);
	}
	must(waitpid(child, &status, 0));
	if (status)
		exit(4);
}

static void command(char is)
{
	if (is == 'f')
		fork_one();
	if (is == 'o')
		open_module();
	if (is == 'x')
		((void (*)(void))dlsym(opened, "opened_close"))();
	if (is == 'l')
		must(mlockall(MCL_CURRENT | MCL_FUTURE));
	if (is == 'm')
		must(mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
	if (is == 'u')
		must(munlockall());
	if (is == 'n')
		add();
	if (is == 'c')
		must(close(servers[n - 1]->fd));
	if (is == 'q')
		exit(0);
	printf("%c answered %lu interrupted %lu caught %u\n", is, __atomic_load_n(&answered, __ATOMIC_RELAXED), interrupted,
	       caught());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	struct epoll_event e = {EPOLLIN, {.u32 = UINT32_MAX}};
	module = argc > 2 ? argv[2] : "";
	set = must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(set, EPOLL_CTL_ADD, 0, &e));
	for (int i = argc > 1 ? atoi(argv[1]) : 3; i > 0; i--)
		add();
	must(pthread_create(&thread, NULL, client, NULL));
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct epoll_event got[8];
		int many = epoll_wait(set, got, 8, -1);
		interrupted += many < 0 && errno == EINTR;
		for (int i = 0; i < many; i++) {
			char is;
			if (got[i].data.u32 != UINT32_MAX)
				swapcontext(&loop, &servers[got[i].data.u32]->context);
			else if (read(0, &is, 1) == 1 && is != '\n')
				command(is);
		}
	}
}
