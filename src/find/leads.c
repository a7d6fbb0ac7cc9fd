// SPDX-License-Identifier: MIT
//
// The data of a registration is a pointer as a rule: to the coroutine's control block, to its
// stack, or to something that holds such a pointer. What leads to several coroutines leads to none.
#include "find/leads.h"

#include <errno.h>
#include <stdlib.h>

#include "search/heap/malloc_heap.h"

enum { LOOKED = 512, BLOCK_MOST = 4096, BLOCK_ALONE = 64 };

struct target {
	uint64_t lo, hi;
	uint32_t row;
};

struct targets {
	struct target *v; // by lo
	size_t n;
};

#define NONE LEADS_NOWHERE
#define SEVERAL (UINT32_MAX - 1)

static int by_lo(const void *a, const void *b)
{
	const struct target *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

static uint32_t leads(const struct targets *t, uint64_t addr)
{
	size_t lo = 0, hi = t->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (t->v[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	// stacks may hold blocks: the last ones that begin before it
	for (size_t i = lo; i-- > 0 && lo - i < 4;)
		if (addr < t->v[i].hi)
			return t->v[i].row;
	return NONE;
}

// The blocks of malloc that these addresses lie in; those that lie in none have lo 0.
static int find_blocks(const struct contexts *c, const uint64_t *addrs, size_t n, struct span *out)
{
	struct malloc_heap_query *q = calloc(n + 1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		q[i].addr = addrs[i];
	if (n)
		malloc_heap_resolve(&c->image->memory, q, n);
	for (size_t i = 0; i < n; i++) {
		size_t lo = 0, hi = n;
		while (lo < hi) {
			size_t mid = (lo + hi) / 2;
			if (q[mid].addr < addrs[i])
				lo = mid + 1;
			else
				hi = mid;
		}
		out[i] = lo < n && q[lo].found ? q[lo].block : (struct span){0, 0};
	}
	free(q);
	return 0;
}

// Its stack and its control block. A block that holds the blocks of several is nobody's.
static int make_targets(struct targets *t, const struct contexts *c)
{
	uint64_t *ids = calloc(c->n + 1, sizeof(*ids));
	struct span *blocks = calloc(c->n + 1, sizeof(*blocks));
	t->v = calloc(2 * c->n + 1, sizeof(*t->v));
	int e = ids && blocks && t->v ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < c->n; i++)
		ids[i] = c->v[i].id;
	if (!e)
		e = find_blocks(c, ids, c->n, blocks);
	for (size_t i = 0; !e && i < c->n; i++) {
		const struct context *x = &c->v[i];
		bool shared = (i && blocks[i].lo && blocks[i - 1].lo == blocks[i].lo) ||
			      (i + 1 < c->n && blocks[i].lo && blocks[i + 1].lo == blocks[i].lo);
		bool in_stack = x->id >= x->lo && x->id < x->hi;
		if (x->lo < x->hi)
			t->v[t->n++] = (struct target){x->lo, x->hi, (uint32_t)i};
		if (!in_stack && blocks[i].lo && !shared && blocks[i].hi - blocks[i].lo <= BLOCK_MOST)
			t->v[t->n++] = (struct target){blocks[i].lo, blocks[i].hi, (uint32_t)i};
		else if (!in_stack)
			t->v[t->n++] = (struct target){x->id - BLOCK_ALONE, x->id + BLOCK_ALONE, (uint32_t)i};
	}
	if (!e && t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_lo);
	free(ids);
	free(blocks);
	return e;
}

// By what the pointer points to.
static uint32_t leads_through(const struct targets *t, const struct contexts *c, uint64_t data,
			      struct span block)
{
	uint64_t words[LOOKED / 8];
	uint32_t found = NONE;
	uint64_t from = block.lo ? block.lo : data & ~7ULL,
		 most = block.lo ? block.hi - block.lo : LOOKED / 4;
	if (block.lo && data - from > LOOKED)
		from = data & ~7ULL;
	size_t n = image_peek(c->image, from, words, most < LOOKED ? most : LOOKED) / 8;
	for (size_t i = 0; i < n; i++) {
		uint32_t row = words[i] > BLOCK_ALONE ? leads(t, words[i]) : NONE;
		if (row == NONE)
			continue;
		found = found == NONE || found == row ? row : SEVERAL;
	}
	return found;
}

int leads_find(const struct contexts *c, const uint64_t *data, size_t n, uint32_t *to)
{
	struct targets t = {.n = 0};
	struct span *blocks = calloc(n + 1, sizeof(*blocks));
	int e = blocks ? make_targets(&t, c) : -ENOMEM;
	if (!e)
		e = find_blocks(c, data, n, blocks);
	for (size_t i = 0; !e && i < n; i++) {
		uint32_t row = leads(&t, data[i]);
		if (row == NONE && data[i] > UINT32_MAX)
			row = leads_through(&t, c, data[i], blocks[i]);
		to[i] = row == SEVERAL ? NONE : row;
	}
	free(blocks);
	free(t.v);
	return e;
}
