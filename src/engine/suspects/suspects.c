// SPDX-License-Identifier: MIT
//
// Candidates (descriptors that ended) are matched with suspended coroutines by the generation that
// these wait for, or by the coroutine that the descriptor's events resumed before. The descriptor's
// entry names up to two waiters; a pass over all stations is made only if that is not enough, and
// rarely. A slot of the table is released only after such a pass, as late as possible: a coroutine can
// begin to wait for what has ended already. All indices are bounded: the region is not trusted.
#include "engine/suspects/suspects.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/search.h"
#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/suspects/set_waiters.h"

enum { KNOWN = 2 * SUSPECTS_MAX };

struct key {
	uint64_t key; // fd << 32 | generation, or an entity id
	uint32_t cand;
};

struct batch {
	struct suspects *s;
	struct key *waits, *learned; // learned: also led to by the registration's data
	size_t nwaits, nlearned;
	struct set_waiters sets;
	uint64_t turns, now_ns;
};

bool suspects_init(struct suspects *s, const struct ctp_region *r)
{
	*s = (struct suspects){.r = r,
			       .seen = pages_take(r->cands_max + 1),
			       .v = pages_take(SUSPECTS_MAX * sizeof(struct suspect *)),
			       .known = pages_take(KNOWN * sizeof(*s->known))};
	if (s->seen && s->v && s->known)
		return true;
	suspects_deinit(s);
	return false;
}

void suspects_deinit(struct suspects *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	pages_give(s->v, SUSPECTS_MAX * sizeof(struct suspect *));
	pages_give(s->known, KNOWN * sizeof(*s->known));
	pages_give(s->seen, s->r ? s->r->cands_max + 1 : 0);
	*s = (struct suspects){0};
}

bool suspect_holds(const struct ctp_region *r, const struct suspect *s)
{
	const struct ctp_state *c = &r->states[s->s.station];
	struct ctp_state now;
	if (ctp_state_changes(c) != s->s.changes || ctp_load64(&c->id) != s->s.id)
		return false;
	return ctp_state_read(c, &now) && now.id == s->s.id && now.changes == s->s.changes &&
	       now.life == CTP_SUSPENDED;
}

// Of a suspect in `known`, an open hash of places in `v`, + 1, which is half empty at least.
static uint32_t *place(const struct suspects *s, uint32_t cand, uint64_t id)
{
	uint64_t h = (id * 0x9e3779b97f4a7c15ULL ^ cand) * 0xbf58476d1ce4e5b9ULL;
	uint32_t i = (uint32_t)(h >> 32) % KNOWN;
	while (s->known[i] && (s->v[s->known[i] - 1]->cand != cand || s->v[s->known[i] - 1]->s.id != id))
		i = (i + 1) % KNOWN;
	return &s->known[i];
}

static void learn_anew(struct suspects *s)
{
	memset(s->known, 0, KNOWN * sizeof(*s->known));
	for (size_t i = 0; i < s->n; i++)
		*place(s, s->v[i]->cand, s->v[i]->s.id) = (uint32_t)i + 1;
}

void suspects_withdraw(struct suspects *s)
{
	size_t k = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (!s->v[i]->gone && suspect_holds(s->r, s->v[i]))
			s->v[k++] = s->v[i];
		else
			free(s->v[i]);
	}
	bool fewer = k < s->n;
	s->n = k;
	if (fewer)
		learn_anew(s);
}

static uint64_t wait_key(int32_t fd, uint32_t gen)
{
	return (uint64_t)(uint32_t)fd << 32 | gen;
}

static void add(struct batch *b, uint32_t cand, uint32_t station, const struct ctp_state *c, int wait)
{
	struct suspects *s = b->s;
	const struct ctp_cand *of = &s->r->cands[cand];
	if (of->kind == CTP_CAND_DEL && of->time < c->since)
		return; // it was gone when C came to wait: that is for stuck_gather()
	uint32_t *known = place(s, cand, c->id);
	if (*known)
		return;
	struct suspect *x = s->n < SUSPECTS_MAX ? calloc(1, sizeof(*x)) : NULL;
	if (!x) {
		s->lost++;
		return;
	}
	static const unsigned rules[] = {[CTP_CAND_CLOSE] = RULE_LOST_WAKEUP,
					 [CTP_CAND_DEL] = RULE_REMOVED,
					 [CTP_CAND_SET] = RULE_SET_CLOSED};
	x->cand = cand;
	x->s = *c;
	x->s.station = station;
	memcpy(&x->c, &s->r->cands[cand], sizeof(x->c));
	x->rule = x->c.kind < sizeof(rules) / sizeof(rules[0]) ? rules[x->c.kind] : RULE_LOST_WAKEUP;
	x->wait = wait;
	x->turns0 = b->turns;
	x->found_ns = b->now_ns;
	x->next_ns = b->now_ns + 30000000;
	s->v[s->n++] = x;
	*known = (uint32_t)s->n;
}

static size_t first_of(const struct key *k, size_t n, uint64_t key)
{
	return FIRST_NOT(n, i, k[i].key < key);
}

struct through {
	struct batch *b;
	uint32_t station;
	const struct ctp_state *c;
};

static void add_through(void *ctx, uint32_t cand, int wait)
{
	const struct through *t = ctx;
	add(t->b, cand, t->station, t->c, wait);
}

// Tries one station against the batch.
static void match(struct batch *b, uint32_t station)
{
	const struct ctp_state *st = &b->s->r->states[station];
	struct ctp_state c;
	if (!ctp_there(b->s->r, st) || ctp_load32(&st->owner) != CTP_OWNER_GUEST ||
	    st->life != CTP_SUSPENDED || st->entity != CTP_COROUTINE ||
	    !ctp_state_read_settled(b->s->r, st, &c) || c.life != CTP_SUSPENDED ||
	    c.entity != CTP_COROUTINE || !c.runs)
		return;
	uint32_t n = c.nwaits < CTP_WAITS ? c.nwaits : CTP_WAITS;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = wait_key(c.waits[i].fd, c.waits[i].gen);
		for (size_t k = first_of(b->waits, b->nwaits, key); k < b->nwaits && b->waits[k].key == key;
		     k++)
			if (b->s->r->cands[b->waits[k].cand].kind != CTP_CAND_SET)
				add(b, b->waits[k].cand, station, &c, (int)i);
	}
	for (size_t k = n ? b->nlearned : first_of(b->learned, b->nlearned, c.id);
	     k < b->nlearned && b->learned[k].key == c.id; k++)
		add(b, b->learned[k].cand, station, &c, -1);
	set_waiters_match(&b->sets, &c, add_through, &(struct through){b, station, &c});
}

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->cand < y->cand ? -1 : x->cand > y->cand;
}

// Only the station that the entry names need be tried, if it names all.
static bool named(struct batch *b, const struct ctp_cand *c)
{
	const struct ctp_fd *f = &c->was;
	bool found = false;
	const uint64_t hints[] = {f->waiter[0], f->waiter[1], f->leads};
	if (c->kind == CTP_CAND_SET || (f->flags & CTP_FD_MANY) ||
	    (f->learned && f->learned != (f->leads & CTP_ID_MASK)))
		return false;
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		uint64_t station = hints[i] >> CTP_ID_BITS;
		if (!hints[i] || station >= b->s->r->stations_max)
			continue;
		match(b, (uint32_t)station);
		found = true;
	}
	return found;
}

// Slots that may hold a candidate.
static uint32_t slots(const struct suspects *s)
{
	return s->round ? s->r->cands_max : ctp_load32(&s->r->ext->cand_count);
}

static void collect_one(struct batch *b, uint32_t slot)
{
	const struct ctp_cand *c = &b->s->r->cands[slot];
	uint64_t leads = c->was.leads & CTP_ID_MASK;
	if (ctp_load32(&c->ready) != CTP_CAND_READY)
		return;
	b->waits[b->nwaits++] = (struct key){wait_key(c->fd, c->gen), slot};
	if (c->kind == CTP_CAND_SET) {
		set_waiters_add(&b->sets, slot);
		return;
	}
	if (c->was.learned)
		b->learned[b->nlearned++] = (struct key){c->was.learned, slot};
	if (leads && leads != c->was.learned)
		b->learned[b->nlearned++] = (struct key){leads, slot};
}

// Slots lo to hi - 1. A count that the program made up leads into a hole, which costs one question.
static void collect_range(struct batch *b, uint32_t lo, uint32_t hi, bool all)
{
	struct ctp_walk w = ctp_walk(b->s->r, b->s->r->cands, sizeof(*b->s->r->cands), hi);
	for (uint64_t i = ctp_walk_from(&w, lo); i < w.n; i = ctp_walk_from(&w, i + 1))
		if (all || !b->s->seen[i])
			collect_one(b, (uint32_t)i);
}

static void collect(struct batch *b, uint32_t count, bool all)
{
	struct suspects *s = b->s;
	uint32_t max = s->r->cands_max, from = all ? 0 : s->from % max, n = all ? slots(s) : count - s->from;
	uint32_t behind = n < max - from ? n : max - from;
	collect_range(b, from, from + behind, all);
	collect_range(b, 0, n - behind, all);
	set_waiters_ready(&b->sets);
	if (b->nwaits)
		qsort(b->waits, b->nwaits, sizeof(struct key), by_key);
	if (b->nlearned)
		qsort(b->learned, b->nlearned, sizeof(struct key), by_key);
}

// True if every candidate of the batch was matched.
static bool run(struct batch *b, bool all)
{
	struct suspects *s = b->s;
	bool pass = all;
	for (size_t i = 0; !pass && i < b->nwaits; i++)
		pass = !named(b, &s->r->cands[b->waits[i].cand]);
	if (pass && !all && b->now_ns < s->pass_ns)
		return false;
	struct ctp_walk w = ctp_walk_states(s->r);
	for (uint64_t i = pass ? ctp_walk_from(&w, 0) : w.n; i < w.n; i = ctp_walk_from(&w, i + 1))
		match(b, (uint32_t)i);
	if (pass) // a twentieth of a CPU at most
		s->pass_ns = b->now_ns + 20 * (proc_now_ns() - b->now_ns);
	return true;
}

static void note_seen(struct suspects *s, const struct batch *b)
{
	for (size_t i = 0; i < b->nwaits; i++) {
		s->held += !s->seen[b->waits[i].cand];
		s->seen[b->waits[i].cand] = 1;
	}
}

void suspects_gather(struct suspects *s, bool all, uint64_t now_ns)
{
	uint32_t max = s->r->cands_max, count = ctp_load32(&s->r->ext->cand_count);
	struct batch b = {.s = s, .now_ns = now_ns, .sets = {.r = s->r}};
	if (!max)
		return;
	s->round |= count >= max;
	if (count - s->from > max)
		s->from = count - max;
	while (s->from != count && s->seen[s->from % max])
		s->from++;
	size_t n = all ? slots(s) : count - s->from;
	if (!n)
		return;
	b.waits = calloc(n, sizeof(*b.waits));
	b.learned = calloc(2 * n, sizeof(*b.learned));
	uint32_t high = ctp_load32(&s->r->ext->thread_high);
	for (uint32_t i = 0; i < high && i < s->r->threads_max; i++)
		b.turns += s->r->threads[i].turns;
	if (b.waits && b.learned) {
		collect(&b, count, all);
		if (b.nwaits && run(&b, all))
			note_seen(s, &b);
	}
	set_waiters_deinit(&b.sets);
	free(b.waits);
	free(b.learned);
}

void suspects_release(struct suspects *s, uint64_t now_ns)
{
	if (s->held < s->r->cands_max / 2 + 1 || now_ns < s->release_ns)
		return;
	size_t lost = s->lost;
	suspects_gather(s, true, now_ns);
	uint32_t n = slots(s);
	bool *used = s->lost == lost ? calloc(n, sizeof(*used)) : NULL;
	for (size_t i = 0; used && i < s->n; i++)
		if (s->v[i]->cand != UINT32_MAX)
			used[s->v[i]->cand] = true;
	for (uint32_t i = 0; used && i < n; i++) {
		if (!s->seen[i] || used[i])
			continue;
		s->seen[i] = 0;
		s->held--;
		ctp_store32(&s->r->cands[i].ready, CTP_CAND_FREE); // partner: fd_candidates_post
	}
	free(used);
	s->release_ns = now_ns + 50 * (proc_now_ns() - now_ns);
}
