// SPDX-License-Identifier: MIT
//
// overload.c - overload FILE: two threads with a loop and 50 waiters each, which switch as fast as they can
// between two looks at their sets. FILE is to hold how often each thread has switched so, as it goes on.
// Letters on stdin: f gives each waiter a byte ("fed N" when all have read the Nth and wait again), c closes what one more waits for and
// forgets it ("closed"), s ends the rush: each loop sleeps, then "thread TID rushed N" twice, "switches N", "ready".
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { THREADS = 2, WAITERS = 50, ROUNDS = 2000, STACK = 64 << 10 };

static struct loop {
	int ep, tid, read[WAITERS], feed[WAITERS];
	ucontext_t home, rusher;
} loops[THREADS];

static volatile uint64_t *counts; // in FILE
static int victim, stop, stopped, fed;
static __thread int read_now; // bytes by this thread's waiters that are not in `fed` yet

static void waiter(void *arg)
{
	int i = (int)(intptr_t)arg;
	struct loop *l = &loops[i / WAITERS];
	char byte;
	while (co_read(l->ep, l->read[i % WAITERS], &byte, 1) == 1)
		read_now++;
}

// Said by the last thread, whose waiters all wait again: one that was given the next byte before would read it without a wait.
static NOINLINE void say_fed(void)
{
	char line[16];
	int n = __atomic_add_fetch(&fed, read_now, __ATOMIC_SEQ_CST);
	snprintf(line, sizeof(line), "fed %d", n / (THREADS * WAITERS));
	if (n % (THREADS * WAITERS) == 0)
		say(line);
	read_now = 0;
}

static void forgotten(void *arg)
{
	char byte;
	(void)arg;
	co_read(loops[0].ep, victim, &byte, 1);
}

static void rusher(unsigned t)
{
	for (;;)
		must(swapcontext(&loops[t].rusher, &loops[t].home));
}

static NOINLINE void rush(unsigned t)
{
	for (int i = 0; i < ROUNDS; i++) {
		must(swapcontext(&loops[t].home, &loops[t].rusher));
		counts[t] += 2;
	}
}

static void command(char c)
{
	if (c == 's')
		__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; c == 'f' && i < THREADS * WAITERS; i++)
		must(write(loops[i / WAITERS].feed[i % WAITERS], "x", 1));
	if (c == 'c') {
		must(close(victim));
		say("closed");
	}
}

static NOINLINE void say_end(void)
{
	char line[64];
	for (unsigned t = 0; t < THREADS; t++) {
		snprintf(line, sizeof(line), "thread %d rushed %lu", loops[t].tid, (unsigned long)counts[t]);
		say(line);
	}
	snprintf(line, sizeof(line), "switches %lu", co_switches + (unsigned long)(counts[0] + counts[1]));
	say(line);
	say("ready");
}

static NOINLINE void begin(unsigned t)
{
	struct loop *l = &loops[t];
	l->ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0, fds[2]; i < WAITERS; i++) {
		pair("unix", fds);
		l->read[i] = fds[0];
		l->feed[i] = fds[1];
		co_start(waiter, (void *)(intptr_t)((int)t * WAITERS + i));
	}
	must(getcontext(&l->rusher));
	l->rusher.uc_stack.ss_sp = must_map(STACK);
	l->rusher.uc_stack.ss_size = STACK;
	makecontext(&l->rusher, (void (*)(void))rusher, 1, t);
}

static void *work(void *arg)
{
	unsigned t = (unsigned)(uintptr_t)arg;
	loops[t].tid = gettid();
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		co_turn(loops[t].ep, 0);
		if (read_now)
			say_fed();
		rush(t);
	}
	if (__atomic_add_fetch(&stopped, 1, __ATOMIC_SEQ_CST) == THREADS)
		say_end();
	co_loop(loops[t].ep);
}

int main(int argc, char **argv)
{
	char c;
	must(argc == 2 ? 0 : -1);
	int fd = (int)must(open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)), fds[2];
	must(ftruncate(fd, 4096));
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(counts == MAP_FAILED ? -1 : close(fd));
	for (unsigned t = 0; t < THREADS; t++)
		begin(t);
	pair("unix", fds);
	victim = fds[0];
	co_start(forgotten, NULL);
	for (unsigned t = 0; t < THREADS; t++)
		co_thread(work, (void *)(uintptr_t)t);
	say("begun");
	while (must(read(0, &c, 1)) == 1)
		command(c);
	for (;;)
		pause();
}
