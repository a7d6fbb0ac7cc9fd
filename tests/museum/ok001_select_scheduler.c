// SPDX-License-Identifier: MIT
// expect: clean
//
// Threads of the portable kind: the scheduler is a coroutine itself and waits by
// select; a thread first asks select, without waiting, whether it may read, and
// leaves its descriptor with the scheduler if not. Nobody registers anything,
// nobody sees EAGAIN; one thread ends with its descriptor, another's is idle.
#include <sys/select.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

enum { THREADS = 3 };

static struct thread {
	ucontext_t context;
	int fd, waits_for;
} threads[THREADS];
static ucontext_t scheduler, initial;
static char stacks[THREADS + 1][64 << 10];
static int feeds[THREADS][2], current;

static void thread_read(int fd, char *byte)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(fd, &set);
	while (select(fd + 1, &set, NULL, NULL, &(struct timeval){0}) < 1) {
		struct thread *me = &threads[current];
		me->waits_for = fd;
		swapcontext(&me->context, &scheduler);
		FD_SET(fd, &set);
	}
	must(read(fd, byte, 1));
}

static void worker(void)
{
	char byte = 0;
	while (byte != 'q')
		thread_read(threads[current].fd, &byte);
	close(threads[current].fd);
	threads[current].waits_for = -1;
	setcontext(&scheduler);
}

static void schedule(void)
{
	for (current = 0; current < THREADS; current++)
		swapcontext(&scheduler, &threads[current].context);
	must(write(feeds[0][1], "a", 1));
	must(write(feeds[1][1], "q", 1));
	for (int turns = 0;; turns++) {
		fd_set in;
		FD_ZERO(&in);
		for (int i = 0; i < THREADS; i++)
			if (threads[i].waits_for >= 0)
				FD_SET(threads[i].waits_for, &in);
		if (turns == 2)
			say("ready");
		must(select(FD_SETSIZE, &in, NULL, NULL, NULL));
		for (current = 0; current < THREADS; current++)
			if (threads[current].waits_for >= 0 && FD_ISSET(threads[current].waits_for, &in)) {
				swapcontext(&scheduler, &threads[current].context);
				break;
			}
	}
}

static void spawn(ucontext_t *context, char *stack, void (*fn)(void))
{
	must(getcontext(context));
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = sizeof(stacks[0]);
	makecontext(context, fn, 0);
}

int main(void)
{
	for (int i = 0; i < THREADS; i++) {
		pair("unix", feeds[i]);
		threads[i].fd = feeds[i][0];
		spawn(&threads[i].context, stacks[i], worker);
	}
	spawn(&scheduler, stacks[THREADS], schedule);
	swapcontext(&initial, &scheduler);
	return 0;
}
