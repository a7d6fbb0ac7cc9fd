// SPDX-License-Identifier: MIT
//
// What the search for disguised pointers needs to know of coroutines: where the unreachable ones begin, and
// where those begin that the program can still find, which show how it keeps its handles.
#include "engine/memory/second_pass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/search.h"
#include "ctp/there.h"
#include "engine/memory/own_blocks.h"
#include "search/heap/malloc_heap.h"

enum { LIVING_MOST = 256, OWN_MOST = 16, OWN_ALL = 256 };

// Of how many coroutines must a block hold pointers, to be a table whose base may lie outside it? Of what is
// no proof anyway, chance must not take too much away.
enum { TABLE_OF_PROVEN = 2, TABLE_OF_PARKED = 4 };

static bool about_to_be_proven(const struct suspect *s)
{
	unsigned held = proof_bit(PROOF_P6A);
	for (unsigned p = 0; p < PROOFS; p++)
		held |= proof_is_witnessed(p) && s->a[p].holds == HOLDS_TRUE ? proof_bit(p) : 0;
	return s->rule != RULE_PARKED && proof_witnessed(held);
}

// How certain is the most certain of those to whom nothing leads? 0: there is none who rests on the search.
// What is said of those that are parked rests on it alone.
static unsigned table_least(const struct inspection *l, struct search *s)
{
	unsigned least = 0;
	for (size_t i = 0; i < l->n && least != TABLE_OF_PROVEN; i++) {
		const struct suspect *x = l->who[i];
		if (!suspect_objects(x) || x->a[PROOF_P6A].holds == HOLDS_FALSE ||
		    s->g.reached[graph_group(&s->g, (uint32_t)i)])
			continue;
		least = about_to_be_proven(x)  ? TABLE_OF_PROVEN :
			x->rule == RULE_PARKED ? TABLE_OF_PARKED :
						 least;
	}
	return least;
}

bool second_pass_wanted(const struct inspection *l, struct search *s)
{
	return table_least(l, s) > 0;
}

static size_t add_own(const struct inspection *l, size_t i, struct disguised_begin *v)
{
	uint64_t own[OWN_MOST];
	size_t most = l->n < OWN_ALL / OWN_MOST ? OWN_MOST : OWN_ALL / l->n;
	size_t n = own_blocks(l, l->who[i], own, most);
	for (size_t k = 0; k < n; k++)
		v[k] = (struct disguised_begin){{own[k], HANDLE_INNER}, (uint32_t)i};
	return n;
}

// Its control block, by what its context lies in, and its stack; then blocks in them.
static size_t begins_of(const struct inspection *l, struct disguised_begin *v)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct suspect *s = l->who[i];
		uint64_t block = s->nmine == 2 ? s->mine[1].lo : s->mine[0].lo;
		if (!suspect_objects(s))
			continue;
		v[n++] = (struct disguised_begin){{s->s.slot, HANDLE_BLOCK}, (uint32_t)i};
		if (block != s->s.slot && block != s->s.lo)
			v[n++] = (struct disguised_begin){{block, HANDLE_BLOCK}, (uint32_t)i};
		v[n++] = (struct disguised_begin){{s->s.lo, HANDLE_STACK}, (uint32_t)i};
	}
	for (size_t i = 0; i < l->n && !inspect_late(l); i++)
		n += add_own(l, i, v + n);
	return n;
}

// l->who is sorted by id.
static bool is_suspect(const struct inspection *l, uint64_t id)
{
	size_t i = FIRST_NOT(l->n, k, l->who[k]->s.id < id);
	return i < l->n && l->who[i]->s.id == id;
}

static size_t living_of(const struct inspection *l, struct handle_address *v)
{
	struct malloc_heap_query q[LIVING_MOST];
	size_t n = 0, blocks = 0;
	struct ctp_walk w = ctp_walk_states(l->r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n && blocks < LIVING_MOST && !inspect_late(l);
	     i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state s;
		const struct ctp_state *from = &l->r->states[i];
		if (ctp_load32(&from->owner) != CTP_OWNER_GUEST || from->entity != CTP_COROUTINE ||
		    !ctp_state_read(from, &s) || s.life != CTP_SUSPENDED || !s.slot || !s.lo ||
		    is_suspect(l, s.id))
			continue;
		q[blocks++] = (struct malloc_heap_query){.addr = s.slot};
		v[n++] = (struct handle_address){s.lo, HANDLE_STACK};
	}
	malloc_heap_resolve(&l->memory, q, blocks);
	for (size_t i = 0; i < blocks; i++)
		v[n++] = (struct handle_address){q[i].found ? q[i].block.lo : q[i].addr, HANDLE_BLOCK};
	return n;
}

bool second_pass_run(const struct inspection *l, struct search *s, struct disguised *d)
{
	struct disguised_begin *begins = calloc(3 * l->n + OWN_ALL + 1, sizeof(*begins));
	struct handle_address living[2 * LIVING_MOST];
	*d = (struct disguised){.s = s, .begins = begins, .living = living, .table_least = table_least(l, s)};
	int e = begins ? 0 : -ENOMEM;
	if (!e) {
		d->nbegins = begins_of(l, begins);
		d->nliving = living_of(l, living);
		e = disguised_run(d);
	}
	if (e && !*d->why)
		snprintf(d->why, sizeof(d->why), "there was no room to look for pointers in disguise");
	free(begins);
	d->begins = NULL;
	d->living = NULL;
	return !e;
}
