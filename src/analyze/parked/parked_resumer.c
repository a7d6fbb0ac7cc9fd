// SPDX-License-Identifier: MIT
//
// A turn of a coroutine is a slice that ends where it waits for more to do, at home. Whom it has resumed runs
// right after it; those who were resumed with that one run next, and say nothing of who did it. So the
// history is walked twice: first for who was last to run, most often, when one of those who wait at a place
// was resumed, and where it was suspended then; after that to count its turns, in each wait. One that runs
// when the tables are read is the library's scheduler: it runs before each, and is passed over.
#include "analyze/parked/parked_resumer.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/transitions.h"

#define SOON_NS 1000000ULL // from the end of a turn to the one who is resumed by it
enum { RESUMED_LEAST = 8, TURNS_TIMES = 10 };

struct spot { // of a place: the last one to run that was not resumed from here
	bool asked;
	uint64_t last, home, ns;
};

struct one { // who resumes those of a place; or one of them, if it is asked for that one alone
	uint64_t by, home, votes;
	uint64_t turns, resumed, handed, longest, least, most;
};

struct looking {
	const struct parked_history *l;
	struct spot spots[PARKED_PLACES];
	struct one *of;
	bool own;
	uint32_t *group;      // by member, if own: its row of `of`, and one more
	uint64_t *home;       // by stack: its place; if own, all are one
	unsigned char *was;   // by member: the place from which it was resumed last, and one more
	uint64_t *turns;      // by member: when it came to where it waits
	uint64_t accepted_ns; // the first connection; 0: none was
	bool counts;
};

static unsigned spot_at(const struct looking *u, uint32_t stack)
{
	return stack < u->l->m->stack_index.n ? u->l->of[stack] : 0;
}

static uint64_t home_of(const struct looking *u, uint32_t stack)
{
	return stack < u->l->m->stack_index.n ? u->home[stack] : 0;
}

static size_t row_of(const struct looking *u, uint64_t id)
{
	const struct parked_member *of = parked_history_member(u->l, id);
	return of ? (size_t)(of - u->l->members) : SIZE_MAX;
}

// Whose waits its wait at this place is one of; NULL: nobody's who is asked for.
static struct one *group_of(const struct looking *u, size_t row, unsigned at)
{
	if (!at || !u->spots[at - 1].asked)
		return NULL;
	if (!u->own)
		return &u->of[at - 1];
	return u->group[row] ? &u->of[u->group[row] - 1] : NULL;
}

// ------------------------------------------------------------- the history

// It was suspended, or has ended.
static void slice_ends(struct looking *u, const struct transition *t, size_t row)
{
	bool ends = t->how == CTP_HOW_GONE || t->how == CTP_HOW_RETURN;
	uint64_t home = ends && !u->own ? 0 : home_of(u, t->stack);
	for (size_t p = 0; p < u->l->n; p++) {
		if (!u->spots[p].asked || u->was[row] == p + 1)
			continue;
		u->spots[p] = (struct spot){true, t->from->id, home, t->ns};
		if (!u->own && u->counts)
			u->of[p].turns += u->of[p].by == t->from->id && u->of[p].home == home;
	}
	unsigned at = ends || u->own ? 0 : spot_at(u, t->stack);
	if (at)
		u->turns[row] = u->of[at - 1].turns;
}

// Who is left at the end did so most often, if anybody did in more than half of all cases.
static void vote(struct one *is, const struct spot *s, bool handed)
{
	if (handed && is->by == s->last && is->home == s->home) {
		is->votes++;
	} else if (is->votes) {
		is->votes--;
	} else if (handed) {
		is->by = s->last;
		is->home = s->home;
		is->votes = 1;
	}
}

static void count(struct one *is, const struct spot *s, bool handed, uint64_t turns, uint64_t waited)
{
	is->resumed++;
	is->handed += handed && is->by == s->last && is->home == s->home;
	is->longest = waited > is->longest ? waited : is->longest;
	is->least = is->resumed == 1 || turns < is->least ? turns : is->least;
	is->most = turns > is->most ? turns : is->most;
}

static void is_resumed(struct looking *u, const struct transition *t, size_t row)
{
	unsigned at = t->to->suspended ? spot_at(u, t->to->stack) : 0;
	struct one *is = group_of(u, row, at);
	u->was[row] = (unsigned char)at;
	if (!is)
		return;
	const struct spot *s = &u->spots[at - 1];
	bool handed = s->last && s->last != t->to->id && s->home && t->ns < s->ns + SOON_NS;
	if (u->counts)
		count(is, s, handed, is->turns - u->turns[row],
		      t->ns > t->to->since_ns ? t->ns - t->to->since_ns : 0);
	else
		vote(is, s, handed);
}

static int note_slice(void *arg, const struct transition *t)
{
	struct looking *u = arg;
	if (t->kind == CTP_EV_FD_OPEN && t->how == CTP_CALL_ACCEPT && !u->accepted_ns)
		u->accepted_ns = t->ns;
	if (t->kind != CTP_EV_SWITCH || !t->from || !t->to)
		return 0;
	const struct ctp_state *from = t->from->native ? NULL : image_entity(u->l->m, t->from->id);
	size_t row = t->from->native || (from && from->life == CTP_RUNNING) ? SIZE_MAX :
									      row_of(u, t->from->id);
	if (row != SIZE_MAX)
		slice_ends(u, t, row);
	row = t->to->native ? SIZE_MAX : row_of(u, t->to->id);
	if (row != SIZE_MAX)
		is_resumed(u, t, row);
	return 0;
}

static int walk_twice(const struct world *w, struct looking *u)
{
	int r = transitions_walk(w, note_slice, u);
	for (size_t p = 0; p < u->l->n; p++)
		u->spots[p] = (struct spot){.asked = u->spots[p].asked};
	u->counts = true;
	return r ? r : transitions_walk(w, note_slice, u);
}

// ------------------------------------------------------------- what is answered

// Is it suspended now where it was then, and does it wait for more to do there?
static bool is_home(const struct looking *u, const struct one *is, size_t place)
{
	const struct ctp_state *s = is->by ? image_entity(u->l->m, is->by) : NULL;
	return s && image_suspended(u->l->m, s) && home_of(u, s->stack) == is->home &&
	       spot_at(u, s->stack) != place + 1;
}

static void answer(const struct looking *u, const struct one *is, struct parked_resumer *v)
{
	const struct ctp_state *s = is->by ? image_entity(u->l->m, is->by) : NULL;
	size_t row = row_of(u, v->waits);
	if (row == SIZE_MAX || (!u->own && !is_home(u, is, v->place)))
		return;
	const struct parked_member *by = parked_history_member(u->l, is->by);
	v->early = by && by->began_ns && by->began_ns < u->accepted_ns;
	v->by = is->by;
	v->stack = s ? s->stack : 0;
	v->resumed = is->resumed;
	v->handed = is->handed;
	v->longest = is->longest;
	v->least = is->least;
	v->most = is->most;
	v->turns = is->turns - u->turns[row];
}

static void name_groups(struct looking *u, const struct parked_resumer *v, size_t n)
{
	const struct parked_place places = parked_places(u->l->m);
	for (uint32_t i = 1; i < u->l->m->stack_index.n; i++)
		u->home[i] = u->own ? 1 : parked_place(&places, i);
	for (size_t i = 0; i < n; i++) {
		size_t row = row_of(u, v[i].waits);
		u->spots[v[i].place].asked = true;
		if (row != SIZE_MAX)
			u->group[row] = (uint32_t)i + 1;
	}
}

static int find(const struct world *w, const struct parked_history *l, struct parked_resumer *v, size_t n,
		bool own)
{
	struct looking u = {.l = l,
			    .own = own,
			    .of = calloc(own ? n + 1 : PARKED_PLACES, sizeof(*u.of)),
			    .group = calloc(l->nmembers + 1, sizeof(*u.group)),
			    .home = calloc(l->m->stack_index.n + 1, sizeof(*u.home)),
			    .was = calloc(l->nmembers + 1, 1),
			    .turns = calloc(l->nmembers + 1, sizeof(*u.turns))};
	int r = u.of && u.group && u.home && u.was && u.turns ? 0 : -ENOMEM;
	if (!r) {
		name_groups(&u, v, n);
		r = walk_twice(w, &u);
	}
	for (size_t i = 0; !r && i < n; i++)
		answer(&u, &u.of[own ? i : v[i].place], &v[i]);
	free(u.of);
	free(u.group);
	free(u.home);
	free(u.was);
	free(u.turns);
	return r;
}

int parked_resumer_find(const struct world *w, const struct parked_history *l, struct parked_resumer *v,
			size_t n)
{
	return find(w, l, v, n, false);
}

int parked_resumer_own(const struct world *w, const struct parked_history *l, struct parked_resumer *v,
		       size_t n)
{
	return find(w, l, v, n, true);
}

bool parked_resumer_is_late(const struct parked_resumer *r)
{
	return r->by && r->resumed >= RESUMED_LEAST && 4 * r->handed >= 3 * r->resumed && r->least &&
	       r->turns >= (r->most == 1 ? 1 : TURNS_TIMES * r->most);
}
