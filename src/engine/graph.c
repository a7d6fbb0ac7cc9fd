// SPDX-License-Identifier: MIT
//
// A word inside a group's own memory does not count for it; a word in another
// group counts if that group is itself reachable: a fixpoint over edges.
#include "engine/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/scan.h"

uint32_t graph_group(struct graph *g, uint32_t i)
{
	while (g->group[i] != i)
		i = g->group[i] = g->group[g->group[i]];
	return i;
}

static int by_lo(const void *a, const void *b)
{
	const struct graph_part *x = a, *y = b;
	return x->at.lo < y->at.lo ? -1 : x->at.lo > y->at.lo;
}

int graph_init(struct graph *g, size_t n, struct graph_part *p, size_t parts)
{
	*g = (struct graph){.n = n, .group = calloc(n + 1, sizeof(uint32_t)), .reached = calloc(n + 1, sizeof(bool)),
			    .targets = calloc(parts + 1, sizeof(struct span)), .owner = calloc(parts + 1, sizeof(uint32_t)),
			    .thin = calloc(parts + 1, sizeof(bool))};
	if (!g->group || !g->targets || !g->owner || !g->thin || !g->reached)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		g->group[i] = (uint32_t)i;
	qsort(p, parts, sizeof(*p), by_lo);
	for (size_t i = 0; i < parts; i++) {
		struct span *last = g->ntargets ? &g->targets[g->ntargets - 1] : NULL;
		if (p[i].at.hi <= p[i].at.lo)
			continue;
		if (last && p[i].at.lo < last->hi) {
			if (p[i].at.hi > last->hi)
				last->hi = p[i].at.hi;
			g->thin[g->ntargets - 1] &= p[i].thin;
			g->group[graph_group(g, p[i].node)] = graph_group(g, g->owner[g->ntargets - 1]);
		} else {
			g->thin[g->ntargets] = p[i].thin;
			g->owner[g->ntargets] = p[i].node;
			g->targets[g->ntargets++] = p[i].at;
		}
	}
	for (size_t i = 0; i < g->ntargets; i++)
		g->owner[i] = graph_group(g, g->owner[i]);
	return 0;
}

void graph_deinit(struct graph *g)
{
	free(g->group);
	free(g->targets);
	free(g->owner);
	free(g->thin);
	free(g->edges);
	free(g->reached);
	*g = (struct graph){0};
}

void graph_word(struct graph *g, uint64_t at, size_t t)
{
	size_t in = scan_find(g->targets, g->ntargets, at);
	bool inside = in < g->ntargets && !g->thin[in];
	struct graph_edge e = {inside ? g->owner[in] : GRAPH_OUTSIDE, g->owner[t], at};
	const struct graph_edge *last = g->nedges ? &g->edges[g->nedges - 1] : NULL;
	if (e.from == e.to || (last && e.from != GRAPH_OUTSIDE && last->from == e.from && last->to == e.to))
		return;
	if (g->nedges == g->room) {
		size_t room = g->room ? g->room * 2 : 256;
		struct graph_edge *more = room <= (1u << 24) ? realloc(g->edges, room * sizeof(*more)) : NULL;
		if (!more) {
			g->failed = true;
			return;
		}
		g->edges = more;
		g->room = room;
	}
	g->edges[g->nedges++] = e;
}

void graph_spread(struct graph *g)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < g->nedges; i++) {
			const struct graph_edge *e = &g->edges[i];
			if ((e->from == GRAPH_OUTSIDE || g->reached[e->from]) && !g->reached[e->to])
				more = g->reached[e->to] = true;
		}
	}
}
