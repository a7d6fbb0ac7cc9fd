// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 3 coroutines
// end: kill
//
// The program does keep handles of 32 bits and complements: of its buffers. Of its readers it
// keeps nothing; the kernel leads to those that live.
#include "lost.h"

#define READERS 8
#define CLOSED 3
#define BUFFERS 4000

struct buffer {
	char bytes[240];
};

static uint32_t handles[BUFFERS]; // address >> 4, its lower 32 bits
static uintptr_t weak[BUFFERS];
static int sockets[READERS];

static NOINLINE void make_buffers(void)
{
	for (int i = 0; i < BUFFERS; i++) {
		struct buffer *b = must_alloc(sizeof(*b));
		handles[i] = (uint32_t)((uintptr_t)b >> 4);
		weak[i] = ~(uintptr_t)b;
	}
}

static NOINLINE void reset(void)
{
	for (int i = 0; i < CLOSED; i++)
		close(sockets[i]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_kind = CO_HEAP;
	make_buffers();
	for (int i = 0; i < READERS; i++)
		sockets[i] = open_reader("unix");
	reset();
	serve_on();
}
