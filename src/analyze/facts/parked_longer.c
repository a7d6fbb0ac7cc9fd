// SPDX-License-Identifier: MIT
//
// A timer that was removed instead of another's leaves a coroutine that looks like all that sleep and go on.
// What tells it from these is how long: more than three times as long as any wait that ended where it stands.
// That is no proof, as the next sleep may be a longer one; so it is a fact, and said only of few, while more
// of those without a known wait are resumed again and again. parked_rhythm.h has what is a finding.
#include "analyze/facts/parked_longer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/report/accounting.h"
#include "analyze/facts/place.h"
#include "base/grow.h"
#include "base/idmap.h"
#include "base/text.h"
#include "ctp/rules.h"
#include "trace/transitions.h"

#define LONG_NS 1000000000ULL
#define EVENTS_MOST 20000000ULL // in a history that is walked for this alone
enum { TIMES = 3, FEW = 4, OFTEN = 5, PARKED_MOST = 4096 };

struct parked {
	const struct ctp_state *state;
	uint64_t since_ns, ended, longest_ns; // waits that ended where it stands
	bool goes_on;
};

struct longer {
	const struct report *report;
	const struct image *m;
	uint64_t end_ns;
	struct parked *v;
	size_t n, room;
	struct idmap by_id;
	uint64_t first_ns; // when the first of those stopped that stand for long
	uint64_t resumed;  // of the others, since then
	bool lost;
};

static bool stands_long(const struct longer *u, const struct parked *p)
{
	return u->end_ns > p->since_ns + LONG_NS && u->end_ns - p->since_ns > TIMES * p->longest_ns;
}

static int find(struct longer *u)
{
	const struct world *w = u->report->world;
	const unsigned char *accounts = u->report->accounts[0];
	int e = 0;
	u->first_ns = UINT64_MAX;
	for (size_t i = 0; !e && i < u->m->stations.n; i++) {
		const struct ctp_state *s = image_state(u->m, i);
		uint64_t since = accounts[i] == ACCOUNT_PARKED && s->stack ? world_ns(w, s->since) : 0;
		if (!since || u->n == PARKED_MOST)
			continue;
		e = GROW(u->v, u->n, u->room) ? -ENOMEM : idmap_set(&u->by_id, s->id, (uint32_t)u->n);
		if (e)
			break;
		u->v[u->n] = (struct parked){.state = s, .since_ns = since};
		if (stands_long(u, &u->v[u->n]) && since < u->first_ns)
			u->first_ns = since;
		u->n++;
	}
	return e;
}

static int sink(void *arg, const struct transition *t)
{
	struct longer *u = arg;
	const struct ctp_merge_entity *to = t->to;
	u->lost |= t->kind == CTP_EV_SWITCH && (t->from_gap || t->to_gap);
	uint32_t at = t->kind == CTP_EV_SWITCH && to && to->suspended ? idmap_get(&u->by_id, to->id) :
									IDMAP_NONE;
	if (at == IDMAP_NONE || !to->since_ns || t->ns <= to->since_ns)
		return 0;
	struct parked *p = &u->v[at];
	u->resumed += t->ns > u->first_ns;
	p->goes_on |= t->ns > u->first_ns;
	if (to->stack != p->state->stack)
		return 0;
	p->ended++;
	p->longest_ns = t->ns - to->since_ns > p->longest_ns ? t->ns - to->since_ns : p->longest_ns;
	return 0;
}

static bool stands_out(const struct longer *u, const struct parked *p)
{
	return p->ended && stands_long(u, p);
}

static int say(const struct longer *u, struct report *r, const struct parked *p)
{
	char span[32], longest[32], place[PLACE_BYTES];
	text_duration(span, sizeof(span), u->end_ns - p->since_ns);
	text_duration(longest, sizeof(longest), p->longest_ns);
	place_text(r, u->m, p->state->stack, PLACE_FRAMES, place, sizeof(place));
	return results_fact(
		&r->results, rules_id[RULE_PARKED], 1,
		"coroutine %" PRIu64 " is parked for %s%s, where it was resumed %" PRIu64
		" time%s before, after %s at most; others without a known wait were resumed %" PRIu64
		" times meanwhile",
		p->state->id, span, place, p->ended, p->ended == 1 ? "" : "s", longest, u->resumed);
}

static int say_all(const struct longer *u, struct report *r)
{
	size_t out = 0, on = 0;
	int e = 0;
	for (size_t i = 0; i < u->n; i++) {
		out += stands_out(u, &u->v[i]);
		on += !stands_long(u, &u->v[i]) && u->v[i].goes_on;
	}
	for (size_t i = 0; !e && i < u->n && out <= FEW && on > out && u->resumed >= OFTEN && !u->lost; i++)
		if (stands_out(u, &u->v[i]))
			e = say(u, r, &u->v[i]);
	return e;
}

int parked_longer_facts(struct report *r)
{
	const struct world *w = r->world;
	const struct image *m = w->images;
	if (w->nimages != 1 || w->form != WORLD_DIRECTORY || w->events > EVENTS_MOST || !m->has_tables ||
	    m->replaced || !r->accounts[0])
		return 0;
	struct longer u = {.report = r, .m = m, .end_ns = m->snapshot_ns ? m->snapshot_ns : w->snapshot_ns};
	int e = find(&u);
	if (!e && u.first_ns != UINT64_MAX) {
		e = transitions_walk(w, sink, &u);
		e = e == -ESPIPE ? 0 : e;
	}
	e = e ? e : say_all(&u, r);
	idmap_deinit(&u.by_id);
	free(u.v);
	return e;
}
