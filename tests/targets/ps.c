// SPDX-License-Identifier: MIT
//
// ps.c - programs whose coroutines are known one by one, for a look from outside.
//   ps mix     three readers of tcp (the descriptor of one is closed), one of a
//              pipe, one that is parked four calls deep, four that never ran, two
//              that ended, and one that runs on a thread of its own
//   ps many N  N that are parked, with eight different stacks
//   ps spin    two threads that switch as fast as they can between coroutines
//              with two shapes of stack, beside five that are parked
//   ps exec    parks two, and becomes `ps mix`
//   ps copy    three that share one stack by copying
//   ps ready   three are waited for and have all been written to: one of them runs, two wait for their turn
//   ps pool    six workers of a library's kind: three have ended what they were given, two wait in it, one is new
//   ps tree N  one makes N that make one each; two wait for what the other one writes; one was suspended with
//              a lock for which another one sleeps on a thread of its own
//   ps one     parks one
// Prints "ready" once all is as it stays.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define NOINLINE __attribute__((noinline))
#define STAY __asm__ volatile("" ::: "memory") // behind a call: it is no tail call then
enum { STACK = 16384 };

struct co {
	ucontext_t own, *home;
	int number;
};
static int ep;

static NOINLINE struct co *made(void (*fn)(struct co *), ucontext_t *home, char *stack, size_t bytes, int number)
{
	struct co *c = must_alloc(sizeof(*c));
	c->home = home;
	c->number = number;
	must(getcontext(&c->own));
	c->own.uc_stack.ss_sp = stack;
	c->own.uc_stack.ss_size = bytes;
	c->own.uc_link = home;
	makecontext(&c->own, (void (*)(void))fn, 1, c); // the pointer goes whole into a register
	return c;
}

static struct co *fresh(void (*fn)(struct co *), ucontext_t *home, int number)
{
	return made(fn, home, must_map(STACK), STACK, number);
}

static void begin(struct co *c)
{
	must(swapcontext(c->home, &c->own));
}

static NOINLINE void park(struct co *c)
{
	must(swapcontext(&c->own, c->home));
	STAY;
}

// ---- those that wait

static NOINLINE void wait_for(struct co *c, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
	char byte;
	while (read(fd, &byte, 1) < 0) {
		must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
		park(c);
		must(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL));
	}
	STAY;
}

static NOINLINE void read_request(struct co *c)
{
	wait_for(c, c->number);
	STAY;
}

static void reader_main(struct co *c)
{
	read_request(c);
	STAY;
}

static void pipe_main(struct co *c)
{
	wait_for(c, c->number);
	STAY;
}

static NOINLINE void descend(struct co *c, int depth)
{
	if (depth == 0)
		park(c);
	else
		descend(c, depth - 1);
	STAY;
}

static void sleeper_main(struct co *c)
{
	descend(c, c->number);
	STAY;
}

static void short_main(struct co *c)
{
	(void)c;
}

static void fresh_main(struct co *c)
{
	abort();
	park(c);
}

static void busy_main(struct co *c)
{
	(void)c;
	say("ready");
	for (;;)
		usleep(1000);
}

static void *busy_thread(void *arg)
{
	ucontext_t home;
	(void)arg;
	begin(fresh(busy_main, &home, 0));
	return NULL;
}

static void mix(void)
{
	static ucontext_t home;
	pthread_t thread;
	int fds[2], last = -1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		pair("tcp", fds);
		begin(fresh(reader_main, &home, last = fds[0]));
	}
	must(close(last));
	pair("pipe", fds);
	begin(fresh(pipe_main, &home, fds[0]));
	begin(fresh(sleeper_main, &home, 4));
	for (int i = 0; i < 4; i++)
		fresh(fresh_main, &home, i);
	for (int i = 0; i < 2; i++)
		begin(fresh(short_main, &home, i));
	must(-pthread_create(&thread, NULL, busy_thread, NULL));
	for (;;)
		pause();
}

// ---- taken, and not resumed yet

static void served_main(struct co *c)
{
	wait_for(c, c->number);
	say("ready");
	for (;;)
		pause();
}

static void ready(void)
{
	static ucontext_t home;
	struct epoll_event events[3];
	int fds[2], feeds[3];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		pair("pipe", fds);
		feeds[i] = fds[1];
		begin(fresh(served_main, &home, fds[0]));
	}
	for (int i = 0; i < 3; i++)
		must(write(feeds[i], "x", 1));
	must(epoll_wait(ep, events, 3, -1) == 3 ? 0 : -1);
	begin(events[0].data.ptr);
}

// ---- kept for what comes next

static NOINLINE void job_reads(struct co *c)
{
	wait_for(c, c->number);
	STAY;
}

static NOINLINE void job_parks(struct co *c)
{
	descend(c, 1);
	STAY;
}

static void (*jobs[8])(struct co *);
static int job_fds[8];

static void worker_main(struct co *c)
{
	for (int at = c->number;;) {
		c->number = job_fds[at];
		jobs[at](c);
		park(c);
	}
}

static void pool(void)
{
	static ucontext_t home;
	struct co *all[6];
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 6; i++) {
		pair("pipe", fds);
		must(i < 3 ? write(fds[1], "xy", 2) : 2); // those need not wait
		job_fds[i] = fds[0];
		jobs[i] = i % 2 ? job_parks : job_reads;
		all[i] = fresh(worker_main, &home, i);
	}
	for (int i = 0; i < 5; i++)
		begin(all[i]);
	begin(all[1]); // goes on in its job, and ends it
	begin(all[0]); // gets another one
	say("ready");
	for (;;)
		pause();
}

// ---- who made whom, and who waits for whom

static void leaf_main(struct co *c)
{
	park(c);
}

static void branch_main(struct co *c)
{
	begin(fresh(leaf_main, &c->own, 0)); // its home: where this one goes on
	park(c);
}

static void trunk_main(struct co *c)
{
	for (int i = 0; i < c->number; i++)
		begin(fresh(branch_main, &c->own, 0));
	park(c);
}

static int asked[2][2];

// Writes into the one pipe, and reads from the other, twice, though it is written to only once.
static void asks_main(struct co *c)
{
	must(write(asked[c->number][1], "?", 1));
	wait_for(c, asked[!c->number][0]);
	wait_for(c, asked[!c->number][0]);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void holds_main(struct co *c)
{
	must(-pthread_mutex_lock(&lock));
	park(c);
}

static void wants_main(struct co *c)
{
	(void)c;
	say("ready");
	must(-pthread_mutex_lock(&lock));
}

static void *wants_thread(void *arg)
{
	ucontext_t home;
	(void)arg;
	begin(fresh(wants_main, &home, 0));
	return NULL;
}

static void tree(int n)
{
	static ucontext_t home;
	struct co *both[2];
	pthread_t thread;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	begin(fresh(trunk_main, &home, n));
	for (int i = 0; i < 2; i++)
		pair("pipe", asked[i]);
	for (int i = 0; i < 2; i++)
		begin(both[i] = fresh(asks_main, &home, i));
	begin(both[0]);
	begin(fresh(holds_main, &home, 0));
	must(-pthread_create(&thread, NULL, wants_thread, NULL));
	for (;;)
		pause();
}

// ---- a great many

static void many(int n)
{
	static ucontext_t home;
	char *stacks = must_map((size_t)n * 8192);
	for (int i = 0; i < n; i++)
		begin(made(sleeper_main, &home, stacks + (size_t)i * 8192, 8192, i % 8));
	say("ready");
	for (;;)
		pause();
}

// ---- copied in and out of one stack

static char *shared;
static struct copy {
	char *saved;
	size_t bytes;
} copies[3];

static NOINLINE void copied_park(struct co *c)
{
	char *from = (char *)__builtin_frame_address(0) - 512; // what lies deeper is not copied
	struct copy *to = &copies[c->number];
	to->bytes = (size_t)(shared + STACK - from);
	to->saved = must_alloc(to->bytes);
	memcpy(to->saved, from, to->bytes);
	swapcontext(&c->own, c->home);
	STAY;
}

#define COPIED(x) static NOINLINE void copied_##x(struct co *c) { for (;;) copied_park(c); }
COPIED(a)
COPIED(b)
COPIED(c)

static void copied_main(struct co *c)
{
	void (*const all[])(struct co *) = {copied_a, copied_b, copied_c};
	all[c->number](c);
	STAY;
}

static void copy(void)
{
	static ucontext_t home;
	struct co *all[3];
	shared = must_map(STACK);
	for (int i = 0; i < 3; i++)
		begin(all[i] = made(copied_main, &home, shared, STACK, i));
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 3; i++) {
			memcpy(shared + STACK - copies[i].bytes, copies[i].saved, copies[i].bytes);
			begin(all[i]);
		}
	say("ready");
	pause();
}

// ---- as fast as they can

static NOINLINE void hop(struct co *c)
{
	must(swapcontext(&c->own, c->home));
	STAY;
}

static NOINLINE void left_inner(struct co *c, int n)
{
	while (n-- > 0)
		hop(c);
	STAY;
}

static NOINLINE void left(struct co *c)
{
	left_inner(c, 3);
	STAY;
}

static NOINLINE void right(struct co *c)
{
	char room[600];
	memset(room, c->number, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	hop(c);
	STAY;
}

static void spin_main(struct co *c)
{
	for (;;) {
		left(c);
		right(c);
	}
}

static void *spin(void *arg)
{
	ucontext_t home;
	static int spinning;
	struct co *all[4];
	(void)arg;
	for (int i = 0; i < 4; i++)
		all[i] = fresh(spin_main, &home, i);
	for (unsigned i = 0;; i++) {
		begin(all[i % 4]);
		if (i == 100 && __atomic_add_fetch(&spinning, 1, __ATOMIC_ACQ_REL) == 2)
			say("spins"); // both do
	}
	return NULL;
}

static void spinners(void)
{
	static ucontext_t home;
	pthread_t threads[2];
	for (int i = 0; i < 5; i++)
		begin(fresh(sleeper_main, &home, 2));
	for (int i = 0; i < 2; i++)
		must(-pthread_create(&threads[i], NULL, spin, NULL));
	say("ready");
	for (;;)
		pause();
}

static void park_some(int n)
{
	static ucontext_t home;
	for (int i = 0; i < n; i++)
		begin(fresh(sleeper_main, &home, 1));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "mix")) {
		mix();
	} else if (!strcmp(what, "ready")) {
		ready();
	} else if (!strcmp(what, "pool")) {
		pool();
	} else if (!strcmp(what, "tree") && argc > 2) {
		tree(atoi(argv[2]));
	} else if (!strcmp(what, "many") && argc > 2) {
		many(atoi(argv[2]));
	} else if (!strcmp(what, "copy")) {
		copy();
	} else if (!strcmp(what, "spin")) {
		spinners();
	} else if (!strcmp(what, "exec")) {
		park_some(2);
		must(execl("/proc/self/exe", "ps", "mix", NULL));
	} else if (!strcmp(what, "one")) {
		park_some(1);
		say("ready");
		pause();
	}
	fprintf(stderr, "ps: what?\n");
	return 2;
}
