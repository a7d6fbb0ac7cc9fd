// SPDX-License-Identifier: MIT
//
// A pair is dropped for good as soon as it is not what marks an empty queue: if others than those who wait
// here move it, or take from it, while none of these runs; if it differed for longer than a wakeup takes, and
// one was then resumed: a batch, a pause, a timer; or if one came to wait while it differed, who does not
// care. What never was equal is no pair.
#include "engine/sets/equal_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { APART_MOST = 8, HALVES_APART = 2, MOVES_MOST = 255 };

static uint64_t value(const struct equal_words *e, unsigned at, unsigned bytes)
{
	uint64_t word = e->words[at / 8];
	return bytes == 8 ? word : (word >> 8 * (at % 8)) & UINT32_MAX;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ b * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
	return x ^ x >> 32;
}

// ------------------------------------------------------------- who waits

static struct equal_member *member_of(struct equal_words *e, const struct equal_member *who)
{
	for (size_t i = 0; i < e->nmembers; i++)
		if (e->members[i].id == who->id)
			return &e->members[i];
	if (e->nmembers == EQUAL_MEMBERS) {
		e->many = true;
		return NULL;
	}
	e->members[e->nmembers] = (struct equal_member){.id = who->id, .station = who->station};
	return &e->members[e->nmembers++];
}

void equal_words_visit(struct equal_words *e, const struct equal_look *l, const struct equal_member *who,
		       const uint64_t *words, size_t n)
{
	if (e->look != l->number || !e->nvisitors) {
		e->before = l->number == e->look + 1 ? e->who : 0;
		e->nlast = l->number == e->look + 1 ? e->nvisitors : 0;
		memcpy(e->last, e->visitors, sizeof(e->last));
		e->who = 0;
		e->nvisitors = 0;
		e->look = l->number;
		e->nwords = n < EQUAL_WORDS ? n : EQUAL_WORDS;
		memcpy(e->words, words, e->nwords * sizeof(*words));
	}
	e->who ^= mix(who->id, who->changes);
	if (e->nvisitors < EQUAL_VISITORS)
		e->visitors[e->nvisitors++] = *who;
	member_of(e, who);
}

static bool visits(const struct equal_member *v, size_t n, uint64_t id, uint64_t changes)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].id == id && v[i].changes == changes)
			return true;
	return false;
}

static bool any_came(const struct equal_words *e)
{
	for (size_t i = 0; e->nlast && i < e->nvisitors; i++)
		if (!visits(e->last, e->nlast, e->visitors[i].id, e->visitors[i].changes))
			return true;
	return false;
}

// A wait counts once.
static void count_parks(struct equal_words *e)
{
	for (size_t i = 0; i < e->nvisitors; i++) {
		struct equal_member *m = member_of(e, &e->visitors[i]);
		if (!m || m->changes == e->visitors[i].changes)
			continue;
		m->changes = e->visitors[i].changes;
		m->parks++;
	}
}

// ------------------------------------------------------------- the pairs

static bool is_avoided(const struct equal_look *l, uint64_t v)
{
	return v >= l->avoid.lo && v < l->avoid.hi;
}

static size_t add_pairs(struct equal_words *e, const struct equal_look *l, unsigned bytes, unsigned apart,
			struct equal_pair *to)
{
	size_t n = 0, end = e->nwords * 8;
	for (unsigned a = 0; a + bytes <= end; a += bytes)
		for (unsigned d = 1; d <= apart && a + (d + 1) * bytes <= end; d++) {
			uint64_t v = value(e, a, bytes);
			if (v != value(e, a + d * bytes, bytes) || is_avoided(l, v))
				continue;
			if (to)
				to[n] = (struct equal_pair){.a = (uint16_t)a,
							    .b = (uint16_t)(a + d * bytes),
							    .bytes = (uint8_t)bytes,
							    .v = v,
							    .ok_ns = l->ns};
			n++;
		}
	return n;
}

static int begin(struct equal_words *e, const struct equal_look *l)
{
	size_t n = add_pairs(e, l, 8, APART_MOST, NULL) + add_pairs(e, l, 4, HALVES_APART, NULL);
	e->pairs = calloc(n + 1, sizeof(*e->pairs));
	if (!e->pairs)
		return -ENOMEM;
	e->npairs = add_pairs(e, l, 8, APART_MOST, e->pairs);
	e->npairs += add_pairs(e, l, 4, HALVES_APART, e->pairs + e->npairs);
	return 0;
}

// It was equal again, or one was resumed. False: it differed for too long.
static bool closes(struct equal_pair *p, uint64_t ns)
{
	uint64_t lasted = p->since_ns && ns > p->since_ns ? ns - p->since_ns : 0;
	p->since_ns = 0;
	p->longest_ns = lasted > p->longest_ns ? lasted : p->longest_ns;
	return lasted <= EQUAL_LATE_NS;
}

// On by some steps, all of one size; or back to the begin of a ring, or to another piece of the queue.
static bool moves(struct equal_pair *p, uint64_t v)
{
	uint64_t by = v - p->v;
	p->v = v;
	if (by > EQUAL_STEP_MOST) {
		p->jumps += p->jumps < MOVES_MOST;
		return true;
	}
	if (p->step && by % p->step && p->step % by)
		return false;
	p->step = p->step && p->step < by ? p->step : (uint16_t)by;
	p->moves += p->moves < MOVES_MOST;
	return true;
}

static bool is_equal(struct equal_pair *p, const struct equal_look *l, uint64_t v, bool none_ran)
{
	if (p->since_ns && !closes(p, l->ns))
		return false;
	p->ok_ns = l->ns;
	if (v == p->v)
		return true;
	return !none_ran && !is_avoided(l, v) && moves(p, v);
}

static void begin_to_differ(struct equal_words *e, struct equal_pair *p, const struct equal_look *l,
			    uint64_t a, uint64_t b)
{
	p->since_ns = l->ns;
	p->turns = l->turns;
	p->first[0] = a;
	p->first[1] = b;
	p->a_moved = p->b_moved = p->here = false;
	for (size_t i = 0; i < e->nvisitors && !p->here; i++) {
		const struct equal_member *v = &e->visitors[i];
		p->here = p->ok_ns == e->ns && !e->came && visits(e->last, e->nlast, v->id, v->changes);
		if (!i || p->here) {
			p->id = v->id;
			p->changes = v->changes;
		}
	}
}

static bool differs(struct equal_words *e, struct equal_pair *p, const struct equal_look *l, uint64_t a,
		    uint64_t b, bool none_ran)
{
	bool gap = e->ns && l->ns - e->ns > l->gap_ns;
	if (p->since_ns && !visits(e->visitors, e->nvisitors, p->id, p->changes) && !closes(p, e->ns))
		return false;
	if (p->since_ns && e->came)
		return false;
	p->a_moved |= p->since_ns && a != p->first[0];
	p->b_moved |= p->since_ns && b != p->first[1];
	bool taken = p->since_ns && p->a_moved && p->b_moved;
	if (taken && (none_ran || !closes(p, l->ns)))
		return false;
	if (!p->since_ns || taken || gap)
		begin_to_differ(e, p, l, a, b);
	return true;
}

int equal_words_judge(struct equal_words *e, const struct equal_look *l)
{
	bool none_ran = e->before && e->before == e->who;
	e->came = any_came(e);
	size_t kept = 0;
	int r = e->pairs ? 0 : begin(e, l);
	for (size_t i = 0; !r && i < e->npairs; i++) {
		struct equal_pair *p = &e->pairs[i];
		if ((size_t)p->b + p->bytes > e->nwords * 8)
			continue;
		uint64_t a = value(e, p->a, p->bytes), b = value(e, p->b, p->bytes);
		if (a == b ? is_equal(p, l, a, none_ran) : differs(e, p, l, a, b, none_ran))
			e->pairs[kept++] = *p;
	}
	e->npairs = r ? 0 : kept;
	count_parks(e);
	e->ns = l->ns;
	return r;
}

// ------------------------------------------------------------- what is asked

const struct equal_pair *equal_words_differ(const struct equal_words *e, uint64_t least_ns)
{
	const struct equal_pair *best = NULL;
	for (size_t i = 0; i < e->npairs; i++) {
		const struct equal_pair *p = &e->pairs[i];
		if (p->since_ns && e->ns - p->since_ns >= least_ns && (!best || p->moves > best->moves))
			best = p;
	}
	return best;
}

const struct equal_pair *equal_words_same(const struct equal_words *e, uint64_t a, uint64_t b)
{
	for (size_t i = 0; i < e->npairs; i++)
		if (e->base + e->pairs[i].a == a && e->base + e->pairs[i].b == b)
			return &e->pairs[i];
	return NULL;
}

void equal_words_deinit(struct equal_words *e)
{
	free(e->pairs);
	*e = (struct equal_words){0};
}
