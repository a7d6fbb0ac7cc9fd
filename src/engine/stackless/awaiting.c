// SPDX-License-Identifier: MIT
//
// A suspect is a block of the heap that begins with a frame; frames of callees may lie in it. The search says
// which are reached; awaiting_ways.c, which ways to a reached one count; awaiting_closes.c, which of them
// waited for a descriptor that was closed.
#include "engine/stackless/awaiting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/search.h"

enum { SUSPECTS_MOST = 20000, STACKS_MOST = 1024, OURS = 3 };

static size_t peek(void *ctx, uint64_t at, void *to, size_t bytes)
{
	return memory_peek(ctx, at, to, bytes, false);
}

// The live part of the threads' stacks.
static size_t stacks(const struct inspection *l, struct stackless_stack *v)
{
	size_t n = 0;
	for (size_t i = 0; i < l->tasks.n && n < STACKS_MOST; i++) {
		const struct maps_line *m = l->tasks.v[i].sp ? proc_maps_find(&l->maps, l->tasks.v[i].sp) :
							       NULL;
		if (m)
			v[n++] = (struct stackless_stack){l->tasks.v[i].sp, m->hi};
	}
	return n;
}

// What is ours in the process: the region is large.
static size_t our_memory(const struct inspection *l, struct span v[OURS])
{
	const struct ctp_ext *e = l->r->ext;
	v[0] = (struct span){e->region_base, e->region_base + l->r->bytes};
	v[1] = (struct span){e->areas_base, e->areas_base + e->areas_bytes};
	v[2] = (struct span){e->self_base, e->self_end};
	return spans_tidy(v, OURS);
}

static int read_list(struct awaiting *a, struct inspection *l)
{
	struct stackless_stack *s = calloc(STACKS_MOST, sizeof(*s));
	struct span ours[OURS];
	if (!s)
		return -ENOMEM;
	struct stackless_where w = {.memory = &l->memory,
				    .pairs = &a->functions->pairs,
				    .code = {peek, &l->memory},
				    .stacks = s,
				    .nstacks = stacks(l, s),
				    .skip = ours,
				    .nskip = our_memory(l, ours)};
	int e = stackless_find(&a->list, &w);
	free(s);
	return e;
}

// ------------------------------------------------------------------- suspects

// One whose memory is known, and that has not come to its end.
static bool is_suspect(const struct stackless *s)
{
	return s->block.hi && s->block.lo == s->at && s->state != STACKLESS_FINAL &&
	       s->state != STACKLESS_DESTROYING;
}

static void make_suspect(struct suspect *x, const struct stackless *s, const char *unsearched)
{
	x->rule = RULE_UNRESUMABLE;
	x->cand = UINT32_MAX;
	x->wait = -1;
	x->c.fd = -1;
	x->s.id = s->at;
	x->s.slot = s->at;                                        // where a handle points to,
	x->s.lo = s->at + 16;                                     // and a pointer to its promise
	x->mine[0] = (struct span){s->block.lo, s->block.hi + 8}; // to its last word, in the next header
	x->heap[0] = true;
	x->nmine = 1;
	inspect_say(&x->a[PROOF_P6A], HOLDS_OPEN, "%s", *unsearched ? unsearched : "memory was not searched");
	// What is asked of a coroutine that waits for a descriptor is not asked here.
	static const enum proof given[] = {PROOF_P0, PROOF_P2, PROOF_P3, PROOF_P4};
	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++)
		x->a[given[i]].holds = HOLDS_TRUE;
}

static bool make_suspects(struct awaiting *a, struct inspection *l)
{
	size_t n = 0;
	for (size_t i = 0; i < a->list.n; i++)
		n += is_suspect(&a->list.v[i]);
	a->too_many = n > SUSPECTS_MOST;
	n = a->too_many ? 0 : n;
	a->suspects = calloc(n + 1, sizeof(*a->suspects));
	a->v = calloc(a->list.n + 1, sizeof(*a->v));
	l->who = calloc(n + 1, sizeof(struct suspect *));
	if (!a->suspects || !a->v || !l->who)
		return false;
	for (size_t i = 0; i < a->list.n; i++) {
		struct stackless *s = &a->list.v[i];
		a->v[i].suspect = STACKLESS_NONE;
		if (n && is_suspect(s)) {
			make_suspect(&a->suspects[a->nsuspects], s, l->unsearched);
			l->who[a->nsuspects] = &a->suspects[a->nsuspects];
			a->v[i].suspect = (uint32_t)a->nsuspects++;
		} else if (s->nested) {
			uint32_t root = stackless_row(&a->list, s->block.lo);
			a->v[i].suspect = root == STACKLESS_NONE ? STACKLESS_NONE : a->v[root].suspect;
		}
	}
	l->n = a->nsuspects;
	return true;
}

bool awaiting_find(struct awaiting *a, struct inspection *l)
{
	free(l->who);
	l->who = NULL;
	l->n = 0;
	awaiting_deinit(a);
	functions_refresh(a->functions, l->pid, l->maps.v, l->maps.n);
	int e = a->functions->pairs.n ? read_list(a, l) : -ENOENT;
	a->found = !e;
	*a->why = 0;
	if (e == -ENOENT)
		return false;
	if (e || !make_suspects(a, l)) {
		snprintf(a->why, sizeof(a->why), "its frames could not be looked for: %s",
			 e == -EAGAIN ? "no time to look through all of its memory" :
					"memory could not be read");
		return false;
	}
	return true;
}

void awaiting_deinit(struct awaiting *a)
{
	if (a->found)
		stackless_deinit(&a->list);
	free(a->v);
	free(a->suspects);
	ends_deinit(&a->ends);
	ends_deinit(&a->left);
	*a = (struct awaiting){.functions = a->functions, .closes = a->closes};
}

uint32_t awaiting_row_at(const struct awaiting *a, uint64_t addr)
{
	const struct stackless_list *l = &a->list;
	size_t i = FIRST_NOT(l->n, k, l->v[k].at <= addr);
	return i && l->v[i - 1].block.hi > addr ? (uint32_t)i - 1 : STACKLESS_NONE;
}

uint32_t awaiting_innermost(const struct awaiting *a, uint32_t row)
{
	for (size_t steps = 0;
	     row != STACKLESS_NONE && a->list.v[row].awaits != STACKLESS_NONE && steps < a->list.n; steps++)
		row = a->list.v[row].awaits;
	return row;
}

uint32_t awaiting_row(const struct awaiting *a, uint64_t addr)
{
	return awaiting_innermost(a, awaiting_row_at(a, addr & SPAN_ADDRESS_MASK));
}
