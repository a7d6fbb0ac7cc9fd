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

// Spans that overlap become one, and their nodes one group.
static void add_span(struct graph *g, const struct graph_part *p)
{
	struct span *last = g->nspans ? &g->spans[g->nspans - 1] : NULL;
	if (p->at.hi <= p->at.lo)
		return;
	if (!last || p->at.lo >= last->hi) {
		g->owner[g->nspans] = p->node;
		g->spans[g->nspans++] = p->at;
		return;
	}
	if (p->at.hi > last->hi)
		last->hi = p->at.hi;
	g->group[graph_group(g, p->node)] = graph_group(g, g->owner[g->nspans - 1]);
}

int graph_init(struct graph *g, size_t n, struct graph_part *p, size_t parts)
{
	*g = (struct graph){.n = n, .group = calloc(n + 1, sizeof(uint32_t)), .reached = calloc(n + 1, sizeof(bool)),
			    .spans = calloc(parts + 1, sizeof(struct span)), .owner = calloc(parts + 1, sizeof(uint32_t)),
			    .points = calloc(parts + 1, sizeof(struct graph_part)),
			    .targets = calloc(parts + 1, sizeof(struct span))};
	if (!g->group || !g->spans || !g->owner || !g->points || !g->targets || !g->reached)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		g->group[i] = (uint32_t)i;
	qsort(p, parts, sizeof(*p), by_lo);
	for (size_t i = 0; i < parts; i++) {
		g->targets[g->ntargets++] = p[i].point ? (struct span){p[i].at.lo, p[i].at.lo + 1} : p[i].at;
		if (p[i].point)
			g->points[g->npoints++] = p[i];
		else
			add_span(g, &p[i]);
	}
	for (size_t i = 0; i < g->nspans; i++)
		g->owner[i] = graph_group(g, g->owner[i]);
	g->ntargets = scan_tidy(g->targets, g->ntargets);
	return 0;
}

void graph_deinit(struct graph *g)
{
	free(g->group);
	free(g->spans);
	free(g->owner);
	free(g->points);
	free(g->targets);
	free(g->edges);
	free(g->reached);
	*g = (struct graph){0};
}

bool graph_has(const struct graph *g, uint64_t addr)
{
	return scan_find(g->spans, g->nspans, addr) < g->nspans;
}

unsigned graph_owners(struct graph *g, uint64_t value, uint32_t owners[GRAPH_OWNERS])
{
	unsigned n = 0;
	size_t in = scan_find(g->spans, g->nspans, value), lo = 0, hi = g->npoints;
	if (in < g->nspans)
		owners[n++] = g->owner[in];
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (g->points[mid].at.lo < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < g->npoints && g->points[lo].at.lo == value && n < GRAPH_OWNERS; lo++)
		owners[n++] = graph_group(g, g->points[lo].node);
	return n;
}

static void add_edge(struct graph *g, struct graph_edge e)
{
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

void graph_word(struct graph *g, uint64_t at, uint64_t value)
{
	uint32_t owners[GRAPH_OWNERS];
	size_t in = scan_find(g->spans, g->nspans, at);
	unsigned n = graph_owners(g, value, owners);
	for (unsigned i = 0; i < n; i++)
		add_edge(g, (struct graph_edge){in < g->nspans ? g->owner[in] : GRAPH_OUTSIDE, owners[i], at});
}

static int by_target(const void *a, const void *b)
{
	const struct graph_edge *x = a, *y = b;
	return x->to != y->to ? (x->to < y->to ? -1 : 1) : x->at < y->at ? -1 : x->at > y->at;
}

size_t graph_edges_to(const struct graph *g, uint32_t group)
{
	size_t lo = 0, hi = g->nedges;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (g->edges[mid].to < group)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void graph_spread(struct graph *g)
{
	if (g->nedges)
		qsort(g->edges, g->nedges, sizeof(*g->edges), by_target);
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < g->nedges; i++) {
			const struct graph_edge *e = &g->edges[i];
			if ((e->from == GRAPH_OUTSIDE || g->reached[e->from]) && !g->reached[e->to])
				more = g->reached[e->to] = true;
		}
	}
}
