// SPDX-License-Identifier: MIT
//
// A line is said when what was decided has stood at several inspections, and nobody who is suspected of the
// same has yet to be decided on: then its count is the count. A group is a rule and a place; each is told
// once, and one that grows is not told again.
#include "engine/session/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ctp/rules.h"
#include "engine/target/log.h"
#include "engine/witness/decided.h"
#include "engine/suspects/suspects.h"

#define MS 1000000ULL
#define STEADY 3            // inspections in succession, where the next one may refute it
#define STEADY_UNSEARCHED 6 // the same, in a program that never rests: what leads to a coroutine is not known
#define WAIT_NS (3000 * MS) // for those that are not decided yet
#define AGAIN_NS (50 * MS)
#define TOLD_MOST 64 // groups of one process: whoever has more reads the report

void findings_init(struct findings *f, const struct ctp_region *r, pid_t pid, const struct witness *w)
{
	*f = (struct findings){.witness = w};
	places_init(&f->places, r, pid);
}

void findings_deinit(struct findings *f)
{
	places_deinit(&f->places);
	free(f->told);
	*f = (struct findings){0};
}

// Those of the suspects that are decided.
struct victims {
	const struct suspect **v;
	size_t n, steady, young; // steady: may be told; young: may be decided yet
};

static unsigned inspections_wanted(const struct suspect *s)
{
	return s->decided == DECIDED_PROVEN ? 1 : s->unsearched ? STEADY_UNSEARCHED : STEADY;
}

// Where a program wakes by itself, it may resume in time whoever waits for what is open: whoever is held
// until then looks the same. The report says what stands at its end.
static bool steady(const struct suspect *s)
{
	return s->stood >= inspections_wanted(s) && (s->decided == DECIDED_PROVEN || !s->swept);
}

static void count(void *arg, const struct suspect *s)
{
	struct victims *all = arg;
	all->n += s->stood != 0;
	all->steady += steady(s);
	all->young += !steady(s) && !s->gone && s->inspections < STEADY;
}

static void collect(void *arg, const struct suspect *s)
{
	struct victims *all = arg;
	if (s->stood)
		all->v[all->n++] = s;
}

// A coroutine stands in one finding: the one with the strongest verdict, among equals the first.
static int by_coroutine(const void *a, const void *b)
{
	const struct suspect *x = *(const struct suspect *const *)a, *y = *(const struct suspect *const *)b;
	if (x->s.id != y->s.id)
		return x->s.id < y->s.id ? -1 : 1;
	if (x->decided != y->decided)
		return x->decided > y->decided ? -1 : 1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

// Each coroutine once. The caller frees all->v.
static void victims_of(const struct findings *f, struct victims *all)
{
	*all = (struct victims){0};
	if (f->witness)
		witness_each(f->witness, count, all);
	size_t n = 0, had = all->n;
	all->v = had ? calloc(had, sizeof(*all->v)) : NULL;
	all->n = 0;
	if (!all->v)
		return;
	witness_each(f->witness, collect, all);
	qsort(all->v, all->n, sizeof(*all->v), by_coroutine);
	for (size_t i = 0; i < all->n; i++)
		if (!n || all->v[n - 1]->s.id != all->v[i]->s.id)
			all->v[n++] = all->v[i];
	all->n = n;
}

static bool is_told(const struct findings *f, unsigned rule, const char *place)
{
	for (size_t i = 0; i < f->ntold; i++)
		if (f->told[i].rule == rule && !strcmp(f->told[i].place, place))
			return true;
	return false;
}

static void tell(struct findings *f, const struct victims *all, unsigned rule, const char *place)
{
	size_t n = 0;
	bool proven = true;
	for (size_t i = 0; i < all->n; i++) {
		const char *at = all->v[i]->rule == rule ? places_of(&f->places, &all->v[i]->s) : NULL;
		if (at && !strcmp(at, place)) {
			n++;
			proven &= all->v[i]->decided == DECIDED_PROVEN;
		}
	}
	if (f->ntold == TOLD_MOST || GROW(f->told, f->ntold, f->room))
		return;
	struct findings_group *g = &f->told[f->ntold++];
	g->rule = rule;
	snprintf(g->place, sizeof(g->place), "%s", place);
	log_line(LOG_SAY, "%s %s so far: %zu coroutine%s%s%s; see ctp-ps %d", rules_id[rule],
		 proven ? "proven" : "likely", n, n == 1 ? "" : "s", *g->place ? " at " : "", g->place,
		 (int)f->places.pid);
}

static void tell_all(struct findings *f, const struct victims *all)
{
	bool waits = false;
	for (size_t i = 0; i < all->n; i++)
		waits |= !places_of(&f->places, &all->v[i]->s);
	for (size_t i = 0; !waits && i < all->n; i++) {
		const struct suspect *s = all->v[i];
		char place[PLACES_TEXT];
		snprintf(place, sizeof(place), "%s", places_of(&f->places, &s->s));
		if (steady(s) && !is_told(f, s->rule, place))
			tell(f, all, s->rule, place);
	}
}

void findings_poll(struct findings *f, uint64_t now_ns)
{
	if (!f->witness || !log_hears(LOG_SAY))
		return;
	places_turn(&f->places);
	if (now_ns < f->again_ns)
		return;
	f->again_ns = now_ns + AGAIN_NS;
	struct victims all;
	victims_of(f, &all);
	f->ripe_ns = !all.steady ? 0 : f->ripe_ns ? f->ripe_ns : now_ns;
	if (all.v && all.steady && (!all.young || now_ns - f->ripe_ns >= WAIT_NS))
		tell_all(f, &all);
	free(all.v);
}

unsigned findings_standing(const struct findings *f)
{
	struct victims all;
	struct findings_group *groups;
	unsigned n = 0;
	victims_of(f, &all);
	groups = all.n ? calloc(all.n, sizeof(*groups)) : NULL;
	for (size_t i = 0; groups && i < all.n; i++) {
		struct findings_group g = {.rule = all.v[i]->rule};
		unsigned k = 0;
		places_plain(&f->places, &all.v[i]->s, g.place, sizeof(g.place));
		while (k < n && (groups[k].rule != g.rule || strcmp(groups[k].place, g.place)))
			k++;
		if (k == n)
			groups[n++] = g;
	}
	free(groups);
	free(all.v);
	return n;
}
