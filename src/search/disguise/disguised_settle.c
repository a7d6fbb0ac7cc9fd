// SPDX-License-Identifier: MIT
//
// What counts of what was found: a base of a table, a sum whose other part is the begin of something, and the
// forms that more words have than chance explains.
#include <stdlib.h>

#include "base/search.h"
#include "search/whole/bases.h"
#include "search/disguise/disguised_own.h"
#include "search/heap/malloc_heap.h"
#include "search/memory/memory_walk.h"

static bool is_chance(const struct disguised_pass *p, const struct disguised_hit *h)
{
	uint64_t distance = h->address > h->at ? h->address - h->at : h->at - h->address;
	return h->form == DISGUISE_SELF && !handle_forms_telling(distance) &&
	       p->forms.values.forms[DISGUISE_SELF].hits[HANDLES_TARGET] < 2;
}

// What is asked of the heap for this hit; 0: nothing.
static uint64_t question(const struct disguised_pass *p, const struct disguised_hit *h)
{
	uint64_t sum = 0;
	if (h->form == DISGUISE_SUM &&
	    memory_peek_touched(p->d->s->memory, h->at, &sum, DISGUISED_WORD) == DISGUISED_WORD)
		return sum - h->address;
	return h->form == DISGUISE_OUTSIDE ? h->address : 0;
}

// Bases become addresses of their tables; the other pointers that lie near go.
static void settle_base(struct disguised_pass *p, struct disguised_hit *h, const struct malloc_heap_query *in)
{
	const struct table *t = tables_near(&p->tables, h->address);
	if (tables_is_base(p->d->s, t, h->at, h->address, in->found ? &in->block : NULL))
		h->address = t->block.lo;
	else
		h->form = DISGUISE_NONE;
}

// Other numbers are as large as a sum: so what the address is added to is the begin of something, or static.
static bool is_partner(const struct disguised_pass *p, uint64_t address, const struct malloc_heap_query *in)
{
	const struct bases *b = &p->forms.bases;
	size_t i = FIRST_NOT(b->n, k, b->v[k] < address);
	return (in->found && in->block.lo == address) || (i < b->n && b->v[i] == address) ||
	       disguised_begins_at(p, address) || bases_is_static(p->d->s->memory, address);
}

void disguised_settle_blocks(struct disguised_pass *p)
{
	struct disguised *d = p->d;
	size_t n = 0;
	struct malloc_heap_query *q = calloc(d->nhits + 1, sizeof(*q));
	if (!q) {
		d->failed = true;
		return;
	}
	for (size_t i = 0; i < d->nhits; i++)
		if ((q[n].addr = question(p, &d->hits[i])))
			n++;
	malloc_heap_resolve(d->s->memory, q, n);
	for (size_t i = 0; i < d->nhits; i++) {
		struct disguised_hit *h = &d->hits[i];
		uint64_t address = question(p, h);
		if (!address)
			continue;
		const struct malloc_heap_query *in = &q[FIRST_NOT(n, j, q[j].addr < address)];
		if (h->form == DISGUISE_OUTSIDE)
			settle_base(p, h, in);
		else if (!is_partner(p, address, in))
			h->form = DISGUISE_NONE;
	}
	free(q);
}

void disguised_settle(struct disguised_pass *p, size_t from)
{
	struct disguised *d = p->d;
	size_t n = from;
	for (size_t i = from; i < d->nhits; i++) {
		struct disguised_hit *h = &d->hits[i];
		bool whole = (h->form >= DISGUISE_OUTSIDE && h->form < DISGUISE_NEAR) ||
			     (h->form < DISGUISE_WORDS && h->address >= DISGUISED_FOUR_GIB);
		if (h->form == DISGUISE_NONE || is_chance(p, h) ||
		    (!whole && !handle_forms_in_use(&p->forms, h->form)))
			continue;
		graph_word(p->g, h->at, h->address);
		d->hits[n++] = *h;
	}
	d->nhits = n;
}

void disguised_settle_xors(struct disguised_pass *p, struct xor_words *x)
{
	struct disguised *d = p->d;
	xor_words_settle(x);
	for (size_t i = 0; i < x->nhits && !d->failed; i++) {
		const struct xor_hit *h = &x->hits[i];
		disguised_add_hit(d, h->at, h->address, DISGUISE_XOR);
		if (!d->failed)
			d->hits[d->nhits - 1].key = h->key;
	}
}

void disguised_settle_own(struct disguised_pass *p)
{
	own_xors_settle(&p->own);
	for (size_t i = 0; i < p->own.nhits && !p->d->failed; i++)
		disguised_add_hit(p->d, p->own.hits[i].at, p->own.hits[i].address, DISGUISE_OWN);
}

void disguised_settle_families(struct disguised_pass *p)
{
	struct families *s = &p->families;
	size_t from = p->d->nhits;
	families_settle(s);
	for (size_t i = 0; i < s->nrows; i++)
		disguised_add_hit(p->d, s->rows[i].at, s->rows[i].address, s->rows[i].form);
	disguised_settle(p, from);
	p->d->failed |= s->failed;
}
