// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// order: SIGUSR1
//
// Packets that were sent are kept until they are acknowledged: four bytes of header, and
// then, as the protocol has it, the cookie in network order. It is at a multiple of
// four only.
#include <endian.h>

#include "ordered.h"

#define CALLS 2

struct packet {
	uint8_t version, kind;
	uint16_t length;
	uint32_t cookie[2]; // big-endian, the upper half first
	char text[20];
};

static struct packet *sent[CALLS];
static int ep, sockets[CALLS];

static NOINLINE void put_cookie(struct packet *p, const struct co *c)
{
	uint64_t order = htobe64((uintptr_t)c);
	memcpy(p->cookie, &order, sizeof(order));
}

static NOINLINE struct co *cookie_of(const struct packet *p)
{
	uint64_t order;
	memcpy(&order, p->cookie, sizeof(order));
	return (struct co *)(uintptr_t)be64toh(order);
}

static void call(void *arg)
{
	char buf[64];
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void ask(int i)
{
	struct packet *p = must_alloc(sizeof(*p));
	int fds[2];
	pair("udp", fds);
	sockets[i] = fds[0];
	*p = (struct packet){.version = 2, .kind = 1, .length = htobe16(sizeof(*p))};
	struct co *c = co_new(call, (void *)(intptr_t)fds[0]);
	put_cookie(p, c);
	sent[i] = p;
	co_resume(c);
	must(write(fds[1], "wait", 4));
	co_turn(ep, -1);
}

static NOINLINE void close_sockets(void)
{
	for (int i = 0; i < CALLS; i++)
		close(sockets[i]); // fault
}

static NOINLINE void fail(int i)
{
	co_resume(cookie_of(sent[i]));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < CALLS; i++)
		ask(i);
	close_sockets();
	serve_until_ordered(ep);
	for (int i = 0; i < CALLS; i++)
		fail(i);
	return all_resumed(CALLS);
}
