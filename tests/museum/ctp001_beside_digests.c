// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 6 coroutines
// end: kill
//
// A cache of blocks that is known by their digests: 512 KB of bits that are as good as
// random. Nothing in it has to do with the readers whose descriptors are closed.
#include "lost.h"

#define READERS 6
#define DIGESTS (1 << 14)

struct digest {
	uint64_t words[4];
};

static struct digest *cache;
static int sockets[READERS];

static NOINLINE void fill_cache(void)
{
	cache = must_alloc(DIGESTS * sizeof(*cache));
	for (size_t i = 0; i < DIGESTS; i++)
		for (int k = 0; k < 4; k++)
			cache[i].words[k] = random_word();
}

static NOINLINE void reset(void)
{
	for (int i = 0; i < READERS; i++)
		close(sockets[i]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	fill_cache();
	for (int i = 0; i < READERS; i++)
		sockets[i] = open_reader(i % 2 ? "tcp" : "unix");
	reset();
	serve_on();
}
