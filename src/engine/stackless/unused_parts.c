// SPDX-License-Identifier: MIT
//
// A queue that has handed on its first element keeps the word: std::deque only moves its begin. So does a
// std::vector that has become shorter. Such a word leads to a coroutine for as long as its place is not
// needed, but nothing reads it any more. What the containers look like is the ABI of GCC's library: a deque
// has the iterators of its begin and end, whose parts confirm each other, a vector three addresses in one
// block. It counts only if all words that lead into the block are those of one such container: whoever has
// another address of it may read any part.
#include "engine/stackless/unused_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "search/mark/scan.h"

enum {
	WORD = 8,
	PART_BYTES = 512, // of a deque
	SLACK_BYTES = 24, // behind a vector's end: a block is as long as was asked for, rounded up
	BLOCK_MOST = 1 << 16,
	EDGES_MOST = 64, // that lead to a block
	BLOCKS_MOST = 4096,
	BEFORE = 9, // words of a container before one that leads to its block
	WORDS = 10, // of a deque; of a vector the first three
	AROUND = BEFORE + WORDS,
};

enum { MAP, MAP_SIZE, BEGIN, END = BEGIN + 4, NODES };        // of a deque
enum { CURRENT, FIRST, LAST, NODE };                          // of its iterators
enum { VECTOR_BEGIN, VECTOR_END, VECTOR_ROOM, VECTOR_WORDS }; // of a vector

struct block {
	struct span at;     // of one malloc block, as it can be used
	struct span used;   // where elements are
	struct span holder; // the container's own words
	uint64_t nodes[2];  // of a deque: the words of its map that lead to the first part and to the last
	bool judged, is;    // it is a container's
};

struct parts {
	const struct inspection *l;
	struct graph *g;
	struct block *by_group; // those that were judged
	size_t judged;
};

static size_t peek(const struct parts *p, uint64_t at, void *to, size_t bytes)
{
	return memory_peek(&p->l->memory, at, to, bytes, false);
}

static uint64_t word_at(const struct parts *p, uint64_t at)
{
	uint64_t word = 0;
	peek(p, at, &word, sizeof(word));
	return word;
}

// Does the iterator stand in a part that is whole, and that the map's word at NODE leads to?
static bool is_iterator(const struct parts *p, const uint64_t *v, const uint64_t *map)
{
	return v[LAST] - v[FIRST] == PART_BYTES && v[CURRENT] - v[FIRST] < PART_BYTES &&
	       v[NODE] % WORD == 0 && v[NODE] >= map[MAP] && (v[NODE] - map[MAP]) / WORD < map[MAP_SIZE] &&
	       word_at(p, v[NODE]) == v[FIRST];
}

static bool is_deque(const struct parts *p, const uint64_t *v, uint64_t at, struct block *b)
{
	const uint64_t *first = v + BEGIN, *last = v + END;
	if (!v[MAP] || v[MAP] % WORD || !v[MAP_SIZE] || v[MAP_SIZE] > BLOCK_MOST ||
	    last[NODE] < first[NODE] || (first[FIRST] != b->at.lo && last[FIRST] != b->at.lo) ||
	    !is_iterator(p, first, v) || !is_iterator(p, last, v))
		return false;
	b->used = b->at;
	if (first[FIRST] == b->at.lo)
		b->used.lo = first[CURRENT];
	if (last[FIRST] == b->at.lo)
		b->used.hi = last[CURRENT];
	b->holder = (struct span){at, at + WORDS * WORD};
	b->nodes[0] = first[NODE];
	b->nodes[1] = last[NODE];
	return b->used.lo <= b->used.hi;
}

static bool is_vector(const uint64_t *v, uint64_t at, struct block *b)
{
	if (v[VECTOR_BEGIN] != b->at.lo || v[VECTOR_END] < b->at.lo || v[VECTOR_ROOM] < v[VECTOR_END] ||
	    v[VECTOR_ROOM] > b->at.hi || b->at.hi - v[VECTOR_ROOM] >= SLACK_BYTES || v[VECTOR_END] % WORD ||
	    v[VECTOR_ROOM] % WORD)
		return false;
	b->used = (struct span){b->at.lo, v[VECTOR_END]};
	b->holder = (struct span){at, at + VECTOR_WORDS * WORD};
	return true;
}

// Is a container beside this word, which leads into the block?
static bool find_holder(const struct parts *p, uint64_t at, struct block *b)
{
	uint64_t v[AROUND] = {0}, from = (at & ~(uint64_t)(WORD - 1)) - BEFORE * WORD;
	size_t skip = 0, n;
	while (!(n = peek(p, from + skip * WORD, v, sizeof(v) - skip * WORD) / WORD) && skip < BEFORE)
		skip++; // a mapping begins between
	for (size_t i = 0; i < n; i++) {
		uint64_t is_at = from + (skip + i) * WORD;
		if ((n - i >= WORDS && is_deque(p, v + i, is_at, b)) ||
		    (n - i >= VECTOR_WORDS && is_vector(v + i, is_at, b)))
			return true;
	}
	return false;
}

static bool is_own(const struct block *b, uint64_t at)
{
	return (at >= b->holder.lo && at < b->holder.hi) || at == b->nodes[0] || at == b->nodes[1];
}

static bool leads_in(const struct block *b, uint64_t word)
{
	word &= SPAN_ADDRESS_MASK;
	return word >= b->at.lo - WORD && word <= b->at.hi;
}

// An edge stands for all words of its block that lead to the same one: do only the container's own lead in?
static bool is_only_own(const struct parts *p, const struct graph_edge *e, const struct block *b)
{
	static unsigned char bytes[BLOCK_MOST];
	const struct graph *g = p->g;
	size_t i = e->from == GRAPH_OUTSIDE ? g->nspans : scan_find(g->spans, g->nspans, e->at);
	if (i == g->nspans)
		return e->at % WORD == 0 && is_own(b, e->at);
	struct span in = g->spans[i];
	size_t n = in.hi - in.lo < sizeof(bytes) ? in.hi - in.lo : 0;
	if (!n || peek(p, in.lo, bytes, n) < n)
		return false;
	for (size_t k = 0; k + WORD <= n; k++) {
		uint64_t word;
		memcpy(&word, bytes + k, sizeof(word));
		if (leads_in(b, word) && (k % WORD || !is_own(b, in.lo + k)))
			return false;
	}
	return true;
}

static bool judge(const struct parts *p, uint32_t group, struct span at, struct block *b)
{
	const struct graph_edge *e;
	size_t n;
	*b = (struct block){.at = at, .judged = true};
	bool found = false;
	for (n = 0; !found && n < EDGES_MOST && (e = graph_edge_to(p->g, group, n)); n++)
		found = e->from != group && find_holder(p, e->at, b);
	for (n = 0; found && (e = graph_edge_to(p->g, group, n)); n++)
		found = n < EDGES_MOST && is_only_own(p, e, b);
	return found;
}

// The block of the heap in which the word lies, if it is a container's; or NULL.
static const struct block *block_of(struct parts *p, const struct graph_edge *e)
{
	size_t i = scan_find(p->g->spans, p->g->nspans, e->at);
	if (e->from == GRAPH_OUTSIDE || i == p->g->nspans || e->at % WORD)
		return NULL;
	struct span at = p->g->spans[i];
	struct block *b = &p->by_group[e->from];
	if (!b->judged && p->judged < BLOCKS_MOST && at.hi - at.lo < BLOCK_MOST && !inspect_late(p->l)) {
		p->judged++;
		b->is = judge(p, e->from, at, b);
	}
	return b->is && b->at.lo == at.lo ? b : NULL;
}

// Does a word where its elements are lead there, too?
static bool leads_from_used(const struct parts *p, const struct block *b, uint32_t to)
{
	static unsigned char bytes[BLOCK_MOST];
	uint64_t from = b->used.lo - b->at.lo >= WORD ? b->used.lo - WORD + 1 : b->at.lo;
	uint64_t end = b->at.hi - b->used.hi >= WORD ? b->used.hi + WORD - 1 : b->at.hi;
	uint32_t owners[GRAPH_OWNERS];
	size_t n = b->used.lo == b->used.hi ? 0 : (size_t)(end - from);
	if (n > sizeof(bytes) || peek(p, from, bytes, n) < n)
		return true;
	for (size_t i = 0; i + WORD <= n; i++) {
		uint64_t word;
		memcpy(&word, bytes + i, sizeof(word));
		unsigned k = graph_owners(p->g, word & SPAN_ADDRESS_MASK, owners);
		while (k)
			if (owners[--k] == to)
				return true;
	}
	return false;
}

static bool is_left(struct parts *p, const struct graph_edge *e)
{
	const struct block *b = block_of(p, e);
	return b && (e->at < b->used.lo || e->at >= b->used.hi) && !leads_from_used(p, b, e->to);
}

// Which words lead to a block is known once the graph is spread. What that has reached is not told.
static bool index_edges(struct graph *g)
{
	bool *reached = malloc(g->n + 1);
	if (!reached)
		return false;
	memcpy(reached, g->reached, g->n);
	bool ok = graph_spread(g);
	memcpy(g->reached, reached, g->n);
	free(reached);
	return ok;
}

// Once each, since they were judged once.
static void add_unused(const struct parts *p, struct span_list *unused)
{
	for (size_t i = 0; i < p->g->n; i++) {
		const struct block *b = &p->by_group[i];
		if (b->is && b->used.lo > b->at.lo)
			span_add(unused, b->at.lo, b->used.lo);
		if (b->is && b->at.hi > b->used.hi)
			span_add(unused, b->used.hi, b->at.hi);
	}
}

bool unused_parts_take(struct ends *t, struct span_list *unused, const struct inspection *l, struct graph *g)
{
	struct parts p = {.l = l, .g = g, .by_group = calloc(g->n + 1, sizeof(*p.by_group))};
	bool *left = calloc(g->nedges + 1, sizeof(*left));
	bool ok = p.by_group && left && index_edges(g);
	for (size_t i = 0; ok && i < g->nedges; i++)
		left[i] = is_left(&p, &g->edges[i]);
	if (ok)
		add_unused(&p, unused);
	size_t kept = 0, n = g->nedges;
	for (size_t i = 0; ok && i < n; i++)
		if (left[i] && !GROW(t->v, t->n, t->room))
			t->v[t->n++] = g->edges[i];
		else
			g->edges[kept++] = g->edges[i];
	g->nedges = ok ? kept : n;
	free(p.by_group);
	free(left);
	return ok;
}
