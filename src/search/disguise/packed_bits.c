// SPDX-License-Identifier: MIT
//
// A field may go on in the next word, as in an array of packed numbers. What is a plain address at some byte,
// whatever lies beside its 48 bits, has been judged by others.
#include "search/disguise/packed_bits.h"

#include <stdbool.h>
#include <string.h>

#include "base/search.h"

enum { WORD = 8, BITS = 64, BYTE = 8, LOW = 4, ADDRESS = 47, MIDDLE = 20, MIDDLE_BITS = 18 };
#define FIELD ((1ULL << (ADDRESS - LOW)) - 1)
#define FOUR_GIB (1ULL << 32)

static uint64_t middle_of(uint64_t address)
{
	return address >> MIDDLE & ((1u << MIDDLE_BITS) - 1);
}

void packed_bits_ready(struct packed_bits *p)
{
	for (size_t i = 0; i < p->nbegins; i++)
		if (p->begins[i] >= FOUR_GIB && p->begins[i] % (1 << LOW) == 0)
			p->middle[middle_of(p->begins[i]) >> 6] |= 1ULL << (middle_of(p->begins[i]) & 63);
}

static bool is_begin(const struct packed_bits *p, uint64_t address)
{
	size_t i = FIRST_NOT(p->nbegins, k, p->begins[k] < address);
	return address >= FOUR_GIB && i < p->nbegins && p->begins[i] == address;
}

void packed_bits_find(const struct packed_bits *p, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = -at & (WORD - 1); p->nbegins && i + WORD <= n; i += WORD) {
		uint64_t v[2];
		memcpy(v, b + i, sizeof(v));
		if (!v[0] && !v[1])
			continue;
		for (unsigned by = 0; by < BITS; by++) {
			uint64_t word = by ? v[0] >> by | v[1] << (BITS - by) : v[0];
			if (by % BYTE == LOW && !(word >> (ADDRESS - LOW) & 1))
				continue;
			uint64_t address = (word & FIELD) << LOW, middle = middle_of(address);
			if (p->middle[middle >> 6] >> (middle & 63) & 1 && is_begin(p, address))
				p->hit(p->ctx, at + i, address);
		}
	}
}
