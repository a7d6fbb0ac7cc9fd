// SPDX-License-Identifier: MIT
// expect: CTP008 likely..proven, 1 coroutine
//
// A poller hands what is ready to a worker through a mailbox with one slot, and
// does not look whether it is empty. Two eventfds fire while the worker is slow:
// the second coroutine overwrites the first, which nobody resumes.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct co *slot;
} mailbox = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};
static int ep, events[2], go[2], ran[2], polled[2];

static void counter(void *arg)
{
	int fd = *(int *)arg;
	uint64_t n;
	co_watch(ep, fd, EPOLLIN | EPOLLET, co_self());
	co_yield(); // fault
	must(read(fd, &n, sizeof(n)));
	must(write(ran[1], "", 1));
	for (;;)
		co_yield();
}

static NOINLINE struct co *take(void)
{
	pthread_mutex_lock(&mailbox.lock);
	while (!mailbox.slot)
		pthread_cond_wait(&mailbox.filled, &mailbox.lock);
	struct co *c = mailbox.slot;
	mailbox.slot = NULL;
	pthread_mutex_unlock(&mailbox.lock);
	return c;
}

static NOINLINE void poll_once(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	pthread_mutex_lock(&mailbox.lock);
	mailbox.slot = ev.data.ptr;
	pthread_cond_signal(&mailbox.filled);
	pthread_mutex_unlock(&mailbox.lock);
	must(write(polled[1], "", 1));
}

static NOINLINE void work(void)
{
	co_resume(take());
}

static void *worker(void *arg)
{
	char byte;
	(void)arg;
	must(read(go[0], &byte, 1)); // slow
	for (;;)
		work();
	return NULL;
}

static void *poller(void *arg)
{
	(void)arg;
	for (;;)
		poll_once();
	return NULL;
}

int main(void)
{
	uint64_t one = 1;
	char byte;
	pthread_t t;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(go));
	must(pipe(ran));
	must(pipe(polled));
	for (int i = 0; i < 2; i++) {
		events[i] = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
		co_start(counter, &events[i]);
	}
	t = co_thread(worker, NULL);
	co_thread(poller, NULL);
	for (int i = 0; i < 2; i++) {
		must(write(events[i], &one, sizeof(one)));
		must(read(polled[0], &byte, 1));
	}
	must(write(go[1], "", 1));
	must(read(ran[0], &byte, 1));
	say("ready");
	pthread_join(t, NULL);
}
