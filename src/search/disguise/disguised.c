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
#include "search/disguise/distances.h"
#include "search/heap/malloc_heap.h"
#include "search/memory/memory_walk.h"
#include "search/disguise/disguise_words.h"
#include "search/mark/scan.h"
#include "search/disguise/self_words.h"
#include "search/disguise/spelled.h"
#include "search/disguise/tables.h"

#define FOUR_GIB (1ULL << 32)
enum { HITS_MOST = 1 << 20, BESIDE_BYTES = 128, HALF = 4, WORD = 8, NAMED_MOST = 8, ADDRESS_BITS = 47 };
enum { PARTNERS_MOST = 64 };
enum { NEAR_BYTES = 1024 }; // of an object: the links of a list lie near its begin

struct pass {
	struct disguised *d;
	struct graph *g;
	struct disguise_words words;
	struct span *targets; // of words: objects that nothing reaches,
	uint64_t *begins;     // and where they begin
	struct self_words self;
	struct span partners[PARTNERS_MOST];
	struct span *near; // where words that are no large distance from themselves may lead
	struct tables tables;
	struct handle_forms forms;
	struct handle_address *lost; // forms.targets
	struct {
		const unsigned char *bytes;
		uint64_t lo, hi;
	} piece; // that is searched now
};

// ------------------------------------------------------------------- what is looked for

static bool lost(struct pass *p, uint32_t node)
{
	return !p->g->reached[graph_group(p->g, node)];
}

static bool in_lost(struct pass *p, uint64_t addr)
{
	size_t i = scan_find(p->g->spans, p->g->nspans, addr);
	return i < p->g->nspans && lost(p, p->g->owner[i]);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void take_objects(struct pass *p)
{
	const struct graph *g = p->g;
	for (size_t i = 0; i < g->nspans; i++)
		if (g->spans[i].lo >= FOUR_GIB && lost(p, g->owner[i]))
			p->targets[p->words.ntargets++] = g->spans[i];
	p->words.targets = p->targets;
}

static void take_begins(struct pass *p)
{
	const struct search *s = p->d->s;
	size_t n = 0;
	for (size_t i = 0; i < p->d->nbegins; i++)
		if (lost(p, p->d->begins[i].node))
			p->lost[n++] = p->d->begins[i].address;
	for (size_t i = 0; i < s->blocks.n; i++)
		if (lost(p, (uint32_t)(s->nodes + i)))
			p->lost[n++] = (struct handle_address){s->blocks.v[i].lo, HANDLE_BLOCK};
	for (size_t i = 0; i < n; i++)
		p->begins[i] = p->lost[i].at;
	if (n)
		qsort(p->begins, n, sizeof(*p->begins), by_value);
	p->words.begins = p->begins;
	p->words.nbegins = p->forms.ntargets = n;
	for (size_t i = 0; i < n; i++) {
		uint64_t lo = p->lost[i].at;
		p->near[i] = (struct span){lo, lo + (p->lost[i].kind == HANDLE_STACK ? 1 : NEAR_BYTES)};
	}
	p->self.targets = p->targets;
	p->self.ntargets = p->words.ntargets;
	p->self.near = p->near;
	p->self.nnear = spans_tidy(p->near, n);
}

// What may be written, in parts of 4 GiB; of a program with more of them than there is room for, the last
// ones are one.
static void take_partners(struct pass *p)
{
	const struct memory *m = p->d->s->memory;
	size_t n = 0;
	for (size_t i = 0; i < m->nmaps; i++) {
		const struct maps_line *at = &m->maps[i];
		if (at->perms[1] != 'w')
			continue;
		if (n && (n == PARTNERS_MOST || p->partners[n - 1].hi / FOUR_GIB == at->hi / FOUR_GIB))
			p->partners[n - 1].hi = at->hi;
		else
			p->partners[n++] = (struct span){at->lo, at->hi};
	}
	p->words.partners = p->partners;
	p->words.npartners = n;
}

static bool begin(struct pass *p)
{
	const struct search *s = p->d->s;
	p->targets = calloc(p->g->nspans + 1, sizeof(*p->targets));
	p->begins = calloc(p->d->nbegins + s->blocks.n + 1, sizeof(*p->begins));
	p->lost = calloc(p->d->nbegins + s->blocks.n + 1, sizeof(*p->lost));
	p->near = calloc(p->d->nbegins + s->blocks.n + 1, sizeof(*p->near));
	if (!p->targets || !p->begins || !p->lost || !p->near)
		return false;
	take_objects(p);
	take_begins(p);
	take_partners(p);
	if (!tables_find(&p->tables, p->d->s, &p->words.near))
		return false;
	disguise_words_ready(&p->words);
	self_words_ready(&p->self);
	p->forms.memory = s->memory;
	p->forms.bytes = s->bytes;
	p->forms.targets = p->lost;
	p->forms.living = p->d->living;
	p->forms.nliving = p->d->nliving;
	bases_find(&p->forms.bases, s->memory);
	return handle_forms_all(&p->forms);
}

static void end(struct pass *p)
{
	handle_forms_deinit(&p->forms);
	free(p->targets);
	free(p->begins);
	free(p->lost);
	free(p->near);
	free(p->tables.v);
}

// ------------------------------------------------------------------- what is found

static void add_hit(struct disguised *d, uint64_t at, uint64_t address, uint32_t form)
{
	if (d->nhits == d->room) {
		size_t room = d->room ? 2 * d->room : 256;
		struct disguised_hit *more = room <= HITS_MOST ? realloc(d->hits, room * sizeof(*more)) :
								 NULL;
		if (!more) {
			d->failed = true;
			return;
		}
		d->hits = more;
		d->room = room;
	}
	d->hits[d->nhits++] = (struct disguised_hit){at, address, form};
}

static bool is_freed(const struct disguised *d, uint64_t at)
{
	return scan_find(d->s->freed.v, d->s->freed.n, at) < d->s->freed.n;
}

static void on_sum(struct pass *p, uint64_t at, uint64_t sum)
{
	for (size_t i = 0; i < p->words.nbegins && p->words.begins[i] < sum && !p->d->failed; i++) {
		uint64_t partner = sum - p->words.begins[i];
		const struct maps_line *m = partner % WORD ? NULL : memory_map(p->d->s->memory, partner);
		if (m && m->perms[1] == 'w')
			add_hit(p->d, at, p->words.begins[i], DISGUISE_SUM);
	}
}

static void on_word(void *ctx, uint64_t at, uint64_t address, enum disguise form)
{
	struct pass *p = ctx;
	if (is_freed(p->d, at) ||
	    (form == DISGUISE_OUTSIDE && (in_lost(p, at) || !tables_near(&p->tables, address))))
		return;
	if (form == DISGUISE_SUM)
		on_sum(p, at, address);
	else
		add_hit(p->d, at, address, form);
}

static bool begins_at(const struct pass *p, uint64_t address)
{
	size_t i = FIRST_NOT(p->words.nbegins, k, p->begins[k] < address);
	return i < p->words.nbegins && p->begins[i] == address;
}

static void on_near(struct pass *p, uint64_t at, uint64_t word)
{
	struct handles_tally *t = &p->forms.values.forms[DISGUISE_NEAR];
	uint64_t to = at + word, distance = (int64_t)word < 0 ? -word : word;
	bool telling = handle_forms_telling(distance) || (distance != word && begins_at(p, to));
	if (!telling || !in_lost(p, to))
		return;
	if (!in_lost(p, at)) {
		t->hits[HANDLES_DECOY] += to & 1; // no pointer
		t->hits[HANDLES_TARGET] += to % WORD == 0;
	}
	if (to % WORD == 0)
		add_hit(p->d, at, to, DISGUISE_NEAR);
}

// A pointer to something else is none; the lowest bits may be a tag's where an object begins.
static void on_self(void *ctx, uint64_t at, uint64_t word)
{
	struct pass *p = ctx;
	uint64_t to = at + word;
	if (is_freed(p->d, at))
		return;
	if (self_words_is_near(word))
		on_near(p, at, word);
	else if ((to % WORD == 0 || begins_at(p, to & ~(uint64_t)(WORD - 1))) &&
		 !memory_map(p->d->s->memory, word))
		add_hit(p->d, at, to, DISGUISE_AWAY);
}

// Bytes of memory: those of the piece, which has been read already, where it has them all. How many there
// are.
static size_t peek(const struct pass *p, uint64_t lo, void *to, size_t n)
{
	if (lo < p->piece.lo || lo + n > p->piece.hi)
		return memory_peek_touched(p->d->s->memory, lo, to, n);
	memcpy(to, p->piece.bytes + (lo - p->piece.lo), n);
	return n;
}

// The low half of a pointer to something else.
static bool in_pointer(const struct pass *p, uint64_t at)
{
	uint64_t word;
	return at % WORD == 0 && peek(p, at, &word, sizeof(word)) == sizeof(word) && word >= FOUR_GIB &&
	       word >> ADDRESS_BITS == 0 && memory_map(p->d->s->memory, word);
}

// What lies around `at`, so much on either side if it is mapped. How many bytes.
static size_t around(const struct pass *p, uint64_t at, uint64_t reach, void *to, uint64_t *lo)
{
	const struct maps_line *m = memory_map(p->d->s->memory, at);
	if (!m)
		return 0;
	*lo = at - m->lo < reach ? m->lo : at - reach;
	return peek(p, *lo, to, (m->hi - at < reach ? m->hi : at + reach) - *lo);
}

// Is the upper half near, too?
static bool has_other_half(const struct pass *p, uint64_t at, uint64_t address)
{
	uint32_t beside[2 * BESIDE_BYTES / HALF], upper = (uint32_t)(address >> 32);
	uint64_t lo;
	size_t n = around(p, at, BESIDE_BYTES, beside, &lo) / HALF;
	for (size_t i = 0; i < n; i++)
		if (beside[i] == upper)
			return true;
	return false;
}

// Is the number part of a text that is the address?
static bool is_text(const struct pass *p, uint64_t at, uint64_t address)
{
	char beside[2 * SPELLED_REACH];
	uint64_t lo;
	size_t n = around(p, at, SPELLED_REACH, beside, &lo);
	return n && spelled_at(beside, n, at - lo, address);
}

// Is it the lower half of the address, shifted right?
static bool is_shifted(const struct pass *p, uint64_t at, uint64_t address)
{
	uint64_t word;
	if (at % WORD || peek(p, at, &word, sizeof(word)) != sizeof(word))
		return false;
	for (unsigned k = HANDLE_FORMS_RIGHT; k <= HANDLE_FORMS_RIGHT_MOST; k++)
		if (word == address >> k && word << k == address)
			return true;
	return false;
}

// One word outside of what is looked for tells all that there is to know of a value: more are names only.
static bool is_told(const struct handles_value *v)
{
	return v->hit && (v->class != HANDLES_TARGET || v->kept >= NAMED_MOST);
}

// Is the 32-bit number at `at` the distance of this address from there?
static bool is_distance(uint64_t at, uint32_t number, uint64_t address)
{
	return number && (int64_t)(address - at) == (int32_t)number;
}

static bool is_chance(const struct pass *p, const struct disguised_hit *h)
{
	uint64_t distance = h->address > h->at ? h->address - h->at : h->at - h->address;
	return h->form == DISGUISE_SELF && !handle_forms_telling(distance) &&
	       p->forms.values.forms[DISGUISE_SELF].hits[HANDLES_TARGET] < 2;
}

// What stands in a file that is mapped to be read holds nothing that the program has counted.
static bool is_constant(const struct pass *p, uint64_t at)
{
	const struct maps_line *m = memory_map(p->d->s->memory, at);
	return m && *m->path == '/' && m->perms[1] != 'w' && m->perms[3] == 'p';
}

static void on_value(struct pass *p, uint64_t at, uint32_t number, struct handles_value *v, bool inside)
{
	uint64_t address = handle_forms_address(&p->forms, v);
	if (v->form == DISGUISE_SELF && !is_distance(at, number, address))
		return;
	if (v->form >= DISGUISES && (is_constant(p, at) || bases_is_libc(p->d->s->memory, at)))
		return; // what the C library counts is its own
	if ((v->form == DISGUISE_TEXT && !is_text(p, at, address)) ||
	    (v->form == DISGUISE_RIGHT_MORE && !is_shifted(p, at, address)))
		return;
	if (v->form == DISGUISE_HALVES && !has_other_half(p, at, address))
		return;
	if (v->class == HANDLES_TARGET)
		add_hit(p->d, at, address, v->form);
	if (inside)
		return;
	v->kept += v->kept < NAMED_MOST;
	handles_note(&p->forms.values, v);
}

// The number at `at`, or where it leads if it is a distance from there.
static void on_handle(struct pass *p, uint64_t at, uint32_t number, bool self)
{
	struct handles_value *v;
	size_t n = handles_find(&p->forms.values, self ? (uint32_t)at + number : number, &v), told = 0;
	while (told < n &&
	       (is_told(&v[told]) || (v[told].form == DISGUISE_SELF) != self)) // a number that is everywhere
		told++;
	if (told == n || is_freed(p->d, at) || in_pointer(p, at))
		return;
	bool inside = in_lost(p, at);
	for (size_t i = told; i < n; i++)
		if (!is_told(&v[i]) && (v[i].form == DISGUISE_SELF) == self)
			on_value(p, at, number, &v[i], inside);
}

static void try_half(struct pass *p, uint64_t at, uint32_t number)
{
	const struct handles *h = &p->forms.values;
	if (handles_may(h, number))
		on_handle(p, at, number, false);
	if (handles_may(h, number + (uint32_t)at))
		on_handle(p, at, number, true);
}

// The two halves of a word at once: nearly all words are passed over.
static void find_handles(struct pass *p, const unsigned char *b, size_t n, uint64_t at)
{
	const struct handles *h = &p->forms.values;
	size_t i = -at & (HALF - 1);
	uint32_t v[2];
	p->piece.bytes = b;
	p->piece.lo = at;
	p->piece.hi = at + n;
	for (; i + WORD <= n; i += WORD) {
		memcpy(v, b + i, sizeof(v));
		uint32_t from = (uint32_t)(at + i);
		if (!(handles_may(h, v[0]) | handles_may(h, v[1]) | handles_may(h, v[0] + from) |
		      handles_may(h, v[1] + from + HALF)))
			continue;
		for (unsigned k = 0; k < 2; k++)
			try_half(p, at + i + k * HALF, v[k]);
	}
	if (i + HALF <= n) {
		memcpy(v, b + i, HALF);
		try_half(p, at + i, *v);
	}
}

static void on_piece(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	struct pass *p = ctx;
	disguise_words_find(&p->words, b, n, at);
	self_words_find(&p->self, b, n, at);
	find_handles(p, b, n, at);
}

static void on_piece_again(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	find_handles(ctx, b, n, at);
}

static int walk(struct pass *p, void (*piece)(void *ctx, const unsigned char *b, size_t n, uint64_t at))
{
	struct disguised *d = p->d;
	struct memory_walk w = {
		.memory = d->s->memory, .skip = d->s->skip, .nskip = d->s->nskip, .piece = piece, .ctx = p};
	int e = memory_walk(&w);
	d->bytes = w.bytes;
	memcpy(d->why, w.why, sizeof(d->why));
	return e;
}

// ------------------------------------------------------------------- what counts

// What is asked of the heap for this hit; 0: nothing.
static uint64_t question(const struct pass *p, const struct disguised_hit *h)
{
	uint64_t sum = 0;
	if (h->form == DISGUISE_SUM && memory_peek_touched(p->d->s->memory, h->at, &sum, WORD) == WORD)
		return sum - h->address;
	return h->form == DISGUISE_OUTSIDE ? h->address : 0;
}

// Bases become addresses of their tables; the other pointers that lie near go.
static void settle_base(struct pass *p, struct disguised_hit *h, const struct malloc_heap_query *in)
{
	const struct table *t = tables_near(&p->tables, h->address);
	if (tables_is_base(p->d->s, t, h->at, h->address, in->found ? &in->block : NULL))
		h->address = t->block.lo;
	else
		h->form = DISGUISE_NONE;
}

// Other numbers are as large as a sum: so what the address is added to is the begin of something, or static.
static bool is_partner(const struct pass *p, uint64_t address, const struct malloc_heap_query *in)
{
	const struct bases *b = &p->forms.bases;
	size_t i = FIRST_NOT(b->n, k, b->v[k] < address);
	return (in->found && in->block.lo == address) || (i < b->n && b->v[i] == address) ||
	       begins_at(p, address) || bases_is_static(p->d->s->memory, address);
}

static void settle_blocks(struct pass *p)
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

// Those whose form is in use become edges; the others go.
static void settle(struct pass *p, size_t from)
{
	struct disguised *d = p->d;
	size_t n = from;
	for (size_t i = from; i < d->nhits; i++) {
		struct disguised_hit *h = &d->hits[i];
		bool whole = (h->form >= DISGUISE_OUTSIDE && h->form < DISGUISE_NEAR) ||
			     (h->form < DISGUISE_WORDS && h->address >= FOUR_GIB);
		if (h->form == DISGUISE_NONE || is_chance(p, h) ||
		    (!whole && !handle_forms_in_use(&p->forms, h->form)))
			continue;
		graph_word(p->g, h->at, h->address);
		d->hits[n++] = *h;
	}
	d->nhits = n;
}

static bool any_in_use(const struct pass *p)
{
	for (uint32_t form = 0; form < p->forms.values.nforms; form++)
		if (handle_forms_in_use(&p->forms, form))
			return true;
	return false;
}

static int search(struct pass *p)
{
	struct disguised *d = p->d;
	int e = walk(p, on_piece);
	if (e)
		return e;
	settle_blocks(p);
	settle(p, 0);
	if (p->forms.ntargets > HANDLE_FORMS_TARGETS && any_in_use(p)) {
		snprintf(d->why, sizeof(d->why), "there are too many coroutines to look for all in 32 bits");
		return -EAGAIN;
	}
	size_t n = d->nhits;
	if (distances_try(&p->forms))
		e = walk(p, on_piece_again);
	if (!e && distances_settle(&p->forms)) {
		e = walk(p, on_piece_again);
		settle(p, n);
	}
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
	struct pass p = {.d = d, .g = &d->s->g};
	p.words.hit = on_word;
	p.words.ctx = &p;
	p.self.hit = on_self;
	p.self.ctx = &p;
	int e = begin(&p) ? search(&p) : -ENOMEM;
	if (!e && !graph_spread(p.g))
		e = -ENOMEM;
	if (d->nhits)
		qsort(d->hits, d->nhits, sizeof(*d->hits), by_at);
	end(&p);
	return e;
}

enum disguise disguised_at(const struct disguised *d, uint64_t at)
{
	size_t i = FIRST_NOT(d->nhits, k, d->hits[k].at < at);
	return i < d->nhits && d->hits[i].at == at ? handle_forms_is(d->hits[i].form) : DISGUISE_NONE;
}

void disguised_deinit(struct disguised *d)
{
	free(d->hits);
	*d = (struct disguised){0};
}
