// SPDX-License-Identifier: MIT
//
// Both addresses lie in the same heap mostly, so the number is small, and small numbers are everywhere.
// Decoys are as far from the structure as what is looked for is, in the sense of exclusive or, and as round:
// how many numbers lead to them tells how many chance explains. A number of so few bits that there are no
// such decoys counts only in a block of the heap that begins where the structure does.
#include "search/disguise/own_xors.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/disguise/handle_forms.h"
#include "search/disguise/handles.h"
#include "search/heap/malloc_heap.h"
#include "search/mark/block.h"

enum { WORD = 8, HALF = 4, HALF_BITS = 32, ADDRESS = 47, PAGE = 12 };
enum { OFFSET_MOST = 64, GRANULE = 7, HITS_MOST = 1 << 12, OF_DECOYS = 1 << 13 };

// Of a number: so many bits of the address differ in its decoys, from that one on.
static const struct class
{
	unsigned first, bits; // of the decoys
	unsigned least;       // bits that such a number has
} CLASSES[OWN_XORS_CLASSES] = {{PAGE, 5, 18}, {5, 5, 11}};
enum { EACH = 31, FEW = OWN_XORS_CLASSES, WHOLE }; // how many decoys; what has none

static uint64_t sieve_of(uint64_t address)
{
	return address >> GRANULE & (64 * OWN_XORS_SIEVE - 1);
}

static void mark(struct own_xors *o, uint64_t address)
{
	o->sieve[sieve_of(address) >> 6] |= 1ULL << (sieve_of(address) & 63);
}

static bool marked(const struct own_xors *o, uint64_t address)
{
	return o->sieve[sieve_of(address) >> 6] >> (sieve_of(address) & 63) & 1;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static bool has(const uint64_t *v, size_t n, uint64_t address)
{
	size_t i = FIRST_NOT(n, k, v[k] < address);
	return i < n && v[i] == address;
}

bool own_xors_ready(struct own_xors *o)
{
	size_t all = o->nbegins * EACH * OWN_XORS_CLASSES;
	o->hits = calloc(HITS_MOST, sizeof(*o->hits));
	o->decoys = calloc((all < OF_DECOYS ? all : OF_DECOYS) + 1, sizeof(*o->decoys));
	if (!o->hits || !o->decoys)
		return false;
	for (size_t i = 0; i < o->nall; i++)
		mark(o, o->all[i]);
	for (size_t i = 0; i < o->nbegins; i++) {
		for (unsigned c = 0; c < OWN_XORS_CLASSES; c++)
			for (uint64_t k = 1; k <= EACH && o->ndecoys < OF_DECOYS; k++) {
				uint64_t decoy = o->begins[i] ^ k << CLASSES[c].first;
				if (has(o->begins, o->nbegins, decoy))
					continue;
				o->decoys[o->ndecoys++] = decoy;
				mark(o, decoy);
			}
	}
	if (o->ndecoys)
		qsort(o->decoys, o->ndecoys, sizeof(*o->decoys), by_value);
	return true;
}

// Which decoys are as good as the address, for such a number.
static unsigned class_of(uint64_t number)
{
	unsigned zeros = (unsigned)__builtin_ctzll(number), bits = 64 - (unsigned)__builtin_clzll(number);
	if (number >> HALF_BITS)
		return WHOLE;
	for (unsigned c = 0; c < OWN_XORS_CLASSES; c++)
		if (zeros < CLASSES[c].first && bits >= CLASSES[c].least)
			return c;
	return FEW;
}

static void add(struct own_xors *o, uint64_t at, uint64_t address, uint64_t own, unsigned class)
{
	if (o->nhits < HITS_MOST)
		o->hits[o->nhits++] = (struct own_xor_hit){
			.at = at, .address = address, .own = own, .class = (uint8_t) class};
}

// Does a decoy of the class lie there?
static bool is_decoy(const struct own_xors *o, uint64_t address, unsigned class)
{
	if (class >= OWN_XORS_CLASSES || !has(o->decoys, o->ndecoys, address))
		return false;
	for (uint64_t k = 1; k <= EACH; k++)
		if (has(o->begins, o->nbegins, address ^ k << CLASSES[class].first))
			return true;
	return false;
}

static void try_own(struct own_xors *o, uint64_t at, uint64_t number, uint64_t own)
{
	uint64_t address = number ^ own;
	unsigned class = class_of(number);
	if (!marked(o, address))
		return;
	bool target = class == WHOLE ? has(o->all, o->nall, address) : has(o->begins, o->nbegins, address);
	if ((!target && !is_decoy(o, address, class)) || !o->counts(o->ctx, at))
		return;
	if (target)
		add(o, at, address, own, class);
	if (class < OWN_XORS_CLASSES) {
		o->found[class] += target;
		o->of_decoys[class] += !target;
	}
}

// A number of 32 bits, or a word of which it is the lower half. It may be a member that begins at any
// multiple of eight near the begin of its structure.
static void try_number(struct own_xors *o, uint64_t at, uint64_t number)
{
	uint64_t last = at & ~(uint64_t)(WORD - 1);
	if (!marked(o, number ^ last) && !marked(o, number ^ (last - OFFSET_MOST)))
		return;
	for (uint64_t offset = 0; offset <= OFFSET_MOST; offset += WORD)
		try_own(o, at, number, last - offset);
}

// All bits of an address but the lowest differ from those of where it is kept: that is no small number.
static void try_shifted(struct own_xors *o, uint64_t at, uint64_t word)
{
	uint64_t address = word ^ at >> PAGE;
	if (word >> ADDRESS || !marked(o, address) || !has(o->all, o->nall, address) ||
	    !o->counts(o->ctx, at))
		return;
	add(o, at, address, at, WHOLE);
}

void own_xors_find(struct own_xors *o, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = -at & (WORD - 1); o->nbegins && i + WORD <= n; i += WORD) {
		uint64_t word = block_word(b + i);
		if (!word)
			continue;
		uint64_t lower = word & UINT32_MAX, upper = word >> HALF_BITS;
		if (lower)
			try_number(o, at + i, lower);
		if (upper) {
			try_number(o, at + i + HALF, upper);
			try_number(o, at + i, word);
			try_shifted(o, at + i, word);
		}
	}
}

static bool is_in_use(const struct own_xors *o, unsigned class)
{
	const struct handles_tally t = {.n = {1, EACH, 0}, .hits = {o->found[class], o->of_decoys[class], 0}};
	return handles_in_use(&t, false);
}

// Is it a member of a block of the heap, and no number as there are many? Or is it more telling than those
// are?
static bool is_member(const struct own_xors *o, const struct own_xor_hit *h)
{
	struct malloc_heap_query q = {.addr = h->own};
	uint64_t number = h->own ^ h->address;
	if (h->class == FEW && handle_forms_telling(number))
		return true;
	malloc_heap_resolve(o->memory, &q, 1);
	return q.found && q.block.lo == h->own && (number & (number - 1)) != 0;
}

void own_xors_settle(struct own_xors *o)
{
	bool in_use[OWN_XORS_CLASSES];
	size_t n = 0;
	for (unsigned c = 0; c < OWN_XORS_CLASSES; c++)
		in_use[c] = is_in_use(o, c);
	for (size_t i = 0; i < o->nhits; i++) {
		const struct own_xor_hit *h = &o->hits[i];
		if (h->class == WHOLE || (h->class < FEW && in_use[h->class]) || is_member(o, h))
			o->hits[n++] = *h;
	}
	o->nhits = n;
}

void own_xors_deinit(struct own_xors *o)
{
	free(o->hits);
	free(o->decoys);
}
