// SPDX-License-Identifier: MIT
//
// Words found here become edges of the graph like those of the first pass: one in an object that is not
// reachable itself does not count, and one that leads to a block of the heap leads to what the block leads
// to.
#include "search/disguise/disguised.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/disguise/disguised_own.h"
#include "search/disguise/distances.h"
#include "search/disguise/xor_rings.h"
#include "search/mark/scan.h"
#include "search/memory/memory_walk.h"

enum { OF_FEW_LEAST = 4 };  // some are found by chance
enum { NEAR_BYTES = 1024 }; // of an object: the links of a list lie near its begin

// ------------------------------------------------------------------- what is looked for

bool disguised_lost(const struct disguised_pass *p, uint32_t node)
{
	return !p->g->reached[graph_group(p->g, node)];
}

bool disguised_in_lost(const struct disguised_pass *p, uint64_t addr)
{
	size_t i = scan_find(p->g->spans, p->g->nspans, addr);
	return i < p->g->nspans && disguised_lost(p, p->g->owner[i]);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void take_objects(struct disguised_pass *p)
{
	const struct graph *g = p->g;
	for (size_t i = 0; i < g->nspans; i++)
		if (g->spans[i].lo >= DISGUISED_FOUR_GIB && disguised_lost(p, g->owner[i]))
			p->targets[p->words.ntargets++] = g->spans[i];
	p->words.targets = p->targets;
}

static bool in_lost(void *ctx, uint64_t at)
{
	return disguised_in_lost(ctx, at);
}

static void take_xors(struct disguised_pass *p, struct xor_words *x, unsigned step)
{
	x->search = p->d->s;
	x->targets = p->targets;
	x->ntargets = p->words.ntargets;
	x->begins = p->begins;
	x->nbegins = p->nbegins;
	x->step = step;
	x->lost = in_lost;
	x->ctx = p;
}

// Those that lie in an object, or all others, from number n on. How many there are then.
static size_t take_lost(struct disguised_pass *p, bool inner, size_t n)
{
	for (size_t i = 0; i < p->d->nbegins; i++)
		if ((p->d->begins[i].address.kind == HANDLE_INNER) == inner &&
		    disguised_lost(p, p->d->begins[i].node))
			p->lost[n++] = p->d->begins[i].address;
	return n;
}

// Of the first n of those that are lost, sorted.
static void sort_begins(const struct disguised_pass *p, uint64_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = p->lost[i].at;
	if (n)
		qsort(to, n, sizeof(*to), by_value);
}

static void take_begins(struct disguised_pass *p)
{
	const struct search *s = p->d->s;
	size_t n = take_lost(p, false, 0), all;
	for (size_t i = 0; i < s->blocks.n; i++)
		if (disguised_lost(p, (uint32_t)(s->nodes + i)))
			p->lost[n++] = (struct handle_address){s->blocks.v[i].lo, HANDLE_BLOCK};
	all = take_lost(p, true, n);
	sort_begins(p, p->begins, p->nbegins = n);
	sort_begins(p, p->all, all);
	p->words.begins = p->packed.begins = p->all;
	p->words.nbegins = p->packed.nbegins = p->forms.ntargets = all;
	for (size_t i = 0; i < n; i++) {
		uint64_t lo = p->lost[i].at;
		p->near[i] = (struct span){lo, lo + (p->lost[i].kind == HANDLE_STACK ? 1 : NEAR_BYTES)};
	}
	p->self.targets = p->targets;
	p->self.ntargets = p->words.ntargets;
	p->self.near = p->near;
	p->self.nnear = spans_tidy(p->near, n);
	take_xors(p, &p->xors, DISGUISED_WORD);
	if (s->bytes < HANDLE_FORMS_LARGE) {
		take_xors(p, &p->odd, 1);
		p->odd.begins = p->all;
		p->odd.nbegins = all;
	}
	p->products.search = s;
	p->products.targets = p->targets;
	p->products.ntargets = p->varints.ntargets = p->rows.ntargets = p->words.ntargets;
	p->columns.ntargets = p->words.ntargets;
	p->columns.targets = p->targets;
	p->columns.memory = p->varints.memory = s->memory;
	p->varints.targets = p->rows.targets = p->targets;
	p->own.begins = p->code.begins = p->begins;
	p->own.all = p->all;
	p->packed.targets = p->targets;
	p->packed.ntargets = p->words.ntargets;
	p->own.nbegins = p->code.nbegins = n;
	p->own.nall = all;
	p->links.targets = p->targets;
	p->links.ntargets = p->words.ntargets;
	p->own.memory = p->code.memory = p->links.memory = s->memory;
}

// What may be written, in parts of 4 GiB; of a program with more of them than there is room for, the last
// ones are one.
static void take_partners(struct disguised_pass *p)
{
	const struct memory *m = p->d->s->memory;
	size_t n = 0;
	for (size_t i = 0; i < m->nmaps; i++) {
		const struct maps_line *at = &m->maps[i];
		if (at->perms[1] != 'w')
			continue;
		if (n && (n == DISGUISED_PARTNERS_MOST ||
			  p->partners[n - 1].hi / DISGUISED_FOUR_GIB == at->hi / DISGUISED_FOUR_GIB))
			p->partners[n - 1].hi = at->hi;
		else
			p->partners[n++] = (struct span){at->lo, at->hi};
	}
	p->words.partners = p->partners;
	p->words.npartners = n;
}

static bool begin(struct disguised_pass *p)
{
	const struct search *s = p->d->s;
	p->targets = calloc(p->g->nspans + 1, sizeof(*p->targets));
	p->begins = calloc(p->d->nbegins + s->blocks.n + 1, sizeof(*p->begins));
	p->all = calloc(p->d->nbegins + s->blocks.n + 1, sizeof(*p->all));
	p->lost = calloc(p->d->nbegins + s->blocks.n + 1, sizeof(*p->lost));
	p->near = calloc(p->d->nbegins + s->blocks.n + 1, sizeof(*p->near));
	if (!p->targets || !p->begins || !p->all || !p->lost || !p->near)
		return false;
	take_objects(p);
	take_begins(p);
	take_partners(p);
	if (!tables_find(&p->tables, p->d->s, p->d->table_least, &p->words.near))
		return false;
	disguise_words_ready(&p->words);
	self_words_ready(&p->self);
	products_ready(&p->products);
	packed_bits_ready(&p->packed);
	code_pages_ready(&p->code);
	p->constants.memory = s->memory;
	p->forms.memory = s->memory;
	p->forms.bytes = s->bytes;
	p->forms.targets = p->lost;
	p->forms.living = p->d->living;
	p->forms.nliving = p->d->nliving;
	bases_find(&p->forms.bases, s->memory);
	return own_xors_ready(&p->own) && xor_words_ready(&p->xors) && xor_words_ready(&p->odd) &&
	       handle_forms_all(&p->forms) && families_ready(&p->families, &p->forms);
}

static void end(struct disguised_pass *p)
{
	handle_forms_deinit(&p->forms);
	families_deinit(&p->families);
	xor_words_deinit(&p->xors);
	xor_words_deinit(&p->odd);
	own_xors_deinit(&p->own);
	constants_deinit(&p->constants);
	free(p->targets);
	free(p->begins);
	free(p->all);
	free(p->lost);
	free(p->near);
	free(p->tables.v);
}

bool disguised_begins_at(const struct disguised_pass *p, uint64_t address)
{
	size_t i = FIRST_NOT(p->nbegins, k, p->begins[k] < address);
	return i < p->nbegins && p->begins[i] == address;
}

// ------------------------------------------------------------------- one run

static int walk(struct disguised_pass *p,
		void (*piece)(void *ctx, const unsigned char *b, size_t n, uint64_t at))
{
	struct disguised *d = p->d;
	struct memory_walk w = {
		.memory = d->s->memory, .skip = d->s->skip, .nskip = d->s->nskip, .piece = piece, .ctx = p};
	int e = memory_walk(&w);
	d->bytes = w.bytes;
	memcpy(d->why, w.why, sizeof(d->why));
	return e;
}

static bool any_in_use(const struct disguised_pass *p)
{
	for (uint32_t form = 0; form < p->forms.values.nforms; form++)
		if (handle_forms_in_use(&p->forms, form))
			return true;
	return false;
}

static int search(struct disguised_pass *p)
{
	struct disguised *d = p->d;
	int e = walk(p, disguised_on_piece);
	if (e)
		return e;
	struct xor_rings rings = {d->s->memory, p->g->spans, p->g->nspans, disguised_on_link, p};
	if (!xor_rings_find(&rings))
		return -ENOMEM;
	xor_links_settle(&p->links);
	disguised_settle_xors(p, &p->xors);
	disguised_settle_xors(p, &p->odd);
	disguised_settle_own(p);
	disguised_settle_blocks(p);
	disguised_settle(p, 0);
	if (p->forms.ntargets > HANDLE_FORMS_TARGETS && any_in_use(p)) {
		snprintf(d->why, sizeof(d->why), "there are too many coroutines to look for all in 32 bits");
		return -EAGAIN;
	}
	if (p->of_few >= OF_FEW_LEAST) {
		snprintf(d->why, sizeof(d->why), "there are too many coroutines to look for all as text");
		return -EAGAIN;
	}
	size_t n = d->nhits;
	if (distances_try(&p->forms))
		e = walk(p, disguised_on_piece_again);
	if (!e && distances_settle(&p->forms)) {
		e = walk(p, disguised_on_piece_again);
		disguised_settle(p, n);
	}
	if (!e)
		disguised_settle_families(p);
	return e ? e : p->forms.values.failed || d->failed || p->g->failed ? -ENOMEM : 0;
}

// The lower half of a word that is an address itself; a half beside the other: the more telling form comes
// first.
static unsigned rank(const struct disguised_hit *h)
{
	return h->form <= DISGUISE_NEAR ? 0 : h->form == DISGUISE_HALVES ? 1 : 2;
}

static int by_at(const void *a, const void *b)
{
	const struct disguised_hit *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (int)rank(x) - (int)rank(y);
}

int disguised_run(struct disguised *d)
{
	struct disguised_pass p = {.d = d, .g = &d->s->g};
	p.words.hit = disguised_on_word;
	p.words.ctx = &p;
	p.self.hit = disguised_on_self;
	p.self.ctx = &p;
	p.products.hit = disguised_on_product;
	p.products.ctx = &p;
	p.varints.hit = disguised_on_varint;
	p.varints.ctx = &p;
	p.columns.hit = disguised_on_column;
	p.columns.ctx = &p;
	p.links.hit = disguised_on_link;
	p.links.ctx = &p;
	p.code.hit = disguised_on_code;
	p.code.ctx = &p;
	p.rows.hit = disguised_on_parts;
	p.rows.ctx = &p;
	p.packed.hit = disguised_on_bits;
	p.packed.ctx = &p;
	p.own.counts = disguised_counts;
	p.own.ctx = &p;
	p.families.counts = disguised_in_row;
	p.families.ctx = &p;
	int e = begin(&p) ? search(&p) : -ENOMEM;
	if (!e && !graph_spread(p.g))
		e = -ENOMEM;
	if (d->nhits)
		qsort(d->hits, d->nhits, sizeof(*d->hits), by_at);
	end(&p);
	return e;
}

const struct disguised_hit *disguised_hit_at(const struct disguised *d, uint64_t at)
{
	size_t i = FIRST_NOT(d->nhits, k, d->hits[k].at < at);
	return i < d->nhits && d->hits[i].at == at ? &d->hits[i] : NULL;
}

enum disguise disguised_at(const struct disguised *d, uint64_t at)
{
	const struct disguised_hit *h = disguised_hit_at(d, at);
	return h ? handle_forms_is(h->form) : DISGUISE_NONE;
}

void disguised_deinit(struct disguised *d)
{
	free(d->hits);
	*d = (struct disguised){0};
}
