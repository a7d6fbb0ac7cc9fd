// SPDX-License-Identifier: MIT
//
// The memory scan. Words are tried at every 4 bytes (an epoll_event is
// packed). A bit map of 64 KiB granules sieves them, so that nearly all cost
// two loads and a shift; those left are searched for among the targets.
// Pages that were never touched are told by pagemap and not read (reading
// would make them); in mappings that the program cannot write only its own
// copies count: it may unprotect them again. Shared mappings are read whole.
#include "engine/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, CHUNK = 1 << 20, BATCH = 512, GRANULE = 16, SIEVE_WORDS = 1 << 13 };
#define PM_PRESENT (1ULL << 63)
#define PM_SWAPPED (1ULL << 62)
#define PM_FILE (1ULL << 61)

struct run {
	struct scan *s;
	int pagemap;
	uint64_t sieve[SIEVE_WORDS];
	unsigned char buffer[CHUNK + 8];
};

size_t scan_find(const struct span *v, size_t n, uint64_t addr)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (v[mid].hi <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
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
		s->hit(s->ctx, at, t);
}

// n bytes of the target's memory at `at`, 8 zero bytes behind them.
static void search(struct run *r, uint64_t at, size_t n)
{
	const unsigned char *b = r->buffer;
	const uint64_t *sieve = r->sieve;
	size_t i = 0;
	for (; i + 32 <= n; i += 32) {
		uint64_t any = 0;
		for (size_t k = 0; k < 32; k += 4)
			any |= sieved(sieve, word_at(b + i + k));
		if (!(any & 1))
			continue;
		for (size_t k = 0; k < 32; k += 4)
			if (sieved(sieve, word_at(b + i + k)) & 1)
				try_word(r->s, at + i + k, word_at(b + i + k));
	}
	for (; i + 4 <= n; i += 4)
		try_word(r->s, at + i, word_at(b + i));
}

// Reads and searches [lo, hi), which the caller wants whole.
static int read_span(struct run *r, const struct proc_map *m, uint64_t lo, uint64_t hi)
{
	struct scan *s = r->s;
	bool force = m->perms[0] != 'r';
	while (lo < hi) {
		size_t n = hi - lo < CHUNK ? (size_t)(hi - lo) : CHUNK;
		size_t got = proc_peek(s->pid, lo, r->buffer, n, force);
		if (got < n)
			got += proc_peek(s->pid, lo + got, r->buffer + got, n - got, true);
		if (got < n) {
			snprintf(s->why, sizeof(s->why), "memory at 0x%llx (%.60s) cannot be read",
				 (unsigned long long)(lo + got), *m->path ? m->path : "anonymous");
			return -EIO;
		}
		memset(r->buffer + n, 0, 8);
		search(r, lo, n);
		s->bytes += n;
		lo += n < CHUNK ? n : n - 4; // a packed pointer may lie across
		if (proc_now_ns() > s->deadline_ns) {
			snprintf(s->why, sizeof(s->why), "no time to look through all of its memory");
			return -EAGAIN;
		}
	}
	return 0;
}

// Leaves out what is to be skipped.
static int read_around(struct run *r, const struct proc_map *m, uint64_t lo, uint64_t hi)
{
	const struct scan *s = r->s;
	size_t a = 0, b = s->nskip;
	while (a < b) {
		size_t mid = (a + b) / 2;
		if (s->skip[mid].hi <= lo)
			a = mid + 1;
		else
			b = mid;
	}
	for (; lo < hi; a++) {
		uint64_t end = a < s->nskip && s->skip[a].lo < hi ? s->skip[a].lo : hi;
		int e = end > lo ? read_span(r, m, (lo + 3) & ~3ULL, end) : 0;
		if (e)
			return e;
		lo = a < s->nskip && s->skip[a].lo < hi ? s->skip[a].hi : hi;
	}
	return 0;
}

static bool page_wanted(uint64_t entry, bool writable)
{
	if (!(entry & (PM_PRESENT | PM_SWAPPED)))
		return false;
	return writable || !(entry & PM_FILE);
}

// A private mapping: only pages that the program has touched.
static int read_touched(struct run *r, const struct proc_map *m)
{
	uint64_t entries[BATCH];
	bool writable = m->perms[1] == 'w';
	uint64_t begun = m->lo, end = m->lo; // touched pages not yet read
	for (uint64_t at = m->lo; at < m->hi;) {
		uint64_t n = (m->hi - at) / PAGE < BATCH ? (m->hi - at) / PAGE : BATCH;
		ssize_t got = pread(r->pagemap, entries, n * 8, (off_t)(at / PAGE * 8));
		if (got != (ssize_t)(n * 8)) {
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
		if (proc_now_ns() > r->s->deadline_ns) {
			snprintf(r->s->why, sizeof(r->s->why), "no time to look through all of its memory");
			return -EAGAIN;
		}
	}
	return read_around(r, m, begun, end);
}

static int read_map(struct run *r, const struct proc_map *m)
{
	if (!strncmp(m->path, "[v", 2) || strstr(m->path, "memfd:ctp"))
		return 0; // vdso and its data; our own
	if (m->perms[3] == 's')
		return m->perms[1] == 'w' ? read_around(r, m, m->lo, m->hi) : 0;
	return read_touched(r, m);
}

int scan_run(struct scan *s, const struct proc_maps *maps)
{
	char path[64];
	struct run *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->s = s;
	s->bytes = 0;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", s->pid);
	r->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	int e = r->pagemap < 0 ? -EIO : 0;
	if (e)
		snprintf(s->why, sizeof(s->why), "the kernel does not show its page map");
	for (size_t i = 0; i < s->ntargets; i++)
		for (uint64_t g = s->targets[i].lo >> GRANULE; g <= (s->targets[i].hi - 1) >> GRANULE; g++)
			r->sieve[g >> 6 & (SIEVE_WORDS - 1)] |= 1ULL << (g & 63);
	for (size_t i = 0; !e && i < maps->n; i++)
		e = read_map(r, &maps->v[i]);
	if (r->pagemap >= 0)
		close(r->pagemap);
	free(r);
	return e;
}
