// SPDX-License-Identifier: MIT
//
// A word inside a group's own memory does not count for it; a word in another
// group counts if that group is itself reachable: a fixpoint over edges.
#include "search/mark/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "search/mark/scan.h"

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
	*g = (struct graph){.n = n,
			    .group = calloc(n + 1, sizeof(uint32_t)),
			    .reached = calloc(n + 1, sizeof(bool)),
			    .spans = calloc(parts + 1, sizeof(struct span)),
			    .owner = calloc(parts + 1, sizeof(uint32_t)),
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
	g->ntargets = spans_tidy(g->targets, g->ntargets);
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
	free(g->to);
	free(g->first_to);
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
		add_edge(g,
			 (struct graph_edge){in < g->nspans ? g->owner[in] : GRAPH_OUTSIDE, owners[i], at});
}

// Edges by one of their groups, in their own order: group k's are order[first[k]] to
// order[first[k + 1]]. Those from outside come last.
static bool sort_edges(const struct graph *g, bool by_to, uint32_t **order, uint32_t **first)
{
	uint32_t *o = malloc((g->nedges + 1) * sizeof(*o)), *f = calloc(g->n + 3, sizeof(*f));
	if (!o || !f) {
		free(o);
		free(f);
		return false;
	}
	for (size_t i = 0; i < g->nedges; i++) {
		uint32_t k = by_to ? g->edges[i].to : g->edges[i].from;
		f[(k == GRAPH_OUTSIDE ? g->n : k) + 2]++;
	}
	for (size_t k = 2; k < g->n + 3; k++)
		f[k] += f[k - 1];
	for (size_t i = 0; i < g->nedges; i++) {
		uint32_t k = by_to ? g->edges[i].to : g->edges[i].from;
		o[f[(k == GRAPH_OUTSIDE ? g->n : k) + 1]++] = (uint32_t)i;
	}
	*order = o;
	*first = f;
	return true;
}

bool graph_follow(struct graph *g, bool *marked)
{
	uint32_t *from = NULL, *first_from = NULL, *queue = malloc((g->n + 1) * sizeof(*queue));
	size_t head = 0, tail = 0;
	bool ok = queue && sort_edges(g, false, &from, &first_from);
	for (uint32_t k = 0; ok && k < g->n; k++)
		if (marked[k])
			queue[tail++] = k;
	for (; head < tail; head++)
		for (uint32_t i = first_from[queue[head]]; i < first_from[queue[head] + 1]; i++) {
			uint32_t to = g->edges[from[i]].to;
			if (!marked[to])
				queue[tail++] = to;
			marked[to] = true;
		}
	free(queue);
	free(from);
	free(first_from);
	return ok;
}

bool graph_spread(struct graph *g)
{
	free(g->to);
	free(g->first_to);
	g->to = g->first_to = NULL;
	if (!sort_edges(g, true, &g->to, &g->first_to))
		return false;
	for (size_t i = 0; i < g->nedges; i++)
		if (g->edges[i].from == GRAPH_OUTSIDE)
			g->reached[g->edges[i].to] = true;
	return graph_follow(g, g->reached);
}

const struct graph_edge *graph_edge_to(const struct graph *g, uint32_t group, size_t n)
{
	return n < g->first_to[group + 1] - g->first_to[group] ? &g->edges[g->to[g->first_to[group] + n]] :
								 NULL;
}
