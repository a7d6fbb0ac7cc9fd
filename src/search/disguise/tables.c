// SPDX-License-Identifier: MIT
//
// A base outside its block points into whatever is there: another block, perhaps, which the word may be
// meant for. It counts not if that block begins there, or holds the word; further off than one element, not
// if there is such a block at all, unless the word is static.
#include "search/disguise/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/whole/bases.h"

enum { OUTSIDE_BYTES = 4096, WORD = 8 };

static int by_lo(const void *a, const void *b)
{
	const struct table *x = a, *y = b;
	return x->block.lo < y->block.lo ? -1 : x->block.lo > y->block.lo;
}

// What the words of each group tell of it as a table.
struct leads {
	uint32_t n, last;
	uint64_t at, element;
};

static void note_lead(struct leads *l, const struct graph_edge *e)
{
	if (l->n && l->last == e->to)
		return;
	uint64_t apart = e->at > l->at ? e->at - l->at : l->at - e->at;
	if (l->n && (!l->element || apart < l->element))
		l->element = apart;
	l->n++;
	l->last = e->to;
	l->at = e->at;
}

bool tables_find(struct tables *t, struct search *s, unsigned least, struct span *near)
{
	struct graph *g = &s->g;
	struct leads *leads = calloc(g->n + 1, sizeof(*leads));
	*t = (struct tables){.v = calloc(s->blocks.n + 1, sizeof(*t->v))};
	if (!leads || !t->v) {
		free(leads);
		return false;
	}
	for (size_t i = 0; i < g->nedges; i++)
		if (g->edges[i].from != GRAPH_OUTSIDE)
			note_lead(&leads[g->edges[i].from], &g->edges[i]);
	for (size_t i = 0; i < s->blocks.n; i++) {
		uint32_t k = graph_group(g, (uint32_t)(s->nodes + i));
		if (!g->reached[k] && leads[k].n >= least)
			t->v[t->n++] = (struct table){s->blocks.v[i], leads[k].element};
	}
	free(leads);
	*near = (struct span){0};
	if (t->n) {
		qsort(t->v, t->n, sizeof(*t->v), by_lo);
		*near = (struct span){t->v[0].block.lo - OUTSIDE_BYTES,
				      t->v[t->n - 1].block.hi + OUTSIDE_BYTES};
	}
	return true;
}

const struct table *tables_near(const struct tables *t, uint64_t address)
{
	size_t i = FIRST_NOT(t->n, k, t->v[k].block.hi + OUTSIDE_BYTES <= address);
	for (; i < t->n && t->v[i].block.lo <= address + OUTSIDE_BYTES; i++)
		if (address < t->v[i].block.lo || address >= t->v[i].block.hi + WORD)
			return &t->v[i];
	return NULL;
}

bool tables_is_base(struct search *s, const struct table *t, uint64_t at, uint64_t address,
		    const struct span *in)
{
	uint64_t off = address < t->block.lo ? t->block.lo - address : address - t->block.hi;
	const struct maps_line *m = memory_map(s->memory, at);
	bool libc = m && (strstr(m->path, "/libc.so") || strstr(m->path, "/ld-"));
	if (libc || graph_has(&s->g, address))
		return false;
	if (!in)
		return true;
	if (in->lo == address || (at >= in->lo && at < in->hi + WORD))
		return false;
	return off <= t->element || bases_is_static(s->memory, at);
}
