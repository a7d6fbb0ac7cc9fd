// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// No handler at all: the signals are blocked and come through a signalfd in the
// set. USR1 is the operator's order to release the leases whose sockets are gone.
// What leads to a lease is a hash table by its number.
#include <sys/signalfd.h>

#include "ordered.h"

#define BUCKETS 8
#define LEASES 3

struct lease {
	struct lease *chain;
	unsigned number;
	int fd;
	struct co *holder;
};

static struct lease *buckets[BUCKETS];
static int ep;

static struct lease **bucket_of(unsigned number)
{
	return &buckets[number * 2654435761u >> 29];
}

static void holder(void *arg)
{
	struct lease *l = arg;
	char renewal[16];
	while (co_read(ep, l->fd, renewal, sizeof(renewal)) > 0)
		;
	ended++;
}

static NOINLINE void grant(unsigned number)
{
	struct lease *l = must_alloc(sizeof(*l)), **at = bucket_of(number);
	int fds[2];
	pair("unix", fds);
	l->number = number;
	l->fd = fds[0];
	l->chain = *at;
	*at = l;
	l->holder = co_new(holder, l);
	co_resume(l->holder);
}

static NOINLINE void expire(unsigned number)
{
	for (struct lease *l = *bucket_of(number); l; l = l->chain)
		if (l->number == number)
			close(l->fd); // fault
}

static NOINLINE void release_all(void)
{
	for (int i = 0; i < BUCKETS; i++)
		for (struct lease *l = buckets[i]; l; l = l->chain)
			co_resume(l->holder);
}

static void on_signal(struct co_handler *h, uint32_t events)
{
	struct signalfd_siginfo info;
	(void)events;
	if (read(h->fd, &info, sizeof(info)) != sizeof(info) || info.ssi_signo != SIGUSR1)
		return;
	release_all();
	ordered = 1;
}

int main(void)
{
	static struct co_handler signals = {.fn = on_signal};
	sigset_t set;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	must(sigprocmask(SIG_BLOCK, &set, NULL));
	signals.fd = (int)must(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
	co_handle(ep, &signals, EPOLLIN);
	for (unsigned i = 0; i < LEASES; i++)
		grant(100 + i * 7);
	for (unsigned i = 0; i < LEASES; i++)
		expire(100 + i * 7);
	serve_until_ordered(ep);
	return all_resumed(LEASES);
}
