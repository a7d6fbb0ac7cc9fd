// SPDX-License-Identifier: MIT
//
// The permits of a semaphore, the places of a pool or the credits of a window are used up by coroutines that
// take one and do not give it back. Then all that come later wait, and none is left that could give one back.
// A place counts if two or more wait there, if at least two others that were created alike have ended, and if
// those that wait have done so for more than five times the lifetime of one of these. There are two kinds:
// - None was ever resumed from there, and those that have ended never waited there: they found it free. All
//   that were created alike and live wait there, too, or are where one of the waiters was before it came; one
//   that is elsewhere may have what they wait for. Those that ended had done so before the first waiter came,
//   or all waiters came there before they did anything else. (A pool of workers that ends those it has no use
//   for parks the others before, once they have worked.)
// - Three or more were resumed from there, each after less than a fiftieth of the present wait, two of them
//   have ended, and all that were created alike and live wait.
// It is SUSPECT at most: a pool that shrinks and has no work can look the same.
#include "analyze/parked/parked_drained.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/parked/parked_case.h"
#include "base/text.h"
#include "trace/transitions.h"

#define LEAST_NS 2000000000ULL
enum { PARKED_LEAST = 2, OVER_LEAST = 2, WHO_LEAST = 3, TIMES_A_LIFE = 5, TIMES_LONGER = 50 };

struct looking {
	const struct parked_history *l;
	uint32_t *been; // by stack: places of which a waiter was there before, bits
};

// Is it the first thing that those who wait there did?
static bool came_first_of_all(const struct parked_history *l, size_t p)
{
	for (size_t i = 0; i < l->nmembers; i++) {
		const struct parked_member *of = &l->members[i];
		if (of->at == p + 1 && of->runs && !of->first)
			return false;
	}
	return true;
}

static bool was_free(const struct parked_history *l, size_t p, const struct parked_users *u)
{
	return u->never == u->over && (u->over_ns < l->v[p].came_first || came_first_of_all(l, p));
}

static bool is_asked(const struct world *w, const struct parked_history *l, size_t i)
{
	const struct parked_spot *p = &l->v[i];
	const struct parked_users *u = &p->of[PARKED_MADE_ALIKE];
	uint64_t waits = l->end_ns > p->changed_ns ? l->end_ns - p->changed_ns : 0;
	if (u->inside != p->parked || p->parked < PARKED_LEAST || u->over < OVER_LEAST || waits <= LEAST_NS ||
	    waits <= TIMES_A_LIFE * u->life_ns || !parked_history_goes_on(w, l, p))
		return false;
	return p->left ? !u->outside && p->who >= WHO_LEAST && u->over >= u->never + OVER_LEAST &&
				 waits > TIMES_LONGER * p->longest :
			 was_free(l, i, u);
}

// ------------------------------------------------------------- who lives, and is elsewhere

static int sink(void *arg, const struct transition *t)
{
	struct looking *u = arg;
	bool stays = t->kind == CTP_EV_SWITCH && t->from && t->how != CTP_HOW_GONE &&
		     t->how != CTP_HOW_RETURN && t->stack < u->l->m->stack_index.n;
	const struct parked_member *of = stays ? parked_history_member(u->l, t->from->id) : NULL;
	if (of && of->at)
		u->been[t->stack] |= 1U << (of->at - 1);
	return 0;
}

// Is each of those that were made alike where one of the waiters was before, on its way here? Then it has not
// come as far as they have. Of one that runs, it counts where it was suspended last.
static bool none_inside(const struct looking *u, size_t place)
{
	const struct parked_history *l = u->l;
	for (size_t i = 0; i < l->m->stations.n; i++) {
		const struct ctp_state *s = image_state(l->m, i);
		const struct parked_member *of = parked_history_member(l, s->id);
		if (!of || !of->runs || of->at == place + 1 || !(l->made[of->made_at] >> place & 1))
			continue;
		if (!s->stack || s->stack >= l->m->stack_index.n || !(u->been[s->stack] >> place & 1))
			return false;
	}
	return true;
}

// Which of the places are such.
static int find(const struct world *w, struct looking *u, bool is[PARKED_PLACES])
{
	int r = 0;
	for (size_t p = 0; p < u->l->n; p++) {
		is[p] = is_asked(w, u->l, p);
		if (!is[p] || !u->l->v[p].of[PARKED_MADE_ALIKE].outside)
			continue;
		if (!u->been) {
			u->been = calloc(u->l->m->stack_index.n + 1, sizeof(*u->been));
			r = u->been ? transitions_walk(w, sink, u) : -ENOMEM;
		}
		if (r)
			return r;
		is[p] = none_inside(u, p);
	}
	return r;
}

// ------------------------------------------------------------- what it says

static const char *message(const struct parked_spot *p, struct results *out)
{
	const struct parked_users *u = &p->of[PARKED_MADE_ALIKE];
	char life[32], longest[32];
	text_duration(life, sizeof(life), u->life_ns);
	text_duration(longest, sizeof(longest), p->longest);
	if (!p->left)
		return results_text(
			out,
			"%" PRIu64 " others that were made alike have ended, after %s at most, and "
			"never waited here; %s, and none was ever resumed",
			u->over, life,
			u->outside ? results_text(out, "these %" PRIu64 " do", u->inside) :
				     results_text(out, "all %" PRIu64 " that live do", u->inside));
	return results_text(out,
			    "%" PRIu64 " times one was resumed from here, after %s at most; %" PRIu64
			    " that were made alike have ended, and all %" PRIu64 " that live wait",
			    p->left, longest, u->over, u->inside);
}

static int report(const struct pass *pass, const struct world *w, const struct parked_history *l,
		  const struct parked_spot *p, const struct ctp_state *s, struct results *out)
{
	const struct parked_words words = {
		.message = message(p, out),
		.chance = parked_case_chance(p, "the last of them came", out),
		.claim =
			p->of[PARKED_MADE_ALIKE].outside ?
				"waits for what others made alike took, which have ended" :
				"waits, and so do all that live of those made alike, while the others have ended",
		.refuted =
			"somebody else resumes them, and is late, or they are workers of a pool that has no work, "
			"and ended the others",
		.fix = "find what they take, and those that have ended did not give back: a permit, a place in a pool, a "
		       "credit; look at early returns and at what fails",
	};
	return parked_case_add(pass, w, l->m, s, &words, out);
}

static int judge(const struct pass *pass, const struct world *w, const struct parked_history *l,
		 unsigned char *told, struct results *out)
{
	bool is[PARKED_PLACES] = {false};
	struct looking u = {.l = l};
	int r = find(w, &u, is);
	free(u.been);
	return r ? r : parked_history_tell(pass, w, l, is, told, report, out);
}

int parked_drained(const struct pass *pass, const struct world *w,
		   const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < PARKED_PLACINGS; i++)
		r = judge(pass, w, &v[i], told, out);
	return r;
}
