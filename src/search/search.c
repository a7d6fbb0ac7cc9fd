// SPDX-License-Identifier: MIT
//
// In a large memory some words lead into a node by chance. Nearly all of those have a tag in their upper 16
// bits, lie at no multiple of eight and lead to the middle of the node, seven of eight to no multiple of
// eight, which no pointer does: so many tell how many of the others chance explains. Those count only if
// there are more.
//
// Rounds of the scan, each with the blocks of the heap that the one before has found as further nodes.
#include "search/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/disguise/handles.h"
#include "search/heap/malloc_heap.h"
#include "search/mark/scan.h"

enum { WORD = 8, ROUND = 1 << 24, ROUNDS = 6, BLOCKS_MOST = 1 << 16, WORDS_MOST = 1 << 18 };

// A block of the heap, from lo to its last word, which lies in the next one's header.
// Addresses just before it (tables that count from one) and just behind it (ends, and
// what is counted down from them) lead to it as well.
static void block_parts(struct search *s, struct span block, uint32_t node, struct graph_part *p, size_t *n)
{
	uint64_t header = block.lo - 16, next = block.hi - 8;
	p[(*n)++] = (struct graph_part){block, node, false};
	p[(*n)++] = (struct graph_part){{block.lo - 8, 0}, node, true};
	p[(*n)++] = (struct graph_part){{block.hi, 0}, node, true};
	if (!malloc_heap_is_idle(s->memory, header))
		p[(*n)++] = (struct graph_part){{header, 0}, node, true};
	if (malloc_heap_is_idle(s->memory, next))
		span_add(&s->idle, next, next + 1);
}

static bool begin(struct search *s)
{
	enum { MOST = 5 };
	struct graph_part *p = calloc(MOST * (s->npieces + s->blocks.n) + 1, sizeof(*p));
	size_t n = 0;
	if (!p)
		return false;
	s->idle.n = 0;
	for (size_t i = 0; i < s->npieces; i++) {
		const struct search_piece *piece = &s->pieces[i];
		if (piece->heap) {
			block_parts(s, piece->at, piece->node, p, &n);
		} else {
			p[n++] = (struct graph_part){piece->at, piece->node, false};
			p[n++] = (struct graph_part){{piece->at.hi, 0}, piece->node, true};
		}
	}
	for (size_t i = 0; i < s->blocks.n; i++)
		block_parts(s, s->blocks.v[i], (uint32_t)(s->nodes + i), p, &n);
	s->idle.n = spans_tidy(s->idle.v, s->idle.n);
	s->doubtful.n = s->faint.n = 0;
	int e = graph_init(&s->g, s->nodes + s->blocks.n, p, n);
	free(p);
	return !e;
}

static void on_hit(void *ctx, uint64_t at, uint64_t address)
{
	struct search *s = ctx;
	if (scan_find(s->freed.v, s->freed.n, at) < s->freed.n || stack_ends_explain(&s->ends, at, address))
		return;
	if (stack_ends_may_explain(&s->ends, address))
		words_add(&s->doubtful, at, address);
	else if (scan_find(s->idle.v, s->idle.n, address) == s->idle.n)
		graph_word(&s->g, at, address);
	else if (!malloc_heap_has_list_head(s->memory, at))
		words_add(&s->doubtful, at, address);
}

// The first byte of a node, or a place that means one; but not one as round as other numbers are.
static bool is_begin(const struct graph *g, uint64_t address)
{
	if (!(address & (ROUND - 1)))
		return false;
	size_t i = FIRST_NOT(g->npoints, k, g->points[k].at.lo < address);
	if (i < g->npoints && g->points[i].at.lo == address)
		return true;
	i = scan_find(g->spans, g->nspans, address);
	return i < g->nspans && g->spans[i].lo == address;
}

static void on_tagged(void *ctx, uint64_t at, uint64_t address)
{
	struct search *s = ctx;
	if ((!(at % WORD) && !(address % WORD)) || is_begin(&s->g, address) ||
	    is_begin(&s->g, address & ~(uint64_t)(WORD - 1)))
		on_hit(ctx, at, address);
	else
		words_add(&s->faint, at, address);
}

// How many words that are as good as random would lead to a target, at most, is less than one in 400.
static bool chance_is_nil(const struct search *s, uint64_t bytes)
{
	double spans = 0;
	for (size_t i = 0; i < s->g.ntargets; i++)
		spans += (double)(s->g.targets[i].hi - s->g.targets[i].lo);
	return spans * (double)bytes < (double)(SPAN_ADDRESS_MASK + 1) / 400;
}

static void settle_faint(struct search *s, uint64_t bytes)
{
	bool all = chance_is_nil(s, bytes);
	struct handles_tally t = {.n = {1, WORD, 0}};
	for (size_t i = 0; i < s->faint.n; i++)
		t.hits[s->faint.v[i].address % WORD ? HANDLES_DECOY : HANDLES_TARGET]++;
	bool some = handles_in_use(&t, false);
	for (size_t i = 0; i < s->faint.n; i++)
		if (all || (some && !(s->faint.v[i].address % WORD)))
			on_hit(s, s->faint.v[i].at, s->faint.v[i].address);
	s->g.failed |= s->faint.failed;
}

// Of the words that lead to a chunk not in use, those in other such chunks are the
// allocator's. Of those that lead to an end, some are explained by the block they lie in.
static bool settle_doubtful(struct search *s)
{
	enum { LINKS = 32 };
	struct words *w = &s->doubtful;
	struct malloc_heap_query *q = calloc(w->n + 1, sizeof(*q));
	if (!q || w->failed) {
		free(q);
		return false;
	}
	words_sort(w);
	for (size_t i = 0; i < w->n; i++)
		q[i].addr = w->v[i].at;
	malloc_heap_resolve(s->memory, q, w->n); // the answers are in order
	bool late = false;
	for (size_t i = 0; !late && i < w->n; i++) {
		uint64_t at = w->v[i].at, address = w->v[i].address;
		bool header = scan_find(s->idle.v, s->idle.n, address) < s->idle.n;
		bool link = header && q[i].found && at - q[i].block.lo < LINKS &&
			    malloc_heap_is_idle(s->memory, q[i].block.lo - 16);
		if (!link && !(q[i].found && stack_ends_explain_in(&s->ends, q[i].block, address)))
			graph_word(&s->g, at, address);
		late = i % 1024 == 1023 && memory_late(s->memory);
	}
	free(q);
	return !late;
}

// Makes objects of the heap blocks that hold words which lead to somebody. True
// if there are new ones: then memory must be searched for what leads to those.
static bool more_blocks(struct search *s)
{
	struct graph *g = &s->g;
	size_t n = 0, had = s->blocks.n;
	if (g->nedges > WORDS_MOST || memory_late(s->memory))
		return false; // then such words count as they are
	struct malloc_heap_query *q = calloc(2 * g->nedges + 1, sizeof(*q));
	for (size_t i = 0; q && i < g->nedges; i++)
		if (g->edges[i].from == GRAPH_OUTSIDE) {
			q[n++].addr = g->edges[i].at;
			q[n++].addr = g->edges[i].at - 8;
		}
	if (n)
		malloc_heap_resolve(s->memory, q, n);
	uint64_t last = 0; // the answers are in order
	for (size_t i = 0; i < n && s->blocks.n < BLOCKS_MOST; i++) {
		if (!q[i].found || q[i].block.lo == last || graph_has(g, q[i].block.lo))
			continue;
		last = q[i].block.lo;
		span_add(&s->blocks, last, q[i].block.hi + 8);
	}
	free(q);
	return s->blocks.n > had;
}

// All of memory, until no more blocks are found that reference somebody.
int search_run(struct search *s)
{
	struct scan scan = {.memory = s->memory,
			    .skip = s->skip,
			    .nskip = s->nskip,
			    .hit = on_hit,
			    .tagged = on_tagged,
			    .ctx = s,
			    .guard = s->guard,
			    .rotate = s->rotate};
	int e;
	for (int round = 0;; round++) {
		if (!begin(s)) {
			snprintf(s->why, sizeof(s->why), "out of memory");
			return -ENOMEM;
		}
		scan.targets = s->g.targets;
		scan.ntargets = s->g.ntargets;
		e = scan_run(&scan);
		settle_faint(s, scan.bytes);
		if (!e && !settle_doubtful(s))
			s->g.failed = true;
		if (e || s->g.failed || round == ROUNDS || !more_blocks(s))
			break;
		graph_deinit(&s->g);
	}
	s->bytes = scan.bytes;
	s->partial = s->g.failed || s->blocks.failed;
	memcpy(s->why, scan.why, sizeof(s->why));
	return e;
}

void search_deinit(struct search *s)
{
	graph_deinit(&s->g);
	stack_ends_deinit(&s->ends);
	free(s->freed.v);
	free(s->blocks.v);
	free(s->idle.v);
	free(s->faint.v);
	free(s->doubtful.v);
}
