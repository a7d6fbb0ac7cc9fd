// SPDX-License-Identifier: MIT
//
// Blocks in glibc's own lists are the allocator's: what the program had stored
// there is gone. Bins and top are told by the headers around them, once the
// arena they belong to has proved itself; fastbins by that arena; a thread's
// cache by a block of the right size whose lists are as long as it counts, of
// blocks of the right size, each marked with the random key that the C library
// keeps (glibc 2.34 to 2.41). One thing that does not fit, and the whole list,
// cache or arena counts as in use. A pool on top of malloc is none of these.
#include "search/heap/malloc_free.h"

#include <stdlib.h>
#include <string.h>

#include "search/heap/malloc_heap.h"

enum {
	HEADER = 16,
	FLAGS = 7,
	IS_MMAPPED = 2,
	LEAST = 32,
	PAGE = 4096,
	MOST = 1 << 20,
	DATA_MOST = 1 << 20,
	MISSES = 16
};
// struct malloc_state, in words: its mutex, then
enum { FASTBINS = 2, NFASTBINS = 10, TOP = 12, BINS = 14, NBINS = 127, SYSTEM_MEM = 273, STATE_WORDS = 275 };
// struct tcache_perthread_struct: counts, and as many lists
enum { CACHE_LISTS = 64, CACHE_BYTES = CACHE_LISTS * (2 + 8), CACHE_CHUNK = CACHE_BYTES + HEADER };

struct cache {
	uint16_t counts[CACHE_LISTS];
	uint64_t entries[CACHE_LISTS];
};

// Of the C library: what it may write to.
struct data {
	uint64_t lo;
	uint64_t *words;
	size_t n;
};

struct freed {
	const struct memory *m;
	struct span_list *out;
	struct data data[4];
	size_t ndata;
	// the heap being walked
	size_t begun; // of out
	bool odd;     // a chunk's foot is not its size
	size_t caches_begun;
	// all of them
	struct span_list caches; // chunks that may be a thread's cache
	struct span_list fast;   // fastbins: where one begins, 1 + which
	struct span_list listed; // memory and chunk size of what is in caches and fastbins
	uint64_t key;
	unsigned misses; // keys that the C library does not have
};

// The link stored at `at`.
static uint64_t revealed(uint64_t at, uint64_t link)
{
	return link ^ at >> 12;
}

// ---------------------------------------------------------------- the C library's data

static void read_data(struct freed *f, uint64_t lo, uint64_t hi)
{
	size_t bytes = hi - lo < DATA_MOST ? (size_t)(hi - lo) : DATA_MOST;
	struct data *d = &f->data[f->ndata];
	d->words = malloc(bytes);
	if (!d->words)
		return;
	d->lo = lo;
	d->n = memory_peek_touched(f->m, lo, d->words, bytes) / 8;
	f->ndata++;
}

static void find_data(struct freed *f)
{
	for (size_t i = 0; i < f->m->nmaps && f->ndata < sizeof(f->data) / sizeof(*f->data); i++) {
		const struct maps_line *m = &f->m->maps[i], *last = m;
		if (m->perms[1] != 'w' || (!strstr(m->path, "/libc.so") && !strstr(m->path, "/libc-")))
			continue;
		if (i + 1 < f->m->nmaps && m[1].lo == m->hi && !*m[1].path && m[1].perms[1] == 'w')
			last = m + 1; // what has no initial value
		read_data(f, m->lo, last->hi);
	}
}

// Where the n-th word with this value lies; 0: there are no more.
static uint64_t data_word(const struct freed *f, uint64_t value, size_t n)
{
	for (size_t k = 0; k < f->ndata; k++)
		for (size_t i = 0; i < f->data[k].n; i++)
			if (f->data[k].words[i] == value && !n--)
				return f->data[k].lo + 8 * i;
	return 0;
}

// ---------------------------------------------------------------------- arenas

// Is there an arena at `at`, which nobody is working on? An empty bin points to
// itself, as if it were a chunk.
static bool is_arena(const struct freed *f, uint64_t at, uint64_t *state)
{
	if (memory_peek(f->m, at, state, 8 * STATE_WORDS, false) != 8 * STATE_WORDS)
		return false;
	for (size_t i = 0; i < NBINS; i++) {
		uint64_t self = at + 8 * (BINS + 2 * i) - HEADER, first = state[BINS + 2 * i],
			 last = state[BINS + 2 * i + 1];
		if (!first || !last || (first == self) != (last == self) || first % 16 || last % 16)
			return false;
	}
	return !(state[0] & UINT32_MAX) && state[SYSTEM_MEM] && state[SYSTEM_MEM] % PAGE == 0;
}

// The arena of the heap whose last chunk this is.
static bool find_arena(const struct freed *f, uint64_t at, uint64_t last, uint64_t *state)
{
	if (at)
		return is_arena(f, at, state);
	for (size_t n = 0; (at = data_word(f, last, n)); n++) // the main arena: its top is that chunk
		if (is_arena(f, at - 8 * TOP, state))
			return true;
	return false;
}

static void on_chunk(void *ctx, const struct malloc_heap_chunk *c)
{
	struct freed *f = ctx;
	if (c->idle && c->foot != c->size)
		f->odd = true;
	else if (c->idle && f->out->n < MOST)
		span_add(f->out, c->at + HEADER, c->at + c->size + 8);
	else if (c->size == CACHE_CHUNK && f->caches.n < MOST)
		span_add(&f->caches, c->at + HEADER, c->at + c->size);
}

static void on_heap(void *ctx, uint64_t at, uint64_t last, uint64_t end)
{
	struct freed *f = ctx;
	uint64_t state[STATE_WORDS];
	if (!last)
		f->caches.n = f->caches_begun;
	if (!last || f->odd || !find_arena(f, at, last, state)) {
		f->out->n = f->begun;
	} else if (state[TOP] == last) {
		span_add(f->out, last + HEADER, end);
		for (size_t i = 0; i < NFASTBINS; i++)
			if (state[FASTBINS + i])
				span_add(&f->fast, state[FASTBINS + i], state[FASTBINS + i] + 1 + i);
	}
	f->begun = f->out->n;
	f->caches_begun = f->caches.n;
	f->odd = false;
}

// ----------------------------------------------------------------------- lists

static int by_lo(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool may_list(const struct freed *f)
{
	return f->listed.n < MOST && (f->listed.n % 256 != 255 || !memory_late(f->m));
}

// The chunk whose memory begins at `mem`, if it is of this size. entry: its first words.
static bool is_chunk(const struct freed *f, uint64_t mem, uint64_t size, uint64_t entry[2])
{
	uint64_t words[4];
	if (mem % 16 || mem < PAGE ||
	    memory_peek(f->m, mem - HEADER, words, sizeof(words), false) != sizeof(words))
		return false;
	memcpy(entry, words + 2, 16);
	return (words[1] & ~(uint64_t)FLAGS) == size && !(words[1] & IS_MMAPPED);
}

static bool is_key(struct freed *f, uint64_t key)
{
	if (key && key == f->key)
		return true;
	if (f->key || f->misses >= MISSES || key <= SPAN_ADDRESS_MASK)
		return false;
	if (data_word(f, key, 0))
		f->key = key;
	else
		f->misses++;
	return f->key;
}

static bool cache_list(struct freed *f, uint64_t mem, unsigned count, uint64_t size)
{
	for (; count; count--) {
		uint64_t entry[2];
		if (!is_chunk(f, mem, size, entry) || !is_key(f, entry[1]) || !may_list(f))
			return false;
		span_add(&f->listed, mem, mem + size);
		mem = revealed(mem, entry[0]);
	}
	return !mem;
}

static bool cache(struct freed *f, uint64_t at)
{
	struct cache c;
	if (memory_peek(f->m, at, &c, sizeof(c), false) != sizeof(c))
		return false;
	for (size_t i = 0; i < CACHE_LISTS; i++)
		if (!c.counts[i] != !c.entries[i])
			return false;
	for (size_t i = 0; i < CACHE_LISTS; i++)
		if (!cache_list(f, c.entries[i], c.counts[i], LEAST + 16 * i))
			return false;
	return true;
}

static bool fast_list(struct freed *f, uint64_t at, uint64_t size)
{
	while (at) {
		uint64_t entry[2];
		if (!is_chunk(f, at + HEADER, size, entry) || !may_list(f))
			return false;
		span_add(&f->listed, at + HEADER, at + HEADER + size);
		at = revealed(at + HEADER, entry[0]);
	}
	return true;
}

// What has been listed is so, once each, where the heap has such a block.
static void add_listed(struct freed *f)
{
	size_t n = f->listed.n;
	struct malloc_heap_query *q = calloc(n + 1, sizeof(*q));
	const struct span *v = f->listed.v;
	if (n)
		qsort(f->listed.v, n, sizeof(*v), by_lo);
	for (size_t i = 0; q && i < n; i++)
		q[i].addr = v[i].lo;
	if (q && n)
		malloc_heap_resolve(f->m, q, n); // the answers are in order
	for (size_t i = 0; q && i < n; i++) {
		bool twice = (i && v[i - 1].lo == v[i].lo) || (i + 1 < n && v[i + 1].lo == v[i].lo);
		if (!twice && q[i].found && q[i].block.lo == v[i].lo &&
		    q[i].block.hi - v[i].lo == v[i].hi - v[i].lo - HEADER)
			span_add(f->out, v[i].lo, v[i].hi - 8);
	}
	free(q);
}

static void add_lists(struct freed *f)
{
	for (size_t i = 0; i < f->caches.n && !memory_late(f->m); i++) {
		size_t had = f->listed.n;
		if (!cache(f, f->caches.v[i].lo))
			f->listed.n = had;
	}
	for (size_t i = 0; i < f->fast.n && !memory_late(f->m); i++) {
		size_t had = f->listed.n;
		uint64_t which = f->fast.v[i].hi - f->fast.v[i].lo - 1;
		if (!fast_list(f, f->fast.v[i].lo, LEAST + 16 * which))
			f->listed.n = had;
	}
	if (!f->listed.failed)
		add_listed(f);
}

void malloc_free_find(const struct memory *m, struct span_list *out)
{
	struct freed f = {.m = m, .out = out};
	const struct malloc_heap_visitor v = {&f, on_chunk, on_heap};
	out->n = 0;
	find_data(&f);
	if (f.ndata)
		malloc_heap_visit(m, &v);
	out->n = f.begun;
	if (f.ndata)
		add_lists(&f);
	out->n = spans_tidy(out->v, out->n);
	for (size_t i = 0; i < f.ndata; i++)
		free(f.data[i].words);
	free(f.caches.v);
	free(f.fast.v);
	free(f.listed.v);
}
