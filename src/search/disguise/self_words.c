// SPDX-License-Identifier: MIT
//
// Targets lie in a few places mostly, cells that are as small as there may be a few of them. Few words lead
// there, but for those that lie there themselves, and vector instructions pass over all others.
#include "search/disguise/self_words.h"

#include "search/mark/block.h"
#include "search/mark/scan.h"

#define UPPER_HALVES 0xffffffff00000000
enum { WORD = 8, HALF = 32, NEAR_BITS = 36, SMALL_BITS = 6, GRANULE = 12, CELL_LEAST = 20, CELL_MOST = 36 };

typedef uint32_t block_numbers __attribute__((vector_size(16)));

// Less than 2 to the power of `bits`, in either direction.
static inline bool is_within(uint64_t word, unsigned bits)
{
	return (word + (1ULL << bits)) >> (bits + 1) == 0;
}

bool self_words_is_near(uint64_t word)
{
	return is_within(word, NEAR_BITS);
}

static void add_cells(struct self_words *s, const struct span *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint64_t cell = v[i].lo >> s->shift; cell <= (v[i].hi - 1) >> s->shift; cell++) {
			size_t k = 0;
			while (k < s->ncells && s->cells[k] != cell)
				k++;
			if (k < s->ncells)
				continue;
			s->ncells++;
			if (k == SELF_WORDS_CELLS)
				return;
			s->cells[k] = (uint32_t)cell;
		}
}

void self_words_ready(struct self_words *s)
{
	memset(s->sieve, 0, sizeof(s->sieve));
	for (s->shift = CELL_LEAST; s->shift <= CELL_MOST; s->shift++) {
		s->ncells = 0;
		add_cells(s, s->targets, s->ntargets);
		if (s->ncells <= SELF_WORDS_CELLS)
			add_cells(s, s->near, s->nnear);
		if (s->ncells <= SELF_WORDS_CELLS)
			break;
	}
	for (size_t i = 0; i < s->nnear; i++)
		for (uint64_t g = s->near[i].lo >> GRANULE; g <= (s->near[i].hi - 1) >> GRANULE; g++)
			s->sieve[g >> 6 & (SELF_WORDS_SIEVE - 1)] |= 1ULL << (g & 63);
}

// Does a word of the block lead to one of the cells?
static inline bool block_may(const struct self_words *s, const unsigned char *b, uint64_t at)
{
	block_words w, from = {at, at + WORD}, any = {0};
	for (int i = 0; i < BLOCK_VECTORS; i++, from += sizeof(w)) {
		memcpy(&w, b + i * (int)sizeof(w), sizeof(w));
		block_words to = (w + from) >> s->shift, is = {0};
		for (size_t k = 0; k < s->ncells && k < SELF_WORDS_CELLS; k++)
			is |= (block_words)((block_numbers)to ==
					    (block_numbers){s->cells[k], 0, s->cells[k], 0});
		any |= is & is << HALF;
	}
	return s->ncells > SELF_WORDS_CELLS || (block_any(any) & UPPER_HALVES);
}

static void try_word(const struct self_words *s, uint64_t w, uint64_t at)
{
	uint64_t to = w + at, granule = to >> GRANULE;
	bool near = is_within(w, NEAR_BITS);
	if (near && (is_within(w, SMALL_BITS) ||
		     !(s->sieve[granule >> 6 & (SELF_WORDS_SIEVE - 1)] >> (granule & 63) & 1)))
		return;
	const struct span *in = near ? s->near : s->targets;
	size_t n = near ? s->nnear : s->ntargets;
	if (scan_find(in, n, to) < n)
		s->hit(s->ctx, at, w);
}

void self_words_find(const struct self_words *s, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = -at & (WORD - 1); i + WORD <= n; i += BLOCK_BYTES) {
		if (!block_may(s, b + i, at + i))
			continue;
		for (size_t k = i; k < i + BLOCK_BYTES && k + WORD <= n; k += WORD)
			try_word(s, block_word(b + k), at + k);
	}
}
