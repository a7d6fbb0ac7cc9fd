// SPDX-License-Identifier: MIT
//
// Keys are looked for in static storage and where threads have theirs, and in all of a memory that is not
// large; of those with the same upper bits, some are kept. Where pairs are so many that it would take long,
// those with the same upper bits count as chance.
//
// Noise has upper bits of its own (floating-point numbers, text). Upper bits with decoys are judged by
// themselves; of those without any, those with exactly one tell how many more chance may hit.
#include "search/disguise/xor_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/whole/bases.h"
#include "search/disguise/handle_forms.h"
#include "search/mark/block.h"
#include "search/mark/scan.h"

enum { WORD = 8, HALF = 32, UPPER = 48, SIXTEEN = 0xffff, BUCKETS = 1 << 16, KINDS = 2 };
enum {
	OF_A_BUCKET = 64,
	KEYS_MOST = 1 << 18,
	KEYS_MOST_ODD = 1 << 20,
	HITS_MOST = 1 << 12,
	DECOYS = 64,
	DECOY_SHIFT = 16
};
enum { TOPS_BITS = 23 };
enum { TRIES_OF_A_BUCKET = 1 << 22, TRIES_MOST = 1 << 28 };
enum { CHUNK = 1 << 16, READ_MOST = 64 << 20, SMALL = 1 << 18, END = 1 << 14 };

struct xor_bucket {
	uint32_t first, n; // of its keys
	uint32_t tries, hits[KINDS], decoys[KINDS];
	bool tidy;  // are they sorted, and each once?
	bool spent; // tried too often to tell anything
};

static void mark(uint64_t *map, uint64_t bits)
{
	map[bits >> 6 & (XOR_WORDS_MAP - 1)] |= 1ULL << (bits & 63);
}

static bool marked(const uint64_t *map, uint64_t bits)
{
	return map[bits >> 6 & (XOR_WORDS_MAP - 1)] >> (bits & 63) & 1;
}

// Of the upper half of a key: its two bits in a map, by which most words go by that have no partner.
static uint32_t top(uint32_t upper)
{
	return (uint32_t)(upper * 0x9e3779b1u) >> (32 - TOPS_BITS);
}

static uint32_t top_too(uint32_t upper)
{
	return (uint32_t)((upper ^ upper >> 15) * 0x85ebca6bu) >> (32 - TOPS_BITS);
}

static bool in_tops(const struct xor_words *x, uint32_t at)
{
	return x->tops[at >> 6] >> (at & 63) & 1;
}

static bool is_address(uint64_t word)
{
	return word >> UPPER == 0 || word >> UPPER == SIXTEEN;
}

// ------------------------------------------------------------------- keys

static void add_key(struct xor_words *x, uint64_t value, uint64_t at)
{
	uint8_t *n = &x->taken[value >> UPPER];
	if (is_address(value) || *n == OF_A_BUCKET ||
	    x->nkeys == (x->step == WORD ? KEYS_MOST : KEYS_MOST_ODD) || x->failed)
		return;
	if (x->nkeys == x->room) {
		size_t room = x->room ? 2 * x->room : 1024;
		struct xor_key *more = realloc(x->keys, room * sizeof(*more));
		x->failed = !more;
		if (!more)
			return;
		x->keys = more;
		x->room = room;
	}
	x->keys[x->nkeys++] = (struct xor_key){value, at};
	++*n;
}

static bool counts(const struct xor_words *x, uint64_t at)
{
	const struct search *s = x->search;
	return scan_find(s->skip, s->nskip, at) == s->nskip &&
	       scan_find(s->freed.v, s->freed.n, at) == s->freed.n;
}

// Can a key of this value still be taken? It costs less to ask than where a word lies.
static bool is_wanted(const struct xor_words *x, uint64_t value)
{
	return !is_address(value) && x->taken[value >> UPPER] < OF_A_BUCKET;
}

// Those that lie in [lo, hi), which may be written. What holds of one byte holds of those up to the next
// word.
static void take_keys(struct xor_words *x, uint64_t lo, uint64_t hi)
{
	static _Alignas(uint64_t) uint64_t chunk[CHUNK / WORD];
	const struct memory *m = x->search->memory;
	const uint64_t chunk_step = x->step == WORD ? CHUNK : CHUNK - WORD; // a word may lie across
	for (; lo < hi && !memory_late(m); lo += chunk_step) {
		size_t n = memory_peek_touched(m, lo, chunk, hi - lo < CHUNK ? (size_t)(hi - lo) : CHUNK);
		size_t known = SIZE_MAX; // of which word it is asked
		bool any = false;
		for (size_t i = 0; i + WORD <= n; i += x->step) {
			uint64_t key = block_word((const unsigned char *)chunk + i);
			if (!is_wanted(x, key))
				continue;
			if (known != i / WORD)
				any = counts(x, lo + i / WORD * WORD) &&
				      !x->lost(x->ctx, lo + i / WORD * WORD);
			known = i / WORD;
			if (any)
				add_key(x, key, lo + i);
		}
	}
}

// A thread's own storage lies at the end of its stack, or, the first one's, in a mapping of a few pages.
static void take_all_keys(struct xor_words *x)
{
	const struct search *s = x->search;
	const struct memory *m = s->memory;
	uint64_t read = 0;
	if (s->guard)
		add_key(x, s->guard, 0);
	for (size_t i = 0; i < m->nmaps; i++)
		if (bases_is_static(m, m->maps[i].lo))
			take_keys(x, m->maps[i].lo, m->maps[i].hi);
	for (size_t i = 0; i < m->nmaps; i++) {
		const struct maps_line *at = &m->maps[i];
		uint64_t bytes = at->hi - at->lo;
		if (at->perms[1] != 'w' || at->perms[3] == 's' || at->ino || bases_is_static(m, at->lo))
			continue;
		bool all = bytes <= SMALL || (s->bytes < HANDLE_FORMS_LARGE && bytes <= READ_MOST - read);
		read += all && bytes > SMALL ? bytes : 0;
		take_keys(x, all ? at->lo : at->hi - END, at->hi);
	}
}

static void mark_top(struct xor_words *x, uint32_t at)
{
	x->tops[at >> 6] |= 1ULL << (at & 63);
}

static bool is_before(const struct xor_key *a, const struct xor_key *b)
{
	return a->value != b->value ? a->value < b->value : a->at < b->at;
}

// A bucket's are few; of most buckets they are never asked for.
static void tidy(const struct xor_words *x, struct xor_bucket *b)
{
	struct xor_key *v = x->keys + b->first;
	uint32_t n = b->n, kept = 0;
	for (uint32_t i = 1; i < n; i++) {
		struct xor_key one = v[i];
		uint32_t k = i;
		for (; k && is_before(&one, &v[k - 1]); k--)
			v[k] = v[k - 1];
		v[k] = one;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!kept || v[kept - 1].value != v[i].value)
			v[kept++] = v[i];
	b->n = kept;
	b->tidy = true;
}

// How many each bucket has taken is known.
static void share_keys(struct xor_words *x)
{
	struct xor_key *keys = malloc((x->nkeys + 1) * sizeof(*keys));
	uint32_t n = 0;
	x->failed |= !keys;
	if (x->failed) {
		free(keys);
		return;
	}
	for (size_t i = 0; i < BUCKETS; n += x->taken[i++])
		x->buckets[i].first = n;
	for (size_t i = 0; i < x->nkeys; i++) {
		uint64_t value = x->keys[i].value;
		keys[x->buckets[value >> UPPER].first++] = x->keys[i];
		mark_top(x, top((uint32_t)(value >> HALF)));
		mark_top(x, top_too((uint32_t)(value >> HALF)));
	}
	for (size_t i = 0; i < BUCKETS; i++) {
		struct xor_bucket *b = &x->buckets[i];
		if (!x->taken[i])
			continue;
		b->n = x->taken[i];
		b->first -= b->n;
		mark(x->uppers, i);
	}
	free(x->keys);
	x->keys = keys;
}

static void take_middle(struct xor_words *x, uint64_t bits)
{
	if (marked(x->middle, bits))
		return;
	mark(x->middle, bits);
	if (x->nmiddles < XOR_WORDS_MIDDLES)
		x->middles[x->nmiddles] = (uint16_t)bits;
	x->nmiddles++;
}

bool xor_words_ready(struct xor_words *x)
{
	x->buckets = calloc(BUCKETS, sizeof(*x->buckets));
	x->taken = calloc(BUCKETS, sizeof(*x->taken));
	x->tops = calloc(1 << (TOPS_BITS - 3), 1);
	x->hits = calloc(HITS_MOST, sizeof(*x->hits));
	if (!x->buckets || !x->taken || !x->tops || !x->hits)
		return false;
	for (size_t i = 0; i < x->ntargets; i++)
		for (uint64_t u = x->targets[i].lo >> HALF; u <= (x->targets[i].hi - 1) >> HALF; u++)
			take_middle(x, u & SIXTEEN);
	if (x->ntargets)
		take_all_keys(x);
	share_keys(x);
	return !x->failed;
}

// ------------------------------------------------------------------- words

// Where an object begins: 0; in one, at a multiple of eight: 1, unless pairs are at any byte, which are many;
// elsewhere: KINDS.
static unsigned kind_of(const struct xor_words *x, uint64_t address)
{
	if (address % WORD || scan_find(x->targets, x->ntargets, address) == x->ntargets)
		return KINDS;
	size_t i = FIRST_NOT(x->nbegins, k, x->begins[k] < address);
	return i < x->nbegins && x->begins[i] == address ? 0 : x->step == WORD ? 1 : KINDS;
}

static uint64_t decoy(uint64_t address, uint64_t n)
{
	return address ^ ((n * 0x9e3779b97f4a7c15 >> 54) | 1) << DECOY_SHIFT;
}

// Has two words whose difference, but for the upper bits, is as a target's.
static void try_pair(struct xor_words *x, struct xor_bucket *b, const struct xor_key *key, uint64_t at,
		     uint64_t address)
{
	unsigned kind = kind_of(x, address);
	if (x->step != WORD && at % WORD == 0 && key->at % WORD == 0)
		return; // others look for these
	if (kind == KINDS && memory_map(x->search->memory, address))
		return; // another's, and perhaps kept so, too
	bool own = x->lost(x->ctx, at);
	if (kind < KINDS) {
		b->hits[kind] += !own;
		if (x->nhits < HITS_MOST)
			x->hits[x->nhits++] = (struct xor_hit){.at = at,
							       .address = address,
							       .key = key->at,
							       .upper = (uint16_t)(key->value >> UPPER),
							       .kind = (uint8_t)kind};
		return;
	}
	for (unsigned n = 1; !own && n <= DECOYS; n++) {
		kind = kind_of(x, decoy(address, n));
		if (kind < KINDS)
			b->decoys[kind]++;
	}
}

// Has any key such upper bits that it and this word may be a target's?
static inline bool has_key(const struct xor_words *x, uint64_t word)
{
	if (!marked(x->uppers, word >> UPPER))
		return false;
	for (size_t i = 0; i < x->nmiddles && i < XOR_WORDS_MIDDLES; i++) {
		uint32_t upper = (uint32_t)(word >> HALF) ^ x->middles[i];
		if (in_tops(x, top(upper)) && in_tops(x, top_too(upper)))
			return true;
	}
	return x->nmiddles > XOR_WORDS_MIDDLES;
}

static void try_word(struct xor_words *x, uint64_t word, uint64_t at)
{
	uint64_t upper = word >> UPPER;
	struct xor_bucket *b = &x->buckets[upper];
	if (x->tries > TRIES_MOST || b->tries > TRIES_OF_A_BUCKET) {
		b->spent = true;
		x->uppers[upper >> 6] &= ~(1ULL << (upper & 63));
		return;
	}
	if (!b->tidy)
		tidy(x, b);
	b->tries += b->n;
	x->tries += b->n;
	bool known = false;
	for (uint32_t i = b->first; i < b->first + b->n; i++) {
		uint64_t address = word ^ x->keys[i].value;
		if (!marked(x->middle, address >> HALF))
			continue;
		if (!known && !counts(x, at))
			return;
		known = true;
		try_pair(x, b, &x->keys[i], at, address);
	}
}

static inline bool block_may(const struct xor_words *x, const unsigned char *b)
{
	uint64_t any = 0;
	for (size_t i = UPPER / 8; i < BLOCK_BYTES; i += WORD) {
		uint16_t upper;
		memcpy(&upper, b + i, sizeof(upper));
		any |= x->uppers[upper >> 6] >> (upper & 63);
	}
	return any & 1;
}

void xor_words_find(struct xor_words *x, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = 0; x->step != WORD && x->nkeys && i + WORD <= n; i++)
		if (has_key(x, block_word(b + i)))
			try_word(x, block_word(b + i), at + i);
	for (size_t i = -at & (WORD - 1); x->step == WORD && x->nkeys && i + WORD <= n; i += BLOCK_BYTES) {
		if (!block_may(x, b + i))
			continue;
		for (size_t k = i; k < i + BLOCK_BYTES && k + WORD <= n; k += WORD) {
			uint64_t w = block_word(b + k);
			if (has_key(x, w))
				try_word(x, w, at + k);
		}
	}
}

// ------------------------------------------------------------------- links

enum { FIELD_MOST = 64, NUMBER = 16 };

// Does an object lie in the 4 GiB of the address?
static bool is_near(const struct xor_links *x, uint64_t address)
{
	size_t i = FIRST_NOT(x->ntargets, k, (x->targets[k].hi - 1) >> HALF < address >> HALF);
	return i < x->ntargets && x->targets[i].lo >> HALF <= address >> HALF;
}

// No address, nor as small as most numbers are. The other end is one of the same program, in the same 4 GiB.
void xor_links_find(struct xor_links *x, const unsigned char *b, size_t n, uint64_t at)
{
	if (!x->ntargets || !bases_is_static(x->memory, at))
		return;
	for (size_t i = -at & (WORD - 1); i + WORD <= n && x->n <= XOR_LINKS; i += WORD) {
		uint64_t word = block_word(b + i);
		if (word >> UPPER || !(word >> NUMBER) || word % WORD || !is_near(x, word ^ (at + i)) ||
		    memory_map(x->memory, word))
			continue;
		if (x->n < XOR_LINKS) {
			x->v[x->n].at = at + i;
			x->v[x->n].word = word;
		}
		x->n++;
	}
}

// Where the other end is at `other`: 0, if it is not that.
static uint64_t object_of(const struct xor_links *x, uint64_t link, uint64_t other)
{
	uint64_t object = link ^ other;
	return object % WORD == 0 && scan_find(x->targets, x->ntargets, object) < x->ntargets ? object : 0;
}

void xor_links_settle(const struct xor_links *x)
{
	for (size_t i = 0; x->n <= XOR_LINKS && i < x->n; i++)
		for (size_t k = 0; k < x->n; k++)
			for (uint64_t field = 0; k != i && field < FIELD_MOST; field += WORD) {
				uint64_t first = object_of(x, x->v[i].word, x->v[k].at - field);
				if (first && object_of(x, x->v[k].word, x->v[i].at - field))
					x->hit(x->ctx, x->v[i].at, first);
			}
}

// ------------------------------------------------------------------- chance

// Of all upper bits that no decoy has: decoys are the upper bits that one has.
static struct handles_tally quiet_ones(const struct xor_words *x, unsigned kind)
{
	struct handles_tally t = {.n = {1, DECOYS, 0}};
	for (size_t i = 0; i < BUCKETS; i++) {
		const struct xor_bucket *b = &x->buckets[i];
		if (b->spent)
			continue;
		t.hits[HANDLES_TARGET] += b->decoys[kind] ? 0 : b->hits[kind];
		t.hits[HANDLES_DECOY] += b->decoys[kind] == 1;
	}
	return t;
}

void xor_words_settle(struct xor_words *x)
{
	size_t n = 0;
	bool quiet[KINDS];
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct handles_tally t = quiet_ones(x, kind);
		quiet[kind] = handles_in_use(&t, false);
	}
	for (size_t i = 0; i < x->nhits; i++) {
		const struct xor_hit *h = &x->hits[i];
		const struct xor_bucket *b = &x->buckets[h->upper];
		struct handles_tally t = {.n = {1, DECOYS, 0},
					  .hits = {b->hits[h->kind], b->decoys[h->kind], 0}};
		if (!b->spent && (b->decoys[h->kind] ? handles_in_use(&t, false) : quiet[h->kind]))
			x->hits[n++] = *h;
	}
	x->nhits = n;
}

void xor_words_deinit(struct xor_words *x)
{
	free(x->keys);
	free(x->buckets);
	free(x->taken);
	free(x->tops);
	free(x->hits);
	*x = (struct xor_words){0};
}
