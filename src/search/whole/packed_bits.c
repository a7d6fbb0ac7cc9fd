// SPDX-License-Identifier: MIT
//
// A field may go on in the next word, as in an array of packed numbers. What is a plain address at some byte,
// whatever lies beside its 48 bits, has been judged by others.
#include "search/whole/packed_bits.h"

#include <stdbool.h>
#include <string.h>

#include "base/search.h"

enum { WORD = 8, BITS = 64, BYTE = 8, LOW = 4, PAGE = 12, ADDRESS = 47, MIDDLE = 20, MIDDLE_BITS = 18 };
#define FIELD ((1ULL << (ADDRESS - LOW)) - 1)
#define PAGE_FIELD ((1ULL << (ADDRESS - PAGE)) - 1)
#define FOUR_GIB (1ULL << 32)

static uint64_t middle_of(uint64_t address)
{
	return address >> MIDDLE & ((1u << MIDDLE_BITS) - 1);
}

static void add_page(struct packed_bits *p, uint64_t page)
{
	if (page % (1 << PAGE) || page < FOUR_GIB || p->npages == PACKED_BITS_PAGES ||
	    (p->npages && p->pages[p->npages - 1] == page))
		return;
	p->pages[p->npages++] = page;
	p->middle[middle_of(page) >> 6] |= 1ULL << (middle_of(page) & 63);
}

void packed_bits_ready(struct packed_bits *p)
{
	for (size_t i = 0; i < p->ntargets; i++) {
		add_page(p, p->targets[i].lo);
		add_page(p, p->targets[i].hi);
	}
	for (size_t i = 0; i < p->nbegins; i++)
		if (p->begins[i] >= FOUR_GIB && p->begins[i] % (1 << LOW) == 0)
			p->middle[middle_of(p->begins[i]) >> 6] |= 1ULL << (middle_of(p->begins[i]) & 63);
}

// Lower bits may follow it, as of a pointer to anything in that page: so not where such pointers have it.
static bool is_page(const struct packed_bits *p, uint64_t address, unsigned by)
{
	size_t i = FIRST_NOT(p->npages, k, p->pages[k] < address);
	return by % BYTE != LOW && i < p->npages && p->pages[i] == address;
}

static bool is_begin(const struct packed_bits *p, uint64_t address)
{
	size_t i = FIRST_NOT(p->nbegins, k, p->begins[k] < address);
	return address >= FOUR_GIB && i < p->nbegins && p->begins[i] == address;
}

void packed_bits_find(const struct packed_bits *p, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = -at & (WORD - 1); (p->nbegins || p->npages) && i + WORD <= n; i += WORD) {
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
			uint64_t page = (word & PAGE_FIELD) << PAGE;
			middle = middle_of(page);
			if (p->middle[middle >> 6] >> (middle & 63) & 1 && is_page(p, page, by))
				p->hit(p->ctx, at + i, page);
		}
	}
}
