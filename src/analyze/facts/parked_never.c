// SPDX-License-Identifier: MIT
//
// A signal that came before the wait, a place in a pool that was not given back, a join of who never ends:
// while the program goes on, those that wait so are parked among many. What is worth a look is a place from
// which no coroutine was ever resumed, in all of the history, while others were, again and again. A worker
// that has had no work yet stands at such a place, too: so it is a fact.
#include "analyze/facts/parked_never.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/report/accounting.h"
#include "analyze/facts/place.h"
#include "base/text.h"
#include "trace/parked_place.h"
#include "trace/transitions.h"

#define LONG_NS 1000000000ULL
#define EVENTS_MOST 20000000ULL // in a history that is walked for this alone
enum { PLACES_MOST = 64, SHOWN = 3, OTHERS_LEAST = 3 };

struct place {
	uint64_t at, since_ns, others; // others: how often some were resumed since
	uint32_t stack;
	size_t n;
	bool left;
};

struct never {
	const struct report *report;
	const struct image *m;
	struct place v[PLACES_MOST]; // the longest first
	size_t n;
	unsigned char *of; // by stack: the row of its place, and one more; 0: none
	bool lost;
};

static uint64_t shot(const struct never *l)
{
	return l->m->snapshot_ns ? l->m->snapshot_ns : l->report->world->snapshot_ns;
}

static struct place *place_at(struct never *l, uint64_t at)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].at == at)
			return &l->v[i];
	if (l->n == PLACES_MOST)
		return NULL;
	l->v[l->n] = (struct place){.at = at, .since_ns = UINT64_MAX};
	return &l->v[l->n++];
}

static int by_age(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return x->since_ns < y->since_ns ? -1 : x->since_ns > y->since_ns;
}

// Where some are parked for long, and the tables know of nobody who went on from there.
static void gather(struct never *l, const struct parked_place *p)
{
	const unsigned char *accounts = l->report->accounts[l->m - l->report->world->images];
	size_t kept = 0;
	for (size_t i = 0; i < l->m->stations.n; i++) {
		const struct ctp_state *s = image_state(l->m, i);
		uint64_t ns = world_ns(l->report->world, s->since);
		if (accounts[i] != ACCOUNT_PARKED || s->life != CTP_SUSPENDED || !s->runs || !s->stack ||
		    ns + LONG_NS > shot(l))
			continue;
		struct place *at = place_at(l, parked_place(p, s->stack));
		if (!at)
			continue;
		at->n++;
		at->stack = ns < at->since_ns ? s->stack : at->stack;
		at->since_ns = ns < at->since_ns ? ns : at->since_ns;
	}
	for (size_t i = 0; i < l->n; i++)
		if (!parked_place_left(p, l->v[i].at))
			l->v[kept++] = l->v[i];
	l->n = kept;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_age);
}

static int index_stacks(struct never *l, const struct parked_place *p)
{
	l->of = calloc(l->m->stack_index.n + 1, 1);
	for (uint32_t i = 1; l->of && i < l->m->stack_index.n; i++) {
		uint64_t at = parked_place(p, i);
		for (size_t k = 0; k < l->n; k++)
			if (l->v[k].at == at)
				l->of[i] = (unsigned char)(k + 1);
	}
	return l->of ? 0 : -ENOMEM;
}

static int sink(void *arg, const struct transition *t)
{
	struct never *l = arg;
	const struct ctp_merge_entity *to = t->to;
	if (t->kind != CTP_EV_SWITCH || !to || to->native)
		return 0;
	l->lost |= t->to_gap;
	if (!to->suspended)
		return 0;
	if (to->stack < l->m->stack_index.n && l->of[to->stack])
		l->v[l->of[to->stack] - 1].left = true;
	for (size_t i = 0; i < l->n; i++)
		l->v[i].others += t->ns > l->v[i].since_ns;
	return 0;
}

static int say(struct report *r, const struct never *l, const struct place *p)
{
	char span[32], at[PLACE_BYTES];
	text_duration(span, sizeof(span), shot(l) - p->since_ns);
	place_text(r, l->m, p->stack, PLACE_FRAMES, at, sizeof(at));
	return results_fact(&r->results, rules_id[RULE_PARKED], p->n,
			    "%zu coroutine%s parked for %s%s, from where none was ever resumed; others were "
			    "resumed %" PRIu64 " times since",
			    p->n, p->n == 1 ? " is" : "s are", span, at, p->others);
}

int parked_never_facts(struct report *r)
{
	const struct world *w = r->world;
	struct never l = {.report = r, .m = w->images};
	if (w->nimages != 1 || w->form != WORLD_DIRECTORY || w->events > EVENTS_MOST || !l.m->has_tables ||
	    l.m->replaced)
		return 0;
	struct parked_place p = parked_places(l.m);
	gather(&l, &p);
	int e = l.n ? index_stacks(&l, &p) : 0;
	if (!e && l.n)
		e = transitions_walk(w, sink, &l);
	for (size_t i = 0, shown = 0; !e && !l.lost && i < l.n && shown < SHOWN; i++)
		if (!l.v[i].left && l.v[i].others >= OTHERS_LEAST) {
			e = say(r, &l, &l.v[i]);
			shown++;
		}
	free(l.of);
	return e;
}
