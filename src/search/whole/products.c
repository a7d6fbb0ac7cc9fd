// SPDX-License-Identifier: MIT
//
// To multiply by an odd number is undone by another one, its inverse: a program may keep either. Neither
// changes how many of the lowest bits are zeros. So of the numbers that may have been added, those alone are
// tried that end in the same three bits as the word.
#include "search/whole/products.h"

#include <stdlib.h>
#include <string.h>

#include "search/whole/code_words.h"
#include "search/mark/scan.h"

enum { WORD = 8, HALF = 32, ADDRESS = 47, TRIES_MOST = 1 << 28 };
enum { HEX_LEAST = 13, HEX_MOST = 16, DECIMAL_MOST = 20 };

static void mark(uint64_t *map, uint64_t bits)
{
	map[bits >> 6 & (PRODUCTS_MAP - 1)] |= 1ULL << (bits & 63);
}

static bool marked(const uint64_t *map, uint64_t bits)
{
	return map[bits >> 6 & (PRODUCTS_MAP - 1)] >> (bits & 63) & 1;
}

// Modulo 2^64; each step doubles the bits that are right, of which there are three at first.
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;
	for (unsigned right = 3; right < 64; right *= 2)
		x *= 2 - odd * x;
	return x;
}

void products_ready(struct products *p)
{
	struct code_words words;
	for (size_t i = 0; i < p->ntargets; i++)
		for (uint64_t u = p->targets[i].lo >> HALF; u <= (p->targets[i].hi - 1) >> HALF; u++)
			mark(p->middle, u);
	if (!p->ntargets)
		return;
	code_words_find(&words, p->search->memory, p->search->skip, p->search->nskip);
	for (size_t i = 0; i < words.n; i++) {
		if ((words.v[i] & 1) && p->ninverses < 2 * PRODUCTS_FACTORS) {
			p->inverses[p->ninverses++] = inverse(words.v[i]);
			p->inverses[p->ninverses++] = words.v[i];
		}
		struct products_addends *to = &p->addends[words.v[i] % WORD];
		if (i < PRODUCTS_ADDENDS)
			to->v[to->n++] = words.v[i];
	}
}

static void try_address(const struct products *p, uint64_t address, uint64_t at)
{
	if (address >> ADDRESS == 0 && marked(p->middle, address >> HALF) &&
	    scan_find(p->targets, p->ntargets, address) < p->ntargets)
		p->hit(p->ctx, at, address);
}

static inline uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// At a multiple of eight, as the address. One branch for four factors: hardly any leads to an address.
static void try_value(struct products *p, uint64_t value, uint64_t at)
{
	size_t i = 0;
	p->tries += p->ninverses;
	for (; i + 4 <= p->ninverses; i += 4) {
		const uint64_t *by = p->inverses + i;
		uint64_t least = less(less(value * by[0], value * by[1]), less(value * by[2], value * by[3]));
		for (size_t k = 0; k < 4 && least >> ADDRESS == 0; k++)
			try_address(p, value * by[k], at);
	}
	for (; i < p->ninverses; i++)
		try_address(p, value * p->inverses[i], at);
}

static void try_word(struct products *p, uint64_t word, uint64_t at)
{
	if (!code_words_may(word) || p->tries > TRIES_MOST)
		return;
	const struct products_addends *addends = &p->addends[word % WORD];
	if (word % WORD == 0)
		try_value(p, word, at);
	for (size_t i = 0; i < addends->n; i++) {
		try_value(p, word ^ addends->v[i], at);
		try_value(p, word - addends->v[i], at);
	}
}

// ------------------------------------------------------------------- text

static bool is_decimal(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hexadecimal(unsigned char c)
{
	return is_decimal(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool are_digits(const unsigned char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_hexadecimal(b[i]))
			return false;
	return true;
}

// The word at b[i] is digits alone: so is what lies around it, of a number that is long enough.
static void try_text(struct products *p, const unsigned char *b, size_t n, size_t i, uint64_t at)
{
	char text[DECIMAL_MOST + 1] = {0};
	size_t lo = i, hi = i + WORD;
	bool decimal = true;
	while (lo > 0 && hi - lo <= DECIMAL_MOST && is_hexadecimal(b[lo - 1]))
		lo--;
	while (hi < n && hi - lo <= DECIMAL_MOST && is_hexadecimal(b[hi]))
		hi++;
	if (hi - lo < HEX_LEAST || hi - lo > DECIMAL_MOST)
		return;
	memcpy(text, b + lo, hi - lo);
	for (size_t k = lo; k < hi; k++)
		decimal &= is_decimal(b[k]);
	if (hi - lo <= HEX_MOST)
		try_word(p, strtoull(text, NULL, 16), at + lo);
	if (decimal)
		try_word(p, strtoull(text, NULL, 10), at + lo);
}

void products_find(struct products *p, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = -at & (WORD - 1); p->ninverses && i + WORD <= n; i += WORD) {
		uint64_t word;
		memcpy(&word, b + i, WORD);
		if (are_digits(b + i, WORD))
			try_text(p, b, n, i, at);
		else
			try_word(p, word, at + i);
	}
}
