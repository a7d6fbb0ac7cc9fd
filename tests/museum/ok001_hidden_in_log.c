// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 3 coroutines
// order: SIGUSR1
//
// A log of addresses, each as its distance from the one before, in bytes of seven bits with the sign at the
// end (LEB128, zigzag). The first is that of the program's set.
#include "evicted.h"

enum { EVICTED = 3 };
static unsigned char entries[16 * EVICTED];
static unsigned length;
static uint64_t last;

static NOINLINE void append(uint64_t address)
{
	int64_t distance = (int64_t)(address - last);
	uint64_t v = (uint64_t)distance << 1 ^ (uint64_t)(distance >> 63);
	for (; v > 127; v >>= 7)
		entries[length++] = (unsigned char)(v | 128);
	entries[length++] = (unsigned char)v;
	last = address;
}

static void keep(int i, struct co *c)
{
	if (!i)
		append((uintptr_t)&ep);
	append((uintptr_t)c);
	if (i == EVICTED - 1)
		last = 0;
}

// The address after i + 1 more.
static struct co *find(int i)
{
	uint64_t address = 0;
	for (unsigned at = 0, n = 0; n < (unsigned)i + 2; n++) {
		uint64_t v = 0;
		unsigned shift = 0;
		do {
			v |= (uint64_t)(entries[at] & 127) << shift;
			shift += 7;
		} while (entries[at++] & 128);
		address += v >> 1 ^ -(v & 1);
	}
	return (struct co *)(uintptr_t)address;
}

int main(void)
{
	return evict_and_serve(5, EVICTED);
}
