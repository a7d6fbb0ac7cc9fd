// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGUSR1
//
// A server whose state once went over the wire in 32-bit fields: a record still
// has the upper half of its owner first, flags, and then the lower half. The
// records lie in a ring; the owner is put together when it is needed.
#include "ordered.h"

#define RECORDS 16
#define USED 4

struct record {
	uint32_t owner_high;
	uint16_t kind, flags;
	uint32_t sequence;
	uint32_t owner_low;
	int32_t fd;
	uint32_t checksum;
};

static struct record ring[RECORDS];
static unsigned head, tail;
static int ep;

static void owner(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static uint32_t checksum(const struct record *r)
{
	return r->owner_high ^ r->owner_low ^ r->sequence ^ (uint32_t)r->fd;
}

static NOINLINE struct co *owner_of(const struct record *r)
{
	return (struct co *)((uintptr_t)r->owner_high << 32 | r->owner_low);
}

static NOINLINE void put(int fd, struct co *c)
{
	struct record *r = &ring[tail % RECORDS];
	*r = (struct record){.kind = 7, .sequence = tail++, .fd = fd};
	r->owner_high = (uint32_t)((uintptr_t)c >> 32);
	r->owner_low = (uint32_t)(uintptr_t)c;
	r->checksum = checksum(r);
}

static NOINLINE void subscribe(void)
{
	int fds[2];
	pair("unix", fds);
	struct co *c = co_new(owner, (void *)(intptr_t)fds[0]);
	put(fds[0], c);
	co_resume(c);
	must(write(fds[1], "news", 4));
	co_turn(ep, -1);
}

static NOINLINE void drop_subscribers(void)
{
	for (unsigned i = head; i != tail; i++)
		close(ring[i % RECORDS].fd); // fault
}

static NOINLINE void take_next(void)
{
	const struct record *r = &ring[head++ % RECORDS];
	must(r->checksum == checksum(r) ? 0 : -1);
	co_resume(owner_of(r));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	head = tail = 13; // it goes round its end
	for (int i = 0; i < USED; i++)
		subscribe();
	drop_subscribers();
	serve_until_ordered(ep);
	while (head != tail)
		take_next();
	return all_resumed(USED);
}
