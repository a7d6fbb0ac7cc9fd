// SPDX-License-Identifier: MIT
//
// wakes.c - loops in the manner of GLib's: poll over a set that has an eventfd of the loop's own in it, which is
// written whenever a source is added. What becomes of one coroutine that reads a pipe:
//   self     it reads in vain, adds its source, by which it writes the eventfd that its own loop reads, and suspends
//   other    it reads in vain, and hands a job to another thread, by the eventfd which that one reads; it
//            suspends for the answer, which never comes
//   learned  it reads only after the loop has resumed it, so that no read is in vain
// Prints "ready" when its state is final.
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int data[2], wakeup, reads;
static const char *way;
static struct co *waiter;
static sem_t read_once;

static bool is(const char *word)
{
	return !strcmp(way, word);
}

static NOINLINE void add_source(void)
{
	waiter = co_self();
	must(eventfd_write(wakeup, 1));
}

static NOINLINE void wait_readable(void)
{
	add_source();
	co_yield();
}

static void reader(void *arg)
{
	char byte;
	(void)arg;
	for (;; reads++) {
		if (is("learned"))
			wait_readable();
		while (co_blocked(read(data[0], &byte, 1)))
			wait_readable();
	}
}

static void *worker(void *arg)
{
	eventfd_t value;
	(void)arg;
	must(eventfd_read(wakeup, &value));
	must(sem_post(&read_once));
	must(eventfd_read(wakeup, &value)); // the job
	say("ready");
	return NULL;
}

static void turn(int timeout)
{
	eventfd_t value;
	struct pollfd set[] = {{.fd = is("other") ? -1 : wakeup, .events = POLLIN}, {.fd = data[0], .events = POLLIN}};
	if (must(poll(set, waiter ? 2 : 1, timeout)) == 0)
		return;
	if (set[0].revents)
		must(eventfd_read(wakeup, &value));
	if (waiter && set[1].revents) {
		struct co *c = waiter;
		waiter = NULL;
		co_resume(c);
	}
}

int main(int argc, char **argv)
{
	way = argc > 1 ? argv[1] : "self";
	pair("pipe", data);
	wakeup = (int)must(eventfd(0, is("other") ? EFD_CLOEXEC : EFD_CLOEXEC | EFD_NONBLOCK));
	must(eventfd_write(wakeup, 1)); // as who makes such a loop tries it
	if (is("other")) {
		co_thread(worker, NULL);
		must(sem_wait(&read_once));
		co_start(reader, NULL);
	} else {
		turn(-1);
		co_start(reader, NULL);
		turn(-1);
		must(write(data[1], "x", 1));
		while (!reads || !waiter)
			turn(-1);
		turn(-1); // what it wrote when it added its source again
		say("ready");
	}
	for (;;)
		turn(-1);
}
