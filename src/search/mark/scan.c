// SPDX-License-Identifier: MIT
//
// The memory scan. A word may begin at any byte: structures are packed, and
// lists without locks keep a count below the pointer. Only those are looked at whose
// two upper bytes are those of a target's address, which block.h finds;
// a bit map of 64 KiB granules sieves the words, and those left are
// searched for among the targets. A jmp_buf keeps the stack pointer in glibc's
// disguise: such words are seen through, too. The program's own disguises are
// looked for in a pass of their own (disguised.c).
#include "search/mark/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/mark/block.h"
#include "search/memory/memory_walk.h"

enum { GRANULE = 16, SIEVE_WORDS = 1 << 13 };
enum { WORD = 8, BLOCK = BLOCK_BYTES, UPPER = 32, ADDRESS_BITS = 48, UPPERS = 16 };

struct run {
	struct scan *s;
	uint64_t sieve[SIEVE_WORDS];
	unsigned char upper[UPPERS][2]; // bytes 4 and 5 of target addresses
	unsigned nupper;                // above UPPERS: too many to be of use
	bool low;                       // a target lies below 4 GiB: four bytes may be a pointer
};

size_t scan_find(const struct span *v, size_t n, uint64_t addr)
{
	size_t lo = FIRST_NOT(n, i, v[i].hi <= addr);
	return lo < n && v[lo].lo <= addr ? lo : n;
}

static inline uint64_t sieved(const uint64_t *sieve, uint64_t w)
{
	return sieve[w >> (GRANULE + 6) & (SIEVE_WORDS - 1)] >> (w >> GRANULE & 63);
}

static void try_word(struct scan *s, uint64_t at, uint64_t w)
{
	size_t t = scan_find(s->targets, s->ntargets, w & SPAN_ADDRESS_MASK);
	if (t < s->ntargets)
		(w > SPAN_ADDRESS_MASK && s->tagged ? s->tagged : s->hit)(s->ctx, at, w & SPAN_ADDRESS_MASK);
}

// Which words that begin in this block have the upper bytes of a target: a bit each.
static inline uint64_t block_may(const struct run *r, const unsigned char *b)
{
	uint64_t may = r->nupper > UPPERS ? ~0ULL : 0;
	for (unsigned u = 0; u < r->nupper && u < UPPERS; u++)
		may |= block_pairs(b + UPPER / 8, r->upper[u][0], r->upper[u][1]);
	return may;
}

static inline uint64_t undisguised(const struct scan *s, uint64_t w)
{
	return (w >> s->rotate | w << (-s->rotate & 63)) ^ s->guard;
}

// Aligned words that are an address once they are undisguised, as those in jmp_bufs: then their upper 16 bits
// are those of the guard.
static void search_guarded(struct run *r, const unsigned char *b, size_t n, uint64_t at)
{
	unsigned lies = (ADDRESS_BITS + r->s->rotate) % 64; // where in the word those bits are
	for (size_t i = -at & (WORD - 1); i + WORD <= n; i += BLOCK) {
		if (lies <= ADDRESS_BITS &&
		    !block_has_bits(b + i, lies, (uint16_t)(r->s->guard >> ADDRESS_BITS)))
			continue;
		for (size_t k = i; k < i + BLOCK && k + WORD <= n; k += WORD) {
			uint64_t w = undisguised(r->s, block_word(b + k));
			if (w <= SPAN_ADDRESS_MASK && (sieved(r->sieve, w) & 1))
				try_word(r->s, at + k, w);
		}
	}
}

// Four bytes, aligned, that are an address.
static void search_low(struct run *r, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = -at & 3; i + 4 <= n; i += 4) {
		uint32_t w;
		memcpy(&w, b + i, sizeof(w));
		if (w && (sieved(r->sieve, w) & 1))
			try_word(r->s, at + i, w);
	}
}

// n bytes of the target's memory at `at`, a block of zeros behind them.
static void search(struct run *r, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i += BLOCK)
		for (uint64_t may = block_may(r, b + i); may; may &= may - 1) {
			size_t k = i + (size_t)__builtin_ctzll(may);
			uint64_t w = block_word(b + k);
			if (k < n && (sieved(r->sieve, w) & 1))
				try_word(r->s, at + k, w);
		}
}

static void note_upper(struct run *r, uint64_t addr)
{
	unsigned char lo = (unsigned char)(addr >> UPPER), hi = (unsigned char)(addr >> (UPPER + 8));
	unsigned i = 0;
	while (i < r->nupper && i < UPPERS && (r->upper[i][0] != lo || r->upper[i][1] != hi))
		i++;
	if (i < UPPERS && i == r->nupper) {
		r->upper[i][0] = lo;
		r->upper[i][1] = hi;
	}
	r->nupper += i == r->nupper;
}

static void make_sieve(struct run *r)
{
	const struct scan *s = r->s;
	for (size_t i = 0; i < s->ntargets; i++) {
		for (uint64_t g = s->targets[i].lo >> GRANULE; g <= (s->targets[i].hi - 1) >> GRANULE; g++)
			r->sieve[g >> 6 & (SIEVE_WORDS - 1)] |= 1ULL << (g & 63);
		for (uint64_t u = s->targets[i].lo >> UPPER; u <= (s->targets[i].hi - 1) >> UPPER; u++)
			note_upper(r, u << UPPER);
		r->low |= s->targets[i].lo <= UINT32_MAX;
	}
}

void scan_bytes(struct scan *s, const unsigned char *bytes, size_t n, uint64_t at)
{
	for (size_t i = 0; i + 4 <= n; i++) { // a pointer may stand without its upper bytes
		uint64_t w = 0;
		memcpy(&w, bytes + i, n - i < WORD ? n - i : WORD);
		if (i + 6 <= n)
			try_word(s, at + i, w);
		if (w & UINT32_MAX)
			try_word(s, at + i, w & UINT32_MAX);
	}
}

static void on_piece(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	struct run *r = ctx;
	search(r, b, n, at);
	if (r->s->guard)
		search_guarded(r, b, n, at);
	if (r->low)
		search_low(r, b, n, at);
}

int scan_run(struct scan *s)
{
	struct run *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->s = s;
	make_sieve(r);
	struct memory_walk w = {
		.memory = s->memory, .skip = s->skip, .nskip = s->nskip, .piece = on_piece, .ctx = r};
	int e = memory_walk(&w);
	s->bytes = w.bytes;
	memcpy(s->why, w.why, sizeof(s->why));
	free(r);
	return e;
}
