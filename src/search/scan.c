// SPDX-License-Identifier: MIT
//
// The memory scan. A word may begin at any byte: structures are packed, and
// lists without locks keep a count below the pointer. Blocks in which no two
// bytes are the upper bytes of a target's address are passed over at once;
// else a bit map of 64 KiB granules sieves the words, and those left are
// searched for among the targets. Pages that were never touched are told by
// pagemap and not read (reading would make them); in private mappings that the
// program cannot write only its own copies count: it may unprotect them again.
// Shared mappings are read whole, whatever may be done with them here, and so are
// files that have no name: an untouched page shows what is in the file. A jmp_buf
// keeps the stack pointer in glibc's disguise: such words are seen through, too,
// and those in which an address was moved to the right.
#include "search/scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum { PAGE = 4096, CHUNK = 1 << 20, BATCH = 512, GRANULE = 16, SIEVE_WORDS = 1 << 13 };
enum { WORD = 8, BLOCK = 64, UPPER = 32, UPPERS = 16 };

struct run {
	struct scan *s;
	uint64_t sieve[SIEVE_WORDS];
	unsigned char upper[UPPERS][2]; // bytes 4 and 5 of target addresses
	unsigned nupper;                // above UPPERS: too many to be of use
	bool low;                       // a target lies below 4 GiB: four bytes may be a pointer
	unsigned char buffer[CHUNK + BLOCK];
};

size_t scan_find(const struct span *v, size_t n, uint64_t addr)
{
	size_t lo = FIRST_NOT(n, i, v[i].hi <= addr);
	return lo < n && v[lo].lo <= addr ? lo : n;
}

static int by_lo(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

size_t scan_tidy(struct span *v, size_t n)
{
	size_t k = 0;
	if (n)
		qsort(v, n, sizeof(*v), by_lo);
	for (size_t i = 0; i < n; i++) {
		if (v[i].hi <= v[i].lo)
			continue;
		if (k && v[i].lo <= v[k - 1].hi) {
			if (v[i].hi > v[k - 1].hi)
				v[k - 1].hi = v[i].hi;
		} else {
			v[k++] = v[i];
		}
	}
	return k;
}

static inline uint64_t word_at(const unsigned char *p)
{
	uint64_t w;
	memcpy(&w, p, sizeof(w));
	return w;
}

static inline uint64_t sieved(const uint64_t *sieve, uint64_t w)
{
	return sieve[w >> (GRANULE + 6) & (SIEVE_WORDS - 1)] >> (w >> GRANULE & 63);
}

static void try_word(struct scan *s, uint64_t at, uint64_t w)
{
	size_t t = scan_find(s->targets, s->ntargets, w & SCAN_ADDRESS_MASK);
	if (t < s->ntargets)
		s->hit(s->ctx, at, w & SCAN_ADDRESS_MASK);
}

// Does any word that begins in this block have the upper bytes of a target? As the compiler likes it.
static bool block_may(const struct run *r, const unsigned char *b)
{
	unsigned char any = r->nupper > UPPERS;
	for (unsigned u = 0; u < r->nupper && u < UPPERS; u++) {
		unsigned char lo = r->upper[u][0], hi = r->upper[u][1];
		for (size_t k = 0; k < BLOCK; k++)
			any |= (unsigned char)((b[k + 4] == lo) & (b[k + 5] == hi));
	}
	return any;
}

static inline uint64_t undisguised(const struct scan *s, uint64_t w)
{
	return (w >> s->rotate | w << (-s->rotate & 63)) ^ s->guard;
}

// Aligned words that are an address once they are undisguised, as those in jmp_bufs,
// or moved to the left: what is a multiple of 8 or 16 has room for more of a tag.
static void search_disguised(struct run *r, uint64_t at, size_t n)
{
	for (size_t i = -at & (WORD - 1); i + WORD <= n; i += WORD) {
		uint64_t as_is = word_at(r->buffer + i), w = undisguised(r->s, as_is);
		if (r->s->guard && w <= SCAN_ADDRESS_MASK && (sieved(r->sieve, w) & 1))
			try_word(r->s, at + i, w);
		for (unsigned shift = 3; shift <= 4; shift++) {
			w = as_is << shift & SCAN_ADDRESS_MASK;
			if (w >> UPPER && (sieved(r->sieve, w) & 1))
				try_word(r->s, at + i, w);
		}
	}
}

// Four bytes, aligned, that are an address.
static void search_low(struct run *r, uint64_t at, size_t n)
{
	for (size_t i = -at & 3; i + 4 <= n; i += 4) {
		uint32_t w;
		memcpy(&w, r->buffer + i, sizeof(w));
		if (w && (sieved(r->sieve, w) & 1))
			try_word(r->s, at + i, w);
	}
}

// n bytes of the target's memory at `at`, a block of zeros behind them.
static void search(struct run *r, uint64_t at, size_t n)
{
	const unsigned char *b = r->buffer;
	for (size_t i = 0; i < n; i += BLOCK) {
		if (!block_may(r, b + i))
			continue;
		for (size_t k = i; k < i + BLOCK && k < n; k++)
			if (sieved(r->sieve, word_at(b + k)) & 1)
				try_word(r->s, at + k, word_at(b + k));
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

// A file without a name: what is in it can come from nobody but whoever maps it.
static bool nameless(const struct maps_line *m)
{
	static const char gone[] = " (deleted)";
	size_t n = strlen(m->path);
	return m->ino && n > sizeof(gone) && !strcmp(m->path + n - (sizeof(gone) - 1), gone);
}

// Behind the end of a mapped file there is nothing.
static bool may_end(const struct maps_line *m)
{
	bool device = !strncmp(m->path, "/dev/", 5) && strncmp(m->path, "/dev/shm/", 9) &&
		      strncmp(m->path, "/dev/zero", 9);
	bool secret = !strncmp(m->path, "/secretmem", 10);
	return (m->perms[3] == 's' || nameless(m)) && m->ino && *m->path == '/' && !device && !secret;
}

// Reads and searches [lo, hi), which the caller wants whole.
static int read_span(struct run *r, const struct maps_line *m, uint64_t lo, uint64_t hi)
{
	struct scan *s = r->s;
	bool force = m->perms[0] != 'r';
	while (lo < hi) {
		size_t n = hi - lo < CHUNK ? (size_t)(hi - lo) : CHUNK;
		size_t got = memory_peek(s->memory, lo, r->buffer, n, force);
		if (got < n)
			got += memory_peek(s->memory, lo + got, r->buffer + got, n - got, true);
		if (got < n && !may_end(m)) {
			snprintf(s->why, sizeof(s->why), "memory at 0x%llx (%.60s) cannot be read",
				 (unsigned long long)(lo + got), *m->path ? m->path : "anonymous");
			return -EIO;
		}
		memset(r->buffer + got, 0, BLOCK);
		if (got == n) // a word may lie across, into another mapping
			memory_peek(s->memory, lo + got, r->buffer + got, WORD - 1, false);
		search(r, lo, got);
		search_disguised(r, lo, got);
		if (r->low)
			search_low(r, lo, got);
		s->bytes += got;
		if (got < n)
			lo = (lo + got + PAGE) & ~(uint64_t)(PAGE - 1);
		else
			lo += n < CHUNK ? n : n - (WORD - 1); // a word may lie across
		if (memory_late(s->memory)) {
			snprintf(s->why, sizeof(s->why), "no time to look through all of its memory");
			return -EAGAIN;
		}
	}
	return 0;
}

// Leaves out what is to be skipped.
static int read_around(struct run *r, const struct maps_line *m, uint64_t lo, uint64_t hi)
{
	const struct scan *s = r->s;
	size_t a = FIRST_NOT(s->nskip, i, s->skip[i].hi <= lo);
	for (; lo < hi; a++) {
		uint64_t end = a < s->nskip && s->skip[a].lo < hi ? s->skip[a].lo : hi;
		int e = end > lo ? read_span(r, m, lo, end) : 0;
		if (e)
			return e;
		lo = a < s->nskip && s->skip[a].lo < hi ? s->skip[a].hi : hi;
	}
	return 0;
}

static bool page_wanted(uint64_t entry, bool writable)
{
	if (!(entry & (MEMORY_PRESENT | MEMORY_SWAPPED)))
		return false;
	return writable || !(entry & MEMORY_FILE);
}

// A private mapping: only pages that the program has touched.
static int read_touched(struct run *r, const struct maps_line *m)
{
	uint64_t entries[BATCH];
	bool writable = m->perms[1] == 'w';
	uint64_t begun = m->lo, end = m->lo; // touched pages not yet read
	for (uint64_t at = m->lo; at < m->hi;) {
		uint64_t n = (m->hi - at) / PAGE < BATCH ? (m->hi - at) / PAGE : BATCH;
		if (memory_page_entries(r->s->memory, at / PAGE, entries, n) != n) {
			snprintf(r->s->why, sizeof(r->s->why), "the kernel does not show its page map");
			return -EIO;
		}
		for (uint64_t i = 0; i < n; i++, at += PAGE) {
			bool want = page_wanted(entries[i], writable);
			if (want && end == at) {
				end += PAGE;
				continue;
			}
			if (!want)
				continue;
			int e = read_around(r, m, begun, end);
			if (e)
				return e;
			begun = at;
			end = at + PAGE;
		}
		if (memory_late(r->s->memory)) {
			snprintf(r->s->why, sizeof(r->s->why), "no time to look through all of its memory");
			return -EAGAIN;
		}
	}
	return read_around(r, m, begun, end);
}

static int read_map(struct run *r, const struct maps_line *m)
{
	if (!strncmp(m->path, "[v", 2))
		return 0; // vdso and its data
	if (m->perms[3] == 's' || nameless(m))
		return read_around(r, m, m->lo, m->hi);
	return read_touched(r, m);
}

int scan_run(struct scan *s)
{
	const struct memory *m = s->memory;
	struct run *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->s = s;
	s->bytes = 0;
	make_sieve(r);
	int e = 0;
	for (size_t i = 0; !e && i < m->nmaps; i++)
		e = read_map(r, &m->maps[i]);
	free(r);
	return e;
}
