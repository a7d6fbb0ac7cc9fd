// SPDX-License-Identifier: MIT
// expect: CTP005 likely..proven, 1 coroutine
//
// After pjsip/pjproject pull request 3018: two workers poll an I/O queue whose
// keys are one-shot. A packet comes while no receive is pending on its key:
// there is no event to process, the worker goes on, and does not arm the key
// again. A receive that is started later waits for events that can no longer
// come, though packets keep arriving.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct key {
	int fd;
	struct co *pending; // a receive
	pthread_mutex_t lock;
} sip = {.lock = PTHREAD_MUTEX_INITIALIZER}, start = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int ioqueue, polled[2];

static void arm(struct key *key, int op)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = key};
	must(epoll_ctl(ioqueue, op, key->fd, &ev));
}

static NOINLINE ssize_t ioqueue_recv(struct key *key, void *buf, size_t n)
{
	for (;;) {
		ssize_t r = read(key->fd, buf, n);
		if (!co_blocked(r))
			return r;
		key->pending = co_self(); // it is armed since it was registered, as far as one knows
		co_yield();
	}
}

static void transport(void *arg)
{
	char packet[1500];
	uint64_t n;
	(void)arg;
	must(ioqueue_recv(&start, &n, sizeof(n)));
	must(ioqueue_recv(&sip, packet, sizeof(packet)));
	must(ioqueue_recv(&sip, packet, sizeof(packet)));
}

// Under the key's lock: the receive that is pending, if any.
static NOINLINE struct co *take_pending(struct key *key)
{
	pthread_mutex_lock(&key->lock);
	struct co *c = key->pending;
	key->pending = NULL;
	pthread_mutex_unlock(&key->lock);
	return c;
}

static NOINLINE void dispatch(struct key *key)
{
	struct co *c = take_pending(key);
	if (c)
		co_resume(c);
	must(write(polled[1], "", 1));
}

static void *worker(void *arg)
{
	struct epoll_event ev;
	(void)arg;
	for (;;)
		if (epoll_wait(ioqueue, &ev, 1, -1) == 1)
			dispatch(ev.data.ptr);
	return NULL;
}

static void wait_until_polled(void)
{
	char byte;
	must(read(polled[0], &byte, 1));
}

int main(void)
{
	int fds[2];
	uint64_t one = 1;
	pthread_t t;
	ioqueue = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(polled));
	pair("udp", fds);
	sip.fd = fds[0];
	start.fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	arm(&sip, EPOLL_CTL_ADD);
	arm(&start, EPOLL_CTL_ADD);
	co_start(transport, NULL);
	t = co_thread(worker, NULL);
	co_thread(worker, NULL);
	must(write(fds[1], "OPTIONS", 7)); // nobody receives yet
	wait_until_polled();
	must(write(start.fd, &one, sizeof(one)));
	wait_until_polled();
	must(write(fds[1], "INVITE", 6));
	say("ready");
	pthread_join(t, NULL);
}
