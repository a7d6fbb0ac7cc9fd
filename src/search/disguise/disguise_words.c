// SPDX-License-Identifier: MIT
//
// Few words have bits 32 to 47 as a target in some form: one look into a bit map passes over the others,
// eight at once. Bytes that are swapped are looked for at any place. Targets below 4
// GiB have no upper bits to go by: handles.c looks for them.
#include "search/disguise/disguise_words.h"

#include <stdbool.h>
#include <string.h>

#include "base/search.h"
#include "search/mark/block.h"
#include "search/mark/scan.h"

enum { WORD = 8, HALF = 32, SIXTEEN = 0xffff, ADDRESS = 47 };

static void mark(uint64_t *map, uint64_t bits)
{
	map[bits >> 6 & 1023] |= 1ULL << (bits & 63);
}

static bool marked(const uint64_t *map, uint64_t bits)
{
	return map[bits >> 6 & 1023] >> (bits & 63) & 1;
}

// What bits 32 to 47 are of the words that mean [lo, hi) in this form; `tags`: so many of their upper bits
// may be a tag's.
static void mark_form(struct disguise_words *d, enum disguise form, struct span at)
{
	uint64_t a = disguise_word(form, at.lo) >> HALF, b = disguise_word(form, at.hi - 1) >> HALF;
	unsigned tags = form >= DISGUISE_RIGHT_1 && form <= DISGUISE_RIGHT_4 ?
				(unsigned)(form - DISGUISE_RIGHT_1) + 2 :
				0;
	for (uint64_t u = a < b ? a : b; u <= (a < b ? b : a); u++)
		for (uint64_t tag = 0; tag < 1u << tags; tag++)
			mark(d->upper, (u & (SIXTEEN >> tags)) | tag << (16 - tags));
	if (!tags)
		for (uint64_t u = a < b ? a : b; u <= (a < b ? b : a); u++)
			mark(d->upper, u & SIXTEEN);
}

static void note_swapped(struct disguise_words *d, uint16_t upper)
{
	size_t i = 0;
	while (i < d->nswapped && d->swapped[i] != upper)
		i++;
	if (i == d->nswapped && i < DISGUISE_WORDS_SWAPPED)
		d->swapped[d->nswapped++] = upper;
}

// Sums of two addresses are above all addresses, unless those are low.
static bool is_sum(uint64_t w)
{
	return w >> ADDRESS == 1;
}

static void mark_sums(struct disguise_words *d, struct span at)
{
	for (size_t i = 0; i < d->npartners; i++)
		for (uint64_t u = (at.lo + d->partners[i].lo) >> HALF;
		     u <= (at.hi + d->partners[i].hi) >> HALF; u++)
			if (is_sum(u << HALF))
				mark(d->upper, u & SIXTEEN);
}

void disguise_words_ready(struct disguise_words *d)
{
	memset(d->upper, 0, sizeof(d->upper));
	d->nswapped = 0;
	for (size_t i = 0, end; i < d->ntargets; i = end) { // those of the same 4 GiB at once
		for (end = i + 1;
		     end < d->ntargets && d->targets[end].hi >> HALF == d->targets[i].hi >> HALF;)
			end++;
		mark_sums(d, (struct span){d->targets[i].lo, d->targets[end - 1].hi});
	}
	for (size_t i = 0; i < d->ntargets; i++) {
		for (unsigned form = DISGUISE_NONE + 1; form < DISGUISE_WORDS; form++)
			if (form != DISGUISE_SWAPPED)
				mark_form(d, form, d->targets[i]);
		for (uint64_t u = d->targets[i].lo >> HALF; u <= (d->targets[i].hi - 1) >> HALF; u++)
			note_swapped(d, (uint16_t)u);
	}
	memcpy(d->any, d->upper, sizeof(d->any));
	for (uint64_t u = d->near.lo >> HALF; d->near.hi && u <= (d->near.hi - 1) >> HALF; u++)
		mark(d->any, u & SIXTEEN);
}

static bool is_begin(const struct disguise_words *d, enum disguise form, uint64_t address)
{
	size_t i = FIRST_NOT(d->nbegins, k, (d->begins[k] & disguise_kept(form)) < address);
	return i < d->nbegins && (d->begins[i] & disguise_kept(form)) == address;
}

static void try_form(const struct disguise_words *d, enum disguise form, uint64_t word, uint64_t at)
{
	bool tagged;
	uint64_t address = disguise_address(form, word, &tagged);
	// Two floats beside each other look like a double that is a whole number, two integers like an odd
	// address.
	tagged |= form == DISGUISE_DOUBLE || address % WORD;
	if (address && scan_find(d->targets, d->ntargets, address) < d->ntargets &&
	    (!tagged || is_begin(d, form, address)))
		d->hit(d->ctx, at, address, form);
}

static inline bool is_near(const struct disguise_words *d, uint64_t w)
{
	return w - d->near.lo < d->near.hi - d->near.lo;
}

static void try_word(const struct disguise_words *d, uint64_t word, uint64_t at)
{
	for (unsigned form = DISGUISE_NONE + 1; form < DISGUISE_WORDS; form++)
		if (form != DISGUISE_SWAPPED)
			try_form(d, form, word, at);
	if (is_near(d, word))
		d->hit(d->ctx, at, word, DISGUISE_OUTSIDE);
	if (is_sum(word))
		d->hit(d->ctx, at, word, DISGUISE_SUM);
}

// One branch for each block: what a word depends on is as good as random.
static inline bool block_may(const struct disguise_words *d, const unsigned char *b)
{
	uint64_t any = 0;
	for (size_t i = WORD / 2; i < BLOCK_BYTES; i += WORD) {
		uint16_t upper;
		memcpy(&upper, b + i, sizeof(upper));
		any |= d->any[upper >> 6] >> (upper & 63);
	}
	return any & 1;
}

// In the order of a network, at any byte, as in a record: two bytes, then those that are above in an address.
static void find_swapped(const struct disguise_words *d, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i += BLOCK_BYTES) {
		uint64_t places = 0;
		for (size_t u = 0; u < d->nswapped; u++)
			places |=
				block_pairs(b + i + 2, (uint8_t)(d->swapped[u] >> 8), (uint8_t)d->swapped[u]);
		for (; places; places &= places - 1) {
			size_t k = i + (size_t)__builtin_ctzll(places);
			if (k < n)
				try_form(d, DISGUISE_SWAPPED, block_word(b + k), at + k);
		}
	}
}

void disguise_words_find(const struct disguise_words *d, const unsigned char *b, size_t n, uint64_t at)
{
	find_swapped(d, b, n, at);
	for (size_t i = -at & (WORD - 1); i + WORD <= n; i += BLOCK_BYTES) {
		if (!block_may(d, b + i))
			continue;
		for (size_t k = i; k < i + BLOCK_BYTES && k + WORD <= n; k += WORD) {
			uint64_t w = block_word(b + k);
			if (marked(d->upper, w >> HALF & SIXTEEN) || is_near(d, w))
				try_word(d, w, at + k);
		}
	}
}
