// SPDX-License-Identifier: MIT
//
// An address two words before a block leads to it, since tables that count from one are kept so. But where
// the block before is full to its last word, it is also that one's end: a vector holds it beside its begin,
// and an iterator of a deque does. The header of the chunk tells which block ends there. That the word is
// nothing else is likely, no more.
#include "engine/stackless/ends.h"

#include <stdlib.h>

#include "base/grow.h"

enum { WORD = 8, HEADER = 16, BESIDE = 3, IN_USE = 1, FLAGS = 7 };

static uint64_t word_at(const struct inspection *l, uint64_t at)
{
	uint64_t word = 0;
	memory_peek(&l->memory, at, &word, sizeof(word), false);
	return word;
}

// Is it a block of malloc's, in use, that ends at `end`?
static bool ends_at(const struct inspection *l, uint64_t block, uint64_t end)
{
	if (block % HEADER || block >= end)
		return false;
	uint64_t size = word_at(l, block - WORD) & ~(uint64_t)FLAGS;
	return block - HEADER + size == end && (word_at(l, end + WORD) & IN_USE);
}

bool ends_word(const struct inspection *l, struct graph *g, const struct graph_edge *e)
{
	uint64_t end = word_at(l, e->at) & SPAN_ADDRESS_MASK;
	uint32_t owners[GRAPH_OWNERS];
	if (end % HEADER || !graph_has(g, end + HEADER) || !graph_owners(g, end + HEADER, owners) ||
	    owners[0] != e->to)
		return false;
	for (int i = -BESIDE; i <= BESIDE; i++)
		if (i && ends_at(l, word_at(l, e->at + (uint64_t)((int64_t)i * WORD)), end))
			return true;
	return false;
}

bool ends_take(struct ends *t, const struct inspection *l, struct graph *g)
{
	size_t kept = 0;
	bool room = true;
	for (size_t i = 0; i < g->nedges; i++) {
		bool is = room && !inspect_late(l) && ends_word(l, g, &g->edges[i]);
		room &= !is || !GROW(t->v, t->n, t->room);
		if (is && room)
			t->v[t->n++] = g->edges[i];
		else
			g->edges[kept++] = g->edges[i];
	}
	g->nedges = kept;
	return room;
}

bool ends_mark(const struct ends *t, struct graph *g, bool *marked)
{
	bool more = t->n;
	while (more) {
		more = false;
		for (size_t i = 0; i < t->n; i++) {
			const struct graph_edge *e = &t->v[i];
			if (marked[e->to] || g->reached[e->to] ||
			    (e->from != GRAPH_OUTSIDE && !g->reached[e->from] && !marked[e->from]))
				continue;
			more = marked[e->to] = true;
		}
		if (more && !graph_follow(g, marked))
			return false;
	}
	return true;
}

void ends_deinit(struct ends *t)
{
	free(t->v);
	*t = (struct ends){0};
}
