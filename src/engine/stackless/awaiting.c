// SPDX-License-Identifier: MIT
//
// A suspect is a block of the heap that begins with a frame; frames of callees may lie in it. The search says
// which are reached. Of a reached one the way matters: a coroutine that is awaited is reached from the one
// that awaits it, which the program resumes only when the awaited one has ended. But that keeps it among its
// variables. A promise that leads to it, or one further out that does, is how a library finds the innermost
// coroutine to resume: then it matters what leads to that one. So it does if an object leads to it that a
// variable of the awaiting one leads to, which somebody knows: a timer with its operation.
#include "engine/stackless/awaiting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "ctp/births.h"
#include "engine/inspect/site.h"
#include "engine/stackless/frame_digest.h"
#include "engine/stackless/numbered.h"
#include "search/mark/graph.h"
#include "search/mark/scan.h"

enum {
	SUSPECTS_MOST = 20000,
	CLOSES_MOST = 4096,
	DEEPEST = 6,
	OBJECT_BYTES = 512,
	CLOSER_FRAMES = 32,
	EDGES_MOST = 64,
	STACKS_MOST = 1024,
	OURS = 3
};

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
	*a = (struct awaiting){.functions = a->functions, .closes = a->closes};
}

// --------------------------------------------------------------------- closes

// The frame that an address lies in.
static uint32_t row_of(const struct stackless_list *l, uint64_t addr)
{
	size_t i = FIRST_NOT(l->n, k, l->v[k].at <= addr);
	return i && l->v[i - 1].block.hi > addr ? (uint32_t)i - 1 : STACKLESS_NONE;
}

static uint32_t innermost(const struct awaiting *a, uint32_t row)
{
	for (size_t steps = 0;
	     row != STACKLESS_NONE && a->list.v[row].awaits != STACKLESS_NONE && steps < a->list.n; steps++)
		row = a->list.v[row].awaits;
	return row;
}

uint32_t awaiting_row(const struct awaiting *a, uint64_t addr)
{
	return innermost(a, row_of(&a->list, addr & SPAN_ADDRESS_MASK));
}

// Does the frame belong to another coroutine than the one that was there at the close?
static bool is_younger(const struct inspection *l, uint64_t at, const struct closes_one *c)
{
	struct ctp_birth b;
	return ctp_births_find(l->r, at, &b) && b.created > c->end.closed;
}

// Was it closed by a coroutine of the same function, after its event had come? Then that one was resumed by
// it, and waits for something else since.
static bool is_own_close(const struct inspection *l, const struct stackless *s, const struct closes_one *c)
{
	uint64_t pcs[CLOSER_FRAMES];
	size_t n = closes_delivered(c) ? site_pcs(l->r, c->end.closer_stack, pcs, CLOSER_FRAMES) : 0;
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < s->pair->ncodes; k++)
			if (pcs[i] - s->pair->codes[k].at - 1 < s->pair->codes[k].bytes)
				return true;
	return false;
}

// A closed registration's data led into the frame of `row`. What waits there is that coroutine, or the one
// that it awaits. The last close counts.
static void note_close(struct awaiting *a, const struct inspection *l, uint32_t row,
		       const struct closes_one *c)
{
	row = innermost(a, row);
	if (row == STACKLESS_NONE || a->list.v[row].state != STACKLESS_SUSPENDED ||
	    is_younger(l, a->list.v[row].at, c))
		return;
	struct awaiting_one *one = &a->v[row];
	if (one->closed > c->end.closed)
		return;
	one->closed = c->end.closed;
	one->close = is_own_close(l, &a->list.v[row], c) ? NULL : c;
}

// Where the object ends that a registration's data leads to, at the latest: where that of another one begins.
static uint64_t object_end(const struct awaiting *a, const struct inspection *l, uint64_t data)
{
	uint64_t end = data + OBJECT_BYTES;
	for (size_t i = 0; i < l->registrations.n; i++) {
		uint64_t other = l->registrations.v[i].data & SPAN_ADDRESS_MASK;
		end = other > data && other < end ? other : end;
	}
	for (size_t i = 0; i < a->closes->n; i++) {
		uint64_t other = a->closes->v[i].was.reg_data & SPAN_ADDRESS_MASK;
		end = other > data && other < end ? other : end;
	}
	return end;
}

// Does the word belong to that object? In malloc's heap it lies in the same block, which is in use: one that
// was freed with its coroutine has neighbours that tell nothing of it.
static bool in_object(const struct awaiting *a, const struct inspection *l, struct graph *g, uint64_t data,
		      uint64_t at)
{
	uint32_t of_data[GRAPH_OWNERS], of_word[GRAPH_OWNERS];
	const struct maps_line *m = proc_maps_find(&l->maps, data);
	if (at >= object_end(a, l, data))
		return false;
	if (graph_has(g, data) || graph_has(g, at))
		return graph_has(g, data) && graph_has(g, at) && graph_owners(g, data, of_data) &&
		       graph_owners(g, at, of_word) && of_data[0] == of_word[0];
	return m && strcmp(m->path, "[heap]");
}

// A registration's data leads to a frame: into it, or to an object that holds its address.
static void join_closes(struct awaiting *a, const struct inspection *l, struct graph *g)
{
	uint64_t words[OBJECT_BYTES / 8];
	size_t first = a->closes->n > CLOSES_MOST ? a->closes->n - CLOSES_MOST : 0;
	for (size_t k = first; k < a->closes->n && !inspect_late(l); k++) {
		const struct closes_one *c = &a->closes->v[k];
		uint64_t data = c->was.reg_data & SPAN_ADDRESS_MASK;
		uint32_t row = row_of(&a->list, data);
		if (row != STACKLESS_NONE) {
			note_close(a, l, row, c);
			continue;
		}
		size_t n = !memory_map(&l->memory, data) ?
				   0 :
				   memory_peek(&l->memory, data & ~7ULL, words, sizeof(words), false) / 8;
		for (size_t i = 0; i < n; i++) {
			row = stackless_row(&a->list, words[i]);
			row = row == STACKLESS_NONE ? stackless_row(&a->list, words[i] - 16) : row;
			if (row != STACKLESS_NONE && in_object(a, l, g, data, (data & ~7ULL) + 8 * i))
				note_close(a, l, row, c);
		}
	}
}

// ------------------------------------------------------------------- ways in

struct way {
	struct graph *g;
	const struct awaiting *a;
	const struct inspection *l;
	bool *allowed; // groups whose words do not count
	bool *seen;
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

static void judge_reached(struct awaiting *a, struct inspection *l, struct way *w, uint32_t row)
{
	struct awaiting_one *one = &a->v[row];
	struct suspect *s = l->who[one->suspect];
	uint32_t group = graph_group(w->g, one->suspect), owners[GRAPH_OWNERS];
	const struct graph_edge *word;
	one->answer = AWAITING_REACHED;
	if (s->a[PROOF_P6A].holds == HOLDS_FALSE)
		return; // the kernel, or a register
	memset(w->allowed, 0, w->g->n + 1);
	note_awaiter(a, w, row, group);
	unsigned n = one->close ? graph_owners(w->g, one->close->was.reg_data & SPAN_ADDRESS_MASK, owners) :
				  0;
	for (unsigned i = 0; i < n; i++)
		w->allowed[owners[i]] |= owners[i] != group;
	if (through_allowed(w, group))
		one->answer = AWAITING_OWNED;
	else if ((word = only_word(w->g, group)) && one->close)
		one->answer = AWAITING_HELD;
	else if (word && (one->close = numbered_close(a->closes, l, &a->list.v[row], word->at)))
		one->answer = AWAITING_NUMBERED;
	if (one->answer == AWAITING_OWNED)
		note_promise(w, group, one);
	s->firm = one->answer != AWAITING_REACHED;
}

void awaiting_prepare(struct awaiting *a, struct inspection *l, struct graph *g)
{
	ends_deinit(&a->ends);
	ends_take(&a->ends, l, g);
}

// To which of them that are lost do words lead that were left out? What those lead to is as doubtful.
static void note_ends(struct awaiting *a, struct graph *g)
{
	bool *marked = calloc(g->n + 1, sizeof(*marked));
	bool all = !marked || !ends_mark(&a->ends, g, marked);
	for (size_t i = 0; i < a->list.n; i++)
		if (a->v[i].suspect != STACKLESS_NONE)
			a->v[i].ends = all || marked[graph_group(g, a->v[i].suspect)];
	free(marked);
}

void awaiting_answer(struct awaiting *a, struct inspection *l, struct graph *g)
{
	note_ends(a, g);
	join_closes(a, l, g);
	struct way w = {.g = g, .a = a, .l = l};
	w.allowed = calloc(g->n + 1, sizeof(bool));
	w.seen = calloc(g->n + 1, sizeof(bool));
	for (uint32_t i = 0; w.allowed && w.seen && i < a->list.n; i++) {
		const struct stackless *s = &a->list.v[i];
		bool waits = (s->state == STACKLESS_SUSPENDED && s->awaits == STACKLESS_NONE) ||
			     s->state == STACKLESS_INITIAL;
		if (!waits || a->v[i].suspect == STACKLESS_NONE || inspect_late(l))
			continue;
		if (!g->reached[graph_group(g, a->v[i].suspect)])
			a->v[i].answer = AWAITING_LOST;
		else if (s->state == STACKLESS_SUSPENDED)
			judge_reached(a, l, &w, i);
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
	free(w.allowed);
	free(w.seen);
}
