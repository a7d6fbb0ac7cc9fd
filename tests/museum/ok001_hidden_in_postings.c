// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 3 coroutines
// order: SIGUSR1
//
// A list of postings: addresses in units of eight bytes from a base, each as its distance from the one before, in
// bytes of seven bits.
#include "evicted.h"

enum { EVICTED = 3, UNIT = 8, BASE = 0x10000 };
static unsigned char postings[16 * EVICTED];
static uintptr_t sorted[EVICTED];
static int order[EVICTED];

static NOINLINE void encode(void)
{
	unsigned n = 0;
	uint64_t last = BASE;
	for (int i = 0; i < EVICTED; i++) {
		uint64_t v = (sorted[i] - last) / UNIT;
		last = sorted[i];
		for (; v > 127; v >>= 7)
			postings[n++] = (unsigned char)(v | 128);
		postings[n++] = (unsigned char)v;
	}
	memset(sorted, 0, sizeof(sorted));
}

static NOINLINE void keep(int i, struct co *c)
{
	int k = i;
	for (; k > 0 && sorted[k - 1] > (uintptr_t)c; k--) {
		sorted[k] = sorted[k - 1];
		order[k] = order[k - 1];
	}
	sorted[k] = (uintptr_t)c;
	order[k] = i;
	if (i == EVICTED - 1)
		encode();
}

static NOINLINE struct co *find(int i)
{
	uint64_t address = BASE;
	unsigned at = 0;
	for (int k = 0; k < EVICTED; k++) {
		uint64_t v = 0;
		unsigned shift = 0;
		do {
			v |= (uint64_t)(postings[at] & 127) << shift;
			shift += 7;
		} while (postings[at++] & 128);
		address += v * UNIT;
		if (order[k] == i)
			break;
	}
	return (struct co *)(uintptr_t)address;
}

int main(void)
{
	return evict_and_serve(6, EVICTED);
}
