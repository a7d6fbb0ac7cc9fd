// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
//
// The kernel leads to the readers of open connections. One that is evicted gets a ticket, its
// address combined with a secret, by which it is found when the client comes back. The other's
// address lies in a record of the heap, and the record is known by its ticket alone.
#include "lost.h"

#define READERS 6

struct record {
	long number;
	char name[32];
	void *of;
};

static volatile uint64_t secret, ticket, record_ticket;

static NOINLINE void keep(struct co *co)
{
	ticket = (uint64_t)(uintptr_t)co ^ secret;
}

static NOINLINE void keep_in_record(struct co *co)
{
	struct record *r = must_alloc(sizeof(*r));
	r->of = co;
	record_ticket = (uint64_t)(uintptr_t)r ^ secret;
}

static void evicted(void *arg)
{
	char buf[64];
	if (ticket)
		keep_in_record(co_self());
	else
		keep(co_self());
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
}

static NOINLINE void evict(void)
{
	int fds[2];
	pair("unix", fds);
	co_start(evicted, (void *)(intptr_t)fds[0]);
	must(write(fds[1], "data", 4));
	co_turn(ep, -1);
	close(fds[0]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	secret = random_word();
	for (int i = 0; i < READERS; i++)
		open_reader("unix");
	evict();
	evict();
	serve_on();
}
