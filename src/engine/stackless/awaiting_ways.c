// SPDX-License-Identifier: MIT
//
// Of a coroutine that something leads to, the way matters. One that is awaited is reached from the one that
// awaits it, which the program resumes only when the awaited one has ended: if the handle is among that one's
// variables, the way does not count. A promise that leads to it, or one further out that does, is how a
// library finds the innermost coroutine to resume: then it matters what leads to that one. So it does if an
// object leads to it to which a variable of the awaiting one leads, and which somebody else knows: a timer
// with its operation.
#include "engine/stackless/awaiting_ways.h"

#include <stdlib.h>
#include <string.h>

#include "engine/stackless/awaiting_closes.h"
#include "engine/stackless/frame_digest.h"
#include "engine/stackless/numbered.h"
#include "engine/stackless/unused_parts.h"

enum { DEEPEST = 6, EDGES_MOST = 64 };

struct marks {
	bool *allowed; // groups whose words do not count
	bool *seen;
};

struct way {
	struct graph *g;
	const struct awaiting *a;
	const struct inspection *l;
	bool *allowed, *seen;
	uint32_t leaf, awaiter;     // groups: whose ways they are, and who awaits it, or GRAPH_OUTSIDE
	const struct stackless *by; // the frame of that one
	struct span block, promise; // of that one
};

// A word that leads to the awaiting frame, but to none of its two beginnings, which handles lead to.
static bool leads_inside(const struct way *w, uint64_t at)
{
	uint64_t v = 0;
	memory_peek(&w->l->memory, at, &v, sizeof(v), false);
	v &= SPAN_ADDRESS_MASK;
	return v > w->block.lo && v < w->block.hi && stackless_row(&w->a->list, v) == STACKLESS_NONE &&
	       stackless_row(&w->a->list, v - 16) == STACKLESS_NONE;
}

// Somebody else has a variable of the awaiting one: a queue of timers, say.
static bool variable_known(const struct way *w)
{
	const struct graph_edge *e;
	for (size_t n = 0; n < EDGES_MOST && (e = graph_edge_to(w->g, w->awaiter, n)); n++)
		if (e->from != w->leaf && (e->from == GRAPH_OUTSIDE || w->g->reached[e->from]) &&
		    leads_inside(w, e->at))
			return true;
	return false;
}

// A word of the coroutine that awaits the leaf, and not of its promise.
static bool is_awaiting(const struct way *w, const struct graph_edge *e)
{
	return e->from == w->awaiter && (e->at < w->promise.lo || e->at >= w->promise.hi) &&
	       (e->to == w->leaf || !variable_known(w));
}

static bool all_allowed(struct way *w, uint32_t group, unsigned depth);

static bool is_allowed(struct way *w, const struct graph_edge *e, unsigned depth)
{
	uint32_t group = e->from;
	if (w->allowed[group] || is_awaiting(w, e))
		return true;
	if (depth > DEEPEST || w->seen[group])
		return w->seen[group];
	w->seen[group] = true;
	return all_allowed(w, group, depth + 1);
}

// Do words lead to the group, and all of them from allowed ones?
static bool all_allowed(struct way *w, uint32_t group, unsigned depth)
{
	const struct graph_edge *e;
	bool any = false;
	for (size_t n = 0; (e = graph_edge_to(w->g, group, n)); n++) {
		if (n == EDGES_MOST || e->from == GRAPH_OUTSIDE)
			return false;
		if (!w->g->reached[e->from])
			continue;
		any = true;
		if (!is_allowed(w, e, depth))
			return false;
	}
	return any;
}

// The same of one that need not be allowed itself.
static bool through_allowed(struct way *w, uint32_t group)
{
	memset(w->seen, 0, w->g->n + 1);
	w->seen[group] = true;
	return all_allowed(w, group, 0);
}

static const struct graph_edge *only_word(const struct graph *g, uint32_t group)
{
	const struct graph_edge *e, *one = NULL;
	for (size_t n = 0; (e = graph_edge_to(g, group, n)); n++) {
		if (e->from != GRAPH_OUTSIDE && !g->reached[e->from])
			continue;
		if (one)
			return NULL;
		one = e;
	}
	return one;
}

// The one that awaits it; if that lies in the same block, the next one.
static void note_awaiter(const struct awaiting *a, struct way *w, uint32_t row, uint32_t own)
{
	w->leaf = own;
	w->awaiter = GRAPH_OUTSIDE;
	w->promise = (struct span){0, 0};
	for (uint32_t at = a->list.v[row].awaited_by; at != STACKLESS_NONE; at = a->list.v[at].awaited_by) {
		const struct stackless *s = &a->list.v[at];
		uint32_t group = a->v[at].suspect == STACKLESS_NONE ? own :
								      graph_group(w->g, a->v[at].suspect);
		if (group == own)
			continue;
		w->awaiter = group;
		w->block = s->block;
		w->by = s;
		if (s->promise_end)
			w->promise = (struct span){s->at, s->at + s->promise_end};
		return;
	}
}

// Clang does not say where a promise ends. If the first word of the awaiting frame that leads to the leaf may
// lie in it, and it matters then what leads to that frame, debug information has to tell.
static void note_promise(struct way *w, uint32_t group, struct awaiting_one *one)
{
	const struct graph_edge *e;
	uint64_t first = UINT64_MAX;
	if (w->awaiter == GRAPH_OUTSIDE || w->by->pair->maker != PAIR_CLANG)
		return;
	for (size_t n = 0; n < EDGES_MOST && (e = graph_edge_to(w->g, group, n)); n++)
		if (e->from == w->awaiter && e->at >= w->by->at && e->at < first)
			first = e->at;
	if (first == UINT64_MAX)
		return;
	w->promise = (struct span){w->by->at, first + 8};
	if (through_allowed(w, group))
		return;
	one->promise_of = w->by->pair->resume;
	one->promise_at = first - w->by->at;
}

static void judge_reached(struct awaiting *a, struct inspection *l, struct graph *g, struct marks *m,
			  uint32_t row)
{
	struct way w = {.g = g, .a = a, .l = l, .allowed = m->allowed, .seen = m->seen};
	struct awaiting_one *one = &a->v[row];
	struct suspect *s = l->who[one->suspect];
	uint32_t group = graph_group(g, one->suspect), owners[GRAPH_OWNERS];
	const struct graph_edge *word;
	one->answer = AWAITING_REACHED;
	if (s->a[PROOF_P6A].holds == HOLDS_FALSE)
		return; // the kernel, or a register
	memset(w.allowed, 0, g->n + 1);
	note_awaiter(a, &w, row, group);
	unsigned n = one->close ? graph_owners(g, one->close->was.reg_data & SPAN_ADDRESS_MASK, owners) : 0;
	for (unsigned i = 0; i < n; i++)
		w.allowed[owners[i]] |= owners[i] != group;
	if (through_allowed(&w, group))
		one->answer = AWAITING_OWNED;
	else if ((word = only_word(g, group)) && one->close)
		one->answer = AWAITING_HELD;
	else if (word && (one->close = numbered_close(a->closes, l, &a->list.v[row], word->at)))
		one->answer = AWAITING_NUMBERED;
	if (one->answer == AWAITING_OWNED)
		note_promise(&w, group, one);
	s->firm = one->answer != AWAITING_REACHED;
}

// -------------------------------------------------------------------- answers

void awaiting_ways_prepare(struct awaiting *a, struct inspection *l, struct graph *g,
			   struct span_list *unused)
{
	ends_deinit(&a->ends);
	ends_deinit(&a->left);
	ends_take(&a->ends, l, g);
	unused_parts_take(&a->left, unused, l, g);
}

// To which of them that are lost do words lead that were left out? What those lead to is as doubtful.
static void note_left_out(struct awaiting *a, struct graph *g)
{
	bool *ends = calloc(g->n + 1, sizeof(*ends)), *left = calloc(g->n + 1, sizeof(*left));
	bool all_ends = !ends || !ends_mark(&a->ends, g, ends);
	bool all_left = !left || !ends_mark(&a->left, g, left);
	for (size_t i = 0; i < a->list.n; i++) {
		if (a->v[i].suspect == STACKLESS_NONE)
			continue;
		uint32_t group = graph_group(g, a->v[i].suspect);
		a->v[i].ends = all_ends || ends[group];
		a->v[i].left = all_left || left[group];
	}
	free(ends);
	free(left);
}

void awaiting_ways_answer(struct awaiting *a, struct inspection *l, struct graph *g)
{
	note_left_out(a, g);
	awaiting_closes_join(a, l, g);
	struct marks marks = {calloc(g->n + 1, sizeof(bool)), calloc(g->n + 1, sizeof(bool))};
	for (uint32_t i = 0; marks.allowed && marks.seen && i < a->list.n; i++) {
		const struct stackless *s = &a->list.v[i];
		bool waits = (s->state == STACKLESS_SUSPENDED && s->awaits == STACKLESS_NONE) ||
			     s->state == STACKLESS_INITIAL;
		if (!waits || a->v[i].suspect == STACKLESS_NONE || inspect_late(l))
			continue;
		if (!g->reached[graph_group(g, a->v[i].suspect)]) {
			a->v[i].answer = AWAITING_LOST;
			a->v[i].ended = numbered_end(a->closes, l, s);
		} else if (s->state == STACKLESS_SUSPENDED)
			judge_reached(a, l, g, &marks, i);
		else
			a->v[i].answer = AWAITING_REACHED;
		if (a->v[i].answer > AWAITING_REACHED)
			a->v[i].digest = frame_digest(l->pid, &s->block);
	}
	for (size_t i = 0; i < l->n; i++) // it has been told
		if (l->who[i]->a[PROOF_P6A].holds == HOLDS_OPEN)
			inspect_say(&l->who[i]->a[PROOF_P6A],
				    g->reached[graph_group(g, (uint32_t)i)] ? HOLDS_FALSE : HOLDS_TRUE,
				    "searched");
	free(marks.allowed);
	free(marks.seen);
}
