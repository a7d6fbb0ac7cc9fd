// SPDX-License-Identifier: MIT
//
// The upper halves of all pointers to a heap are one number, and few words but pointers have it: where one
// stands alone, lower ones are looked for around it. In the order of a network it is in nothing else.
#include "search/whole/columns.h"

#include <stdbool.h>
#include <string.h>

#include "search/mark/scan.h"

enum { HALF = 4, WORD = 8, REACH = 1 << 16, ADDRESS = 47, UPPERS_MOST = 8 };

struct uppers {
	const struct columns *c;
	const unsigned char *bytes;
	size_t n;
	uint64_t at;
	uint32_t v[UPPERS_MOST];
	size_t done[UPPERS_MOST][2]; // so far lower ones were looked for
	unsigned count;
};

static uint32_t half_at(const struct uppers *u, size_t i, bool swapped)
{
	uint32_t half;
	memcpy(&half, u->bytes + i, sizeof(half));
	return swapped ? __builtin_bswap32(half) : half;
}

// Is it half of a pointer as such?
static bool in_pointer(const struct uppers *u, size_t i)
{
	uint64_t word;
	size_t lo = i - (u->at + i) % WORD;
	if (lo > i || lo + sizeof(word) > u->n)
		return true;
	memcpy(&word, u->bytes + lo, sizeof(word));
	return word >> 32 && word >> ADDRESS == 0 &&
	       (memory_map(u->c->memory, word) || memory_map(u->c->memory, word - 1));
}

static void look_around(struct uppers *u, size_t i, unsigned k, bool swapped)
{
	const struct columns *c = u->c;
	size_t from = i < REACH ? i % HALF : i - REACH, to = u->n - i < REACH ? u->n : i + REACH;
	if (from < u->done[k][swapped])
		from = u->done[k][swapped];
	for (; from + HALF <= to; from += HALF) {
		uint64_t address = (uint64_t)u->v[k] << 32 | half_at(u, from, swapped);
		if (address % WORD == 0 && scan_find(c->targets, c->ntargets, address) < c->ntargets &&
		    !in_pointer(u, from))
			c->hit(c->ctx, u->at + from, address);
	}
	u->done[k][swapped] = from;
}

static void take_uppers(struct uppers *u, const struct columns *c)
{
	for (size_t i = 0; i < c->ntargets && u->count < UPPERS_MOST; i++) {
		uint32_t upper = (uint32_t)(c->targets[i].lo >> 32);
		if (upper && (!u->count || u->v[u->count - 1] != upper))
			u->v[u->count++] = upper;
	}
}

void columns_find(const struct columns *c, const unsigned char *b, size_t n, uint64_t at)
{
	struct uppers u = {.c = c, .bytes = b, .n = n, .at = at};
	take_uppers(&u, c);
	for (size_t i = -at & (HALF - 1); u.count && i + HALF <= n; i += HALF) {
		uint32_t half = half_at(&u, i, false);
		if (!half)
			continue;
		for (unsigned k = 0; k < u.count; k++)
			for (unsigned swapped = 0; swapped < 2; swapped++)
				if ((swapped ? __builtin_bswap32(u.v[k]) : u.v[k]) == half &&
				    !in_pointer(&u, i))
					look_around(&u, i, k, swapped);
	}
}
