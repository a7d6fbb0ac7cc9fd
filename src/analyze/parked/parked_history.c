// SPDX-License-Identifier: MIT
//
// The history is walked twice: first to learn which coroutines waited at which place at all, then to count,
// whenever one is resumed from a place, which others of those wait there. A coroutine that has not run yet
// has nothing to give back, and does not count; one that has just ended may have. Where a record was lost,
// nothing is known.
#include "analyze/parked/parked_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ctp/late.h"
#include "ctp/wait_inference.h"
#include "trace/transitions.h"

#define HANDED_NS 1000000ULL    // from an end, or a slice, to the one who is resumed by it
#define EVENTS_MOST 20000000ULL // in a history that is walked for this alone
enum { MEMBERS_MOST = 1 << 20, GO_ON_LEAST = 3 };

// ------------------------------------------------------------- who may be such

bool parked_history_is(const struct image *m, const struct ctp_state *s, size_t row)
{
	return s->entity == CTP_COROUTINE && s->stack && s->stack < m->stack_index.n &&
	       image_suspended(m, s) && (m->row_flags[row] & IMAGE_ROW_PARKED) && !ctp_in_pool(s) &&
	       !image_ran_since(m, s);
}

static struct parked_spot *place_at(struct parked_history *l, uint64_t at)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].at == at)
			return &l->v[i];
	if (l->n == PARKED_PLACES)
		return NULL;
	l->v[l->n] = (struct parked_spot){.at = at, .shortest = UINT64_MAX};
	return &l->v[l->n++];
}

static int gather(struct parked_history *l, const struct world *w, struct parked_place p,
		  const unsigned char *told)
{
	for (size_t i = 0; i < l->m->stations.n; i++) {
		const struct ctp_state *s = image_state(l->m, i);
		if (told[i] || !parked_history_is(l->m, s, i) ||
		    world_ns(w, s->since) + PARKED_LONG_NS > l->end_ns)
			continue;
		struct parked_spot *at = place_at(l, parked_place(&p, s->stack));
		if (at)
			at->parked++;
	}
	if (!l->n)
		return 0;
	l->of = calloc(l->m->stack_index.n + 1, 1);
	l->made = calloc(l->m->stack_index.n + 1, sizeof(*l->made));
	l->before = calloc(l->m->stack_index.n + 1, sizeof(*l->before));
	l->after = calloc(l->m->stack_index.n + 1, sizeof(*l->after));
	if (!l->of || !l->made || !l->before || !l->after)
		return -ENOMEM;
	for (uint32_t i = 1; i < l->m->stack_index.n; i++) {
		uint64_t at = parked_place(&p, i);
		for (size_t k = 0; k < l->n; k++)
			if (l->v[k].at == at)
				l->of[i] = (unsigned char)(k + 1);
	}
	return 0;
}

bool parked_history_holds(const struct parked_history *l, uint32_t stack, size_t place)
{
	return stack && (l->after[stack] & ~l->before[stack]) >> place & 1;
}

// ------------------------------------------------------------- the history, twice

static struct parked_member *member_of(struct parked_history *l, uint64_t id)
{
	uint32_t i = idmap_get(&l->by_id, id);
	return i == IDMAP_NONE ? NULL : &l->members[i];
}

static struct parked_spot *place_of(struct parked_history *l, const struct parked_member *of)
{
	return of->at ? &l->v[of->at - 1] : NULL;
}

// Is it a user of the place?
static unsigned uses(const struct parked_history *l, const struct parked_member *of, unsigned group,
		     size_t place)
{
	return (group == PARKED_VISITORS ? of->visited : l->made[of->made_at]) >> place & 1;
}

static int made(struct parked_history *l, const struct transition *t)
{
	if (member_of(l, t->from->id))
		return 0;
	if (l->counts || l->nmembers >= MEMBERS_MOST || GROW(l->members, l->nmembers, l->room)) {
		l->lost = true;
		return 0;
	}
	l->members[l->nmembers] = (struct parked_member){
		.id = t->from->id, .made_at = t->stack < l->m->stack_index.n ? t->stack : 0};
	return idmap_set(&l->by_id, t->from->id, (uint32_t)l->nmembers++);
}

static void begins(struct parked_history *l, struct parked_member *of, uint64_t ns)
{
	of->runs = true;
	of->began_ns = ns;
	for (unsigned g = 0; g < PARKED_GROUPS; g++)
		for (size_t p = 0; p < l->n; p++)
			l->v[p].of[g].outside += uses(l, of, g, p);
}

static void is_over(struct parked_users *u, const struct parked_member *of, size_t place, uint64_t ns)
{
	u->over++;
	u->never += !(of->visited >> place & 1);
	u->over_ns = ns;
	u->life_ns = ns - of->began_ns > u->life_ns ? ns - of->began_ns : u->life_ns;
}

static void ends(struct parked_history *l, const struct transition *t)
{
	struct parked_member *of = member_of(l, t->from->id);
	if (!l->counts || !of || !of->runs)
		return;
	for (unsigned g = 0; g < PARKED_GROUPS; g++)
		for (size_t p = 0; p < l->n; p++) {
			bool inside = of->at == p + 1;
			if (!uses(l, of, g, p))
				continue;
			l->v[p].of[g].inside -= inside;
			l->v[p].of[g].outside -= !inside;
			l->v[p].of[g].ended_ns = inside ? l->v[p].of[g].ended_ns : t->ns;
			is_over(&l->v[p].of[g], of, p, t->ns);
		}
	of->runs = false;
}

// Its slice has ended.
static void has_run(struct parked_history *l, const struct parked_member *of, const struct transition *t)
{
	for (unsigned g = 0; g < PARKED_GROUPS; g++)
		for (size_t p = 0; p < l->n; p++) {
			struct parked_users *u = &l->v[p].of[g];
			if (!uses(l, of, g, p))
				continue;
			if (u->ran[0].id != t->from->id)
				u->ran[1] = u->ran[0];
			u->ran[0].id = t->from->id;
			u->ran[0].ns = t->ns;
		}
}

// It has run, or has ended: had it, when it was resumed, what those wait for who are at a place?
static void may_give(struct parked_history *l, const struct parked_member *of, uint64_t ns)
{
	for (size_t p = 0; p < l->n; p++)
		if (l->of[of->stack] == p + 1 || parked_history_holds(l, of->stack, p)) {
			l->v[p].giver = of->id;
			l->v[p].gave_ns = ns;
		}
}

static bool is_soon(const struct transition *t, uint64_t ns)
{
	return ns && t->ns - ns < HANDED_NS;
}

// Has one of them, when this one is resumed, just run, and may have given back what it waits for?
static void leaves_users(struct parked_users *u, const struct transition *t, unsigned user)
{
	bool ended = is_soon(t, u->ended_ns);
	u->handed += ended || is_soon(t, u->ran[u->ran[0].id == t->to->id].ns);
	u->refuted |= !u->outside && !ended;
	u->inside -= user;
	u->outside += user;
}

static void leaves(struct parked_history *l, const struct transition *t)
{
	struct parked_member *of = member_of(l, t->to->id), *from = member_of(l, t->from->id);
	if (from)
		has_run(l, from, t);
	if (of && !of->runs)
		begins(l, of, t->ns);
	struct parked_spot *p = of ? place_of(l, of) : NULL;
	if (from && from->runs)
		may_give(l, from, t->ns);
	if (!p)
		return;
	p->given += p->giver != t->to->id && is_soon(t, p->gave_ns);
	uint64_t waited = t->ns > t->to->since_ns ? t->ns - t->to->since_ns : 0;
	for (unsigned g = 0; g < PARKED_GROUPS; g++)
		leaves_users(&p->of[g], t, uses(l, of, g, of->at - 1U));
	p->longest = waited > p->longest ? waited : p->longest;
	p->shortest = waited < p->shortest ? waited : p->shortest;
	p->left++;
	p->who += !(of->left >> (of->at - 1U) & 1);
	p->last = t->to->id;
	p->last_ns = p->changed_ns = t->ns;
	p->others = 0;
	of->left |= 1U << (of->at - 1U);
	of->at = 0;
}

static uint32_t bit_of(const struct parked_history *l, uint32_t stack)
{
	return l->of[stack] ? 1U << (l->of[stack] - 1) : 0;
}

// A survey: from where it came, and where it was before.
static void survey(struct parked_history *l, struct parked_member *of, uint32_t stack)
{
	uint32_t at = bit_of(l, stack);
	of->visited |= at;
	l->made[of->made_at] |= of->made_at ? at : 0;
	l->before[of->stack] |= at;
	l->after[stack] |= bit_of(l, of->stack);
	of->first_stack = of->first_stack ? of->first_stack : stack;
}

static void arrives(struct parked_history *l, const struct transition *t)
{
	struct parked_member *of = member_of(l, t->from->id);
	uint32_t stack = t->stack < l->m->stack_index.n ? t->stack : 0;
	unsigned at = l->of[stack];
	if (!of) {
		l->lost |= at && !t->from->native; // how it was made is not known
		return;
	}
	if (!l->counts)
		survey(l, of, stack);
	of->stack = stack;
	for (size_t p = 0; l->counts && p < l->n; p++)
		l->v[p].free |= !l->v[p].came_first && parked_history_holds(l, stack, p);
	of->first = !of->rested;
	of->rested |= l->counts;
	if (!l->counts || !at || !of->runs)
		return;
	struct parked_spot *p = &l->v[at - 1];
	of->at = (uint8_t)at;
	for (unsigned g = 0; g < PARKED_GROUPS; g++) {
		p->of[g].outside -= uses(l, of, g, at - 1);
		p->of[g].inside += uses(l, of, g, at - 1);
	}
	p->came_first = p->came_first ? p->came_first : t->ns;
	p->came_last = p->changed_ns = t->ns;
	p->others = 0;
}

static int take(struct parked_history *l, const struct transition *t)
{
	if (t->kind == CTP_EV_CREATE && t->from)
		return made(l, t);
	if ((t->kind == CTP_EV_FINISH || t->kind == CTP_EV_DESTROY) && t->from)
		ends(l, t);
	if (t->kind != CTP_EV_SWITCH || !t->from || !t->to)
		return 0;
	l->lost |= t->from_gap || t->to_gap;
	for (size_t i = 0; l->counts && i < l->n && !t->to->native; i++)
		l->v[i].others++;
	if (l->counts) // first: who resumes another, and waits itself then, was elsewhere
		leaves(l, t);
	if (t->how == CTP_HOW_GONE || t->how == CTP_HOW_RETURN)
		ends(l, t);
	else
		arrives(l, t);
	return 0;
}

static int sink(void *arg, const struct transition *t)
{
	struct parked_history *v = arg;
	int r = 0;
	for (size_t i = 0; !r && i < PARKED_PLACINGS; i++)
		r = v[i].n ? take(&v[i], t) : 0;
	return r;
}

static int walk(const struct world *w, struct parked_history *v)
{
	int r = transitions_walk(w, sink, v);
	bool any = false;
	for (size_t i = 0; i < PARKED_PLACINGS; i++) {
		v[i].n = v[i].lost ? 0 : v[i].n;
		v[i].counts = true;
		for (size_t k = 0; k < v[i].nmembers; k++)
			v[i].members[k].stack = 0;
		any |= v[i].n > 0;
	}
	return r || !any ? r : transitions_walk(w, sink, v);
}

// ------------------------------------------------------------- for all

const struct parked_member *parked_history_member(const struct parked_history *l, uint64_t id)
{
	uint32_t i = idmap_get(&l->by_id, id);
	return i == IDMAP_NONE ? NULL : &l->members[i];
}

bool parked_history_rests(const struct world *w, const struct parked_history *l, const struct parked_spot *p)
{
	size_t n = 0;
	for (size_t i = 0; i < l->m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&l->m->threads, i);
		if (t->life != CTP_THREAD_LIVE || !t->switches)
			continue;
		if (!t->wait_since || world_ns(w, t->wait_since) < p->changed_ns)
			return false;
		n++;
	}
	return n > 0;
}

bool parked_history_goes_on(const struct world *w, const struct parked_history *l,
			    const struct parked_spot *p)
{
	for (size_t i = 0; i < l->m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&l->m->threads, i);
		if (t->life == CTP_THREAD_LIVE && t->switches && t->wait_since &&
		    world_ns(w, t->wait_since) > p->changed_ns + PARKED_LONG_NS)
			return true;
	}
	return p->others >= GO_ON_LEAST;
}

int parked_history_read(const struct world *w, const struct image *m, const unsigned char *told,
			struct parked_history v[PARKED_PLACINGS])
{
	int r = 0;
	memset(v, 0, PARKED_PLACINGS * sizeof(*v));
	if (w->nimages != 1 || w->form != WORLD_DIRECTORY || w->events > EVENTS_MOST || !m->has_tables ||
	    m->replaced || (m->ext.gaps & CTP_GAP_ATTACHED))
		return 0;
	const struct parked_place usual = parked_places(m), brief = parked_places_short(m);
	for (size_t i = 0; i < PARKED_PLACINGS; i++) {
		v[i].m = m;
		v[i].end_ns = m->snapshot_ns ? m->snapshot_ns : w->snapshot_ns;
	}
	r = gather(&v[PARKED_USUAL], w, usual, told);
	if (!r && brief.frames != usual.frames)
		r = gather(&v[PARKED_SHORT], w, brief, told);
	if (!r && v[PARKED_USUAL].n)
		r = walk(w, v);
	for (size_t i = 0; i < PARKED_PLACINGS; i++)
		v[i].n = v[i].lost ? 0 : v[i].n;
	return r;
}

void parked_history_deinit(struct parked_history v[PARKED_PLACINGS])
{
	for (size_t i = 0; i < PARKED_PLACINGS; i++) {
		idmap_deinit(&v[i].by_id);
		free(v[i].members);
		free(v[i].made);
		free(v[i].before);
		free(v[i].after);
		free(v[i].of);
	}
}

int parked_history_tell(const struct pass *pass, const struct world *w, const struct parked_history *l,
			const bool is[PARKED_PLACES], unsigned char *told, parked_report *report,
			struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && l->n && i < l->m->stations.n; i++) {
		const struct ctp_state *s = image_state(l->m, i);
		unsigned at = told[i] || !parked_history_is(l->m, s, i) ? 0 : l->of[s->stack];
		if (!at || !is[at - 1])
			continue;
		told[i] = 1;
		r = report(pass, w, l, &l->v[at - 1], s, out);
	}
	return r;
}

int parked_history_judge(const struct pass *pass, const struct world *w,
			 const struct parked_history v[PARKED_PLACINGS], parked_asks *asks,
			 unsigned char *told, parked_report *report, struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < PARKED_PLACINGS; i++) {
		bool is[PARKED_PLACES] = {false};
		for (size_t p = 0; p < v[i].n; p++)
			is[p] = asks(w, &v[i], p);
		r = parked_history_tell(pass, w, &v[i], is, told, report, out);
	}
	return r;
}
