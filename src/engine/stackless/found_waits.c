// SPDX-License-Identifier: MIT
//
// Words on stacks do not count: a call has left them there. Nor does what a coroutine that awaits another one
// has among its variables: nobody is resumed by it.
#include "engine/stackless/found_waits.h"

#include <string.h>

#include "ctp/births.h"
#include "engine/memory/reach.h"
#include "engine/stackless/frame_digest.h"
#include "engine/stackless/frame_fds.h"
#include "search/disguise/disguise.h"
#include "search/mark/graph.h"

#define HALF_NS 1000000000ULL
enum { EDGES_MOST = 64, HANDLE_TO_PROMISE = 16, SEEN_MOST = 4096 };

struct noting {
	struct found_waits *f;
	struct awaiting *a;
	const struct inspection *l;
	struct graph *g;
	struct frame_fds fds;
	struct seen_waits seen; // now
	uint64_t last_event, ns;
};

static struct known_wait place_of(const struct stackless *s)
{
	return (struct known_wait){s->pair->resume, s->known ? s->index : UINT64_MAX};
}

static uint64_t born(const struct inspection *l, uint64_t at)
{
	struct ctp_birth b;
	return ctp_births_find(l->r, at, &b) ? b.created : 0;
}

static bool waits(const struct awaiting *a, uint32_t row)
{
	const struct stackless *s = &a->list.v[row];
	return a->v[row].suspect != STACKLESS_NONE && s->awaits == STACKLESS_NONE &&
	       (s->state == STACKLESS_SUSPENDED || s->state == STACKLESS_INITIAL);
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
static bool awaits_it(const struct noting *n, uint32_t row, uint32_t group)
{
	const struct awaiting *a = n->a;
	size_t steps = 0;
	for (row = a->list.v[row].awaited_by; row != STACKLESS_NONE && steps < a->list.n;
	     row = a->list.v[row].awaited_by, steps++)
		if (a->v[row].suspect != STACKLESS_NONE && graph_group(n->g, a->v[row].suspect) == group)
			return true;
	return false;
}

static bool is_plain(const struct stackless *s, uint64_t word)
{
	return (word & SPAN_ADDRESS_MASK) - s->at < s->block.hi - s->at;
}

// Which address of the frame the word holds, in a form that a word can have; false: none. Into the frame it
// counts as it is, if the frame lies in no other one's.
static bool leads_to(const struct stackless *s, uint64_t word, uint64_t *offset)
{
	uint64_t address = word & SPAN_ADDRESS_MASK;
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

static uint64_t word_at(const struct inspection *l, uint64_t at)
{
	uint64_t word = 0;
	memory_peek(&l->memory, at, &word, sizeof(word), false);
	return word;
}

// The words that lead to it, even where what holds one is itself lost: the form is the same.
static void note_words(struct noting *n, uint32_t row, struct seen_wait *now)
{
	const struct stackless *s = &n->a->list.v[row];
	uint32_t own = graph_group(n->g, n->a->v[row].suspect);
	const struct graph_edge *e;
	struct known_word w = {.place = place_of(s),
			       .coroutine = s->at,
			       .created = now->created,
			       .fresh = now->created > n->last_event};
	for (size_t i = 0; i < EDGES_MOST && (e = graph_edge_to(n->g, own, i)); i++) {
		if (e->from == own || on_stack(n->l, e->at) ||
		    !leads_to(s, word_at(n->l, e->at), &w.offset) ||
		    (e->from != GRAPH_OUTSIDE && awaits_it(n, row, e->from)))
			continue;
		w.at = e->at;
		w.single = e->from == GRAPH_OUTSIDE && (!w.offset || w.offset == HANDLE_TO_PROMISE);
		known_waits_word(&n->f->known, &w);
		now->plain |= is_plain(s, word_at(n->l, e->at));
		if (now->nwords < SEEN_WORDS)
			now->words[now->nwords++] = e->at;
	}
}

// Does the word still lead to a coroutine that waits elsewhere by now, or to where one was?
static bool still_leads(const struct noting *n, const struct known_word *w, uint32_t row)
{
	const struct graph_edge *e;
	if (row == STACKLESS_NONE)
		return w->single && (word_at(n->l, w->at) & SPAN_ADDRESS_MASK) - w->coroutine == w->offset;
	uint32_t suspect = n->a->v[row].suspect;
	for (size_t i = 0; suspect != STACKLESS_NONE && i < EDGES_MOST &&
			   (e = graph_edge_to(n->g, graph_group(n->g, suspect), i));
	     i++)
		if (e->at == w->at)
			return true;
	return false;
}

// Words that lead to one that has gone on tell nothing of how a coroutine is kept while it waits: an owner
// has them, or they are left of before.
static void note_left(struct noting *n)
{
	struct known_waits *k = &n->f->known;
	for (size_t i = 0; i < k->nwords; i++) {
		struct known_word *w = &k->words[i];
		if (w->gone)
			continue;
		uint32_t row = stackless_row(&n->a->list, w->coroutine);
		bool same = row != STACKLESS_NONE && born(n->l, w->coroutine) == w->created;
		struct known_wait p = same ? place_of(&n->a->list.v[row]) : w->place;
		bool there = same && waits(n->a, row) && p.resume == w->place.resume &&
			     p.index == w->place.index;
		if (!there && (same || row == STACKLESS_NONE) && still_leads(n, w, row))
			known_waits_left(k, w->at);
		w->gone = !there;
	}
}

// The coroutine to which a word leads as a handle does.
static uint32_t handle_row(const struct noting *n, uint64_t word)
{
	for (unsigned f = DISGUISE_NONE; f < DISGUISE_WORDS; f++) {
		bool tagged;
		uint64_t at = f == DISGUISE_NONE ? word & SPAN_ADDRESS_MASK :
						   disguise_address(f, word, &tagged);
		uint32_t row = stackless_row(&n->a->list, at);
		row = row == STACKLESS_NONE ? stackless_row(&n->a->list, at - HANDLE_TO_PROMISE) : row;
		if (row != STACKLESS_NONE)
			return row;
	}
	return STACKLESS_NONE;
}

// Has another one's handle taken the place of its own? One that has waited all the time was only moved there.
static bool is_replaced(const struct noting *n, uint64_t at, uint64_t own)
{
	uint32_t row = handle_row(n, word_at(n->l, at));
	if (row == STACKLESS_NONE || n->a->list.v[row].at == own)
		return false;
	const struct stackless *s = &n->a->list.v[row];
	const struct seen_wait *then = seen_waits_find(&n->f->seen, s->at);
	return !then || then->created != born(n->l, s->at) ||
	       then->digest != frame_digest(n->l->pid, &s->block);
}

// Of one that is lost it counts what led to it before, in the same wait.
static void note_lost(const struct noting *n, const struct seen_wait *then, struct seen_wait *now)
{
	if (now->nwords) { // what holds the word is itself lost
		now->is = SEEN_TAKEN;
		return;
	}
	memcpy(now->words, then->words, sizeof(now->words));
	now->nwords = then->nwords;
	now->is = then->is;
	if (now->is != SEEN_FOUND || !now->nwords)
		return;
	now->is = SEEN_TAKEN;
	for (unsigned i = 0; i < now->nwords; i++)
		if (is_replaced(n, now->words[i], now->at))
			now->is = SEEN_REPLACED;
}

static void note_one(struct noting *n, uint32_t row)
{
	const struct stackless *s = &n->a->list.v[row];
	struct awaiting_one *one = &n->a->v[row];
	uint64_t created = born(n->l, s->at);
	struct frame_fd_answer fds = frame_fds_of(&n->fds, n->l, s, created);
	struct seen_wait now = {.at = s->at, .created = created, .event = fds.event};
	if (one->close && closes_waited(one->close))
		known_waits_sure(&n->f->known, place_of(s));
	one->armed = fds.armed;
	note_words(n, row, &now);
	if (one->answer == AWAITING_LOST && fds.armed)
		known_waits_armed(&n->f->known, place_of(s));
	if (n->seen.n >= SEEN_MOST && one->answer != AWAITING_LOST)
		return;
	now.digest = one->digest ? one->digest : frame_digest(n->l->pid, &s->block);
	const struct seen_wait *then = seen_waits_find(&n->f->seen, s->at), none = {0};
	bool same = then && seen_waits_same(then, &now);
	one->since_ns = now.since_ns = same ? then->since_ns : n->ns;
	now.plain |= same && then->plain;
	if (one->answer == AWAITING_LOST)
		note_lost(n, same ? then : &none, &now);
	seen_waits_add(&n->seen, &now);
}

static void note_registrations(struct noting *n)
{
	for (size_t i = 0; i < n->l->registrations.n; i++) {
		const struct registration *r = &n->l->registrations.v[i];
		uint32_t row = r->events & CTP_REG_EVENTS ? awaiting_row(n->a, r->data) : STACKLESS_NONE;
		if (row == STACKLESS_NONE || !waits(n->a, row))
			continue;
		known_waits_sure(&n->f->known, place_of(&n->a->list.v[row]));
		n->a->v[row].armed = n->a->v[row].led = true;
	}
}

// Where not all words in disguise were looked for, the program may keep it in such a form. Not one of a kind
// that was found, or to which a plain word led in this wait before.
static bool may_be_disguised(const struct noting *n, const struct awaiting_one *one,
			     const struct seen_wait *seen)
{
	if (!reach_half(n->l) || one->how == KNOWN_FOUND || (seen && seen->plain))
		return false;
	return one->how == KNOWN_NEVER || n->ns - one->since_ns < HALF_NS;
}

// Whether its kind is known. If not, and an event of a descriptor may come whose number it holds, then the
// program may find it by that number.
static void decide(struct noting *n, uint32_t row)
{
	struct awaiting_one *one = &n->a->v[row];
	const struct stackless *s = &n->a->list.v[row];
	const struct seen_wait *seen = seen_waits_find(&n->seen, s->at);
	bool intact = seen && seen->nwords && seen->is == SEEN_TAKEN;
	one->how = known_waits_how(&n->f->known, place_of(s), intact);
	if (may_be_disguised(n, one, seen))
		one->answer = AWAITING_OPEN;
	if (one->answer != AWAITING_LOST)
		return;
	if (one->how == KNOWN_NEVER && one->armed)
		one->answer = AWAITING_ARMED;
	else if (one->left)
		one->how = KNOWN_UNUSED;
	else if (one->ends)
		one->how = KNOWN_ENDS;
}

// Has a look told of the same wait?
static bool was_told(const struct found_waits *f, const struct seen_wait *now)
{
	const struct seen_wait *then = seen_waits_find(&f->seen, now->at);
	return then && then->told && seen_waits_same(then, now);
}

// A look that had no time for words in disguise leaves what an earlier one has said.
static void note_judged(const struct found_waits *f, const struct awaiting_one *one, struct seen_wait *now,
			bool half)
{
	const struct seen_wait *then = seen_waits_find(&f->seen, now->at);
	bool same = then && seen_waits_same(then, now);
	now->judged = half ? same && then->judged : one->answer != AWAITING_OPEN;
	now->reached = half ? same && then->reached : one->answer == AWAITING_REACHED;
}

static uint64_t leads_frame(void *ctx, uint64_t data)
{
	const struct awaiting *a = ctx;
	uint32_t row = awaiting_row(a, data);
	return row == STACKLESS_NONE ? 0 : a->list.v[row].at;
}

void found_waits_note(struct found_waits *f, struct awaiting *a, const struct inspection *l, struct graph *g)
{
	struct noting n = {
		.f = f, .a = a, .l = l, .g = g, .last_event = frame_fds_last_event(l), .ns = proc_now_ns()};
	frame_fds_init(&n.fds, l, leads_frame, a);
	note_left(&n);
	for (uint32_t i = 0; i < a->list.n && !inspect_late(l); i++)
		if (waits(a, i))
			note_one(&n, i);
	note_registrations(&n);
	for (uint32_t i = 0; i < a->list.n; i++)
		if (a->v[i].answer > AWAITING_REACHED)
			decide(&n, i);
	for (size_t i = 0; i < n.seen.n; i++) {
		const struct awaiting_one *one = &a->v[stackless_row(&a->list, n.seen.v[i].at)];
		note_judged(f, one, &n.seen.v[i], reach_half(l));
		n.seen.v[i].armed = one->armed;
		n.seen.v[i].led = one->led;
		n.seen.v[i].told = one->answer > AWAITING_REACHED ||
				   (one->answer == AWAITING_OPEN && was_told(f, &n.seen.v[i]));
	}
	frame_fds_deinit(&n.fds);
	seen_waits_deinit(&f->seen);
	f->seen = n.seen;
}

void found_waits_look(struct found_waits *f, struct awaiting *a, const struct inspection *l)
{
	struct noting n = {.f = f, .a = a, .l = l, .ns = proc_now_ns()};
	frame_fds_init(&n.fds, l, leads_frame, a);
	for (uint32_t i = 0; i < a->list.n && n.seen.n < SEEN_MOST && !inspect_late(l); i++) {
		const struct stackless *s = &a->list.v[i];
		struct awaiting_one *one = &a->v[i];
		if (!waits(a, i))
			continue;
		uint64_t created = born(l, s->at);
		struct frame_fd_answer fds = frame_fds_of(&n.fds, l, s, created);
		struct seen_wait now = {.at = s->at,
					.created = created,
					.event = fds.event,
					.armed = fds.armed,
					.since_ns = n.ns,
					.digest = frame_digest(l->pid, &s->block)};
		const struct seen_wait *then = seen_waits_find(&f->seen, s->at);
		now = then && seen_waits_same(then, &now) ? *then : now;
		one->since_ns = now.since_ns;
		one->armed = now.armed;
		one->led = now.led;
		one->told = now.told;
		seen_waits_add(&n.seen, &now);
	}
	frame_fds_deinit(&n.fds);
	struct seen_waits *gone = inspect_late(l) ? &n.seen : &f->seen;
	seen_waits_deinit(gone);
	*gone = gone == &f->seen ? n.seen : *gone;
}

bool found_waits_news(const struct found_waits *f, const struct awaiting *a)
{
	for (uint32_t i = 0; i < a->list.n; i++) {
		const struct seen_wait *seen = seen_waits_find(&f->seen, a->list.v[i].at);
		if (waits(a, i) && a->v[i].answer != AWAITING_REACHED && a->v[i].answer != AWAITING_ARMED &&
		    (!seen || !seen->judged || seen->reached))
			return true;
	}
	return false;
}

void found_waits_deinit(struct found_waits *f)
{
	known_waits_deinit(&f->known);
	seen_waits_deinit(&f->seen);
}
