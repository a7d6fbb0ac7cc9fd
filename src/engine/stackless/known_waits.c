// SPDX-License-Identifier: MIT
//
// The awaiter decides in which form a handle is kept, so coroutines that are suspended at the same place are
// of one kind. Words on stacks do not count: a call has left them there. Nor does what a coroutine that
// awaits another one has among its variables: nobody is resumed by it.
#include "engine/stackless/known_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "search/disguise/disguise.h"
#include "search/mark/graph.h"

enum { EDGES_MOST = 64, PLACES_MOST = 65536, ONCE_MOST = 256, HANDLE_TO_PROMISE = 16 };

static struct known_wait place_of(const struct stackless *s)
{
	return (struct known_wait){s->pair->resume, s->known ? s->index : UINT64_MAX};
}

static bool is_before(const struct known_wait *a, const struct known_wait *b)
{
	return a->resume < b->resume || (a->resume == b->resume && a->index < b->index);
}

static size_t at_of(const struct known_waits *k, const struct known_wait *p)
{
	return FIRST_NOT(k->n, i, is_before(&k->v[i], p));
}

bool known_waits_has(const struct known_waits *k, const struct stackless *s)
{
	struct known_wait p = place_of(s);
	size_t at = at_of(k, &p);
	return at < k->n && !is_before(&p, &k->v[at]);
}

static void add(struct known_waits *k, const struct stackless *s)
{
	struct known_wait p = place_of(s);
	size_t at = at_of(k, &p);
	if (known_waits_has(k, s) || k->n >= PLACES_MOST || GROW(k->v, k->n, k->room))
		return;
	memmove(k->v + at + 1, k->v + at, (k->n - at) * sizeof(*k->v));
	k->v[at] = p;
	k->n++;
}

static bool on_stack(const struct inspection *l, uint64_t at)
{
	const struct maps_line *m = proc_maps_find(&l->maps, at);
	for (size_t i = 0; m && i < l->tasks.n; i++)
		if (l->tasks.v[i].sp >= m->lo && l->tasks.v[i].sp < m->hi && at >= l->tasks.v[i].sp)
			return true;
	return false;
}

// Is this group that of one which awaits it?
static bool awaits_it(const struct awaiting *a, struct graph *g, uint32_t row, uint32_t group)
{
	size_t steps = 0;
	for (row = a->list.v[row].awaited_by; row != STACKLESS_NONE && steps < a->list.n;
	     row = a->list.v[row].awaited_by, steps++)
		if (a->v[row].suspect != STACKLESS_NONE && graph_group(g, a->v[row].suspect) == group)
			return true;
	return false;
}

// Which address of the frame the word holds, in a form that a word can have; false: none. Into the frame it
// counts as it is, if the frame lies in no other one's.
static bool leads_to(const struct inspection *l, const struct stackless *s, uint64_t at, uint64_t *offset)
{
	uint64_t word = 0, address;
	memory_peek(&l->memory, at, &word, sizeof(word), false);
	address = word & SPAN_ADDRESS_MASK;
	*offset = address - s->at;
	if (!s->nested && address >= s->block.lo && address < s->block.hi)
		return true;
	for (unsigned f = DISGUISE_NONE; f < DISGUISE_WORDS; f++) {
		bool tagged;
		*offset = (f == DISGUISE_NONE ? address : disguise_address(f, word, &tagged)) - s->at;
		if (!*offset || *offset == HANDLE_TO_PROMISE)
			return true;
	}
	return false;
}

// A single word may be left of something that was there before; not so if a word leads to another coroutine
// of the kind in the same way.
static bool is_second(struct known_waits *k, const struct stackless *s, uint64_t offset)
{
	struct known_wait p = place_of(s);
	for (size_t i = 0; i < k->nonce; i++) {
		struct known_once *o = &k->once[i];
		if (o->place.resume == p.resume && o->place.index == p.index && o->offset == offset)
			return o->at != s->at;
	}
	if (k->nonce < ONCE_MOST && !GROW(k->once, k->nonce, k->once_room))
		k->once[k->nonce++] = (struct known_once){p, offset, s->at};
	return false;
}

// Even where what holds the word is itself lost: the form is the same.
static bool is_kept(struct known_waits *k, const struct awaiting *a, const struct inspection *l,
		    struct graph *g, uint32_t row)
{
	const struct stackless *s = &a->list.v[row];
	uint32_t own = graph_group(g, a->v[row].suspect);
	const struct graph_edge *e;
	uint64_t offset;
	for (size_t n = 0; n < EDGES_MOST && (e = graph_edge_to(g, own, n)); n++) {
		if (e->from == own || on_stack(l, e->at) || !leads_to(l, s, e->at, &offset) ||
		    (e->from != GRAPH_OUTSIDE && awaits_it(a, g, row, e->from)))
			continue;
		bool handle = !offset || offset == HANDLE_TO_PROMISE;
		if ((handle && e->from == GRAPH_OUTSIDE) || is_second(k, s, offset))
			return true;
	}
	return false;
}

static bool waits(const struct awaiting *a, uint32_t row)
{
	const struct stackless *s = &a->list.v[row];
	return a->v[row].suspect != STACKLESS_NONE && s->awaits == STACKLESS_NONE &&
	       (s->state == STACKLESS_SUSPENDED || s->state == STACKLESS_INITIAL);
}

void known_waits_note(struct known_waits *k, struct awaiting *a, const struct inspection *l, struct graph *g)
{
	for (size_t i = 0; i < l->registrations.n; i++) {
		const struct registration *r = &l->registrations.v[i];
		uint32_t row = r->events & CTP_REG_EVENTS ? awaiting_row(a, r->data) : STACKLESS_NONE;
		if (row != STACKLESS_NONE && waits(a, row))
			add(k, &a->list.v[row]);
	}
	for (uint32_t i = 0; i < a->list.n && !inspect_late(l); i++) {
		const struct closes_one *c = a->v[i].close;
		if (!waits(a, i) || known_waits_has(k, &a->list.v[i]))
			continue;
		if ((c && closes_waited(c)) || is_kept(k, a, l, g, i))
			add(k, &a->list.v[i]);
	}
	for (uint32_t i = 0; i < a->list.n; i++)
		a->v[i].known = known_waits_has(k, &a->list.v[i]);
}

void known_waits_deinit(struct known_waits *k)
{
	free(k->v);
	free(k->once);
	*k = (struct known_waits){0};
}
