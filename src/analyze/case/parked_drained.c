// SPDX-License-Identifier: MIT
//
// A semaphore's permits, a pool's places and a window's credits are used up by those who take one and do not
// give it back. Then all who come later wait, and nobody is left who could give one back. So a place counts
// if two or more wait there, all that were made alike and live are among them, and others that were made
// alike have ended, two at least; and if they wait for more than ten times as long as one of these lived. Of
// those two kinds are told:
// - Nobody was ever resumed from there, and those that have ended never waited there: it was free to them.
//   They had ended before the first one came, or all who wait came there first of all. A pool of workers that
//   ends those it has no use for parks others before, once they have worked.
// - Three or more were resumed from there, each time after less than a fiftieth of the time that they wait
//   now, and two of them have ended.
// It is SUSPECT at most: a pool that shrinks, and has no work, can look the same.
#include "analyze/case/parked_drained.h"

#include <inttypes.h>

#include "base/text.h"

#define LEAST_NS 2000000000ULL
enum { PARKED_LEAST = 2, OVER_LEAST = 2, WHO_LEAST = 3, TIMES_A_LIFE = 10, TIMES_LONGER = 50 };

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

static bool is_drained(const struct world *w, const struct parked_history *l, size_t i)
{
	const struct parked_spot *p = &l->v[i];
	const struct parked_users *u = &p->of[PARKED_MADE_ALIKE];
	uint64_t waits = l->end_ns > p->changed_ns ? l->end_ns - p->changed_ns : 0;
	if (u->outside || u->inside != p->parked || p->parked < PARKED_LEAST || u->over < OVER_LEAST ||
	    waits <= LEAST_NS || waits <= TIMES_A_LIFE * u->life_ns || !parked_history_goes_on(w, l, p))
		return false;
	return p->left ? p->who >= WHO_LEAST && u->over >= u->never + OVER_LEAST &&
				 waits > TIMES_LONGER * p->longest :
			 was_free(l, i, u);
}

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
			"never waited here; all %" PRIu64 " that live do, and none was ever resumed",
			u->over, life, u->inside);
	return results_text(out,
			    "%" PRIu64 " times one was resumed from here, after %s at most; %" PRIu64
			    " that were made alike have ended, and all %" PRIu64 " that live wait",
			    p->left, longest, u->over, u->inside);
}

static int report(const struct pass *pass, const struct world *w, const struct parked_history *l,
		  const struct parked_spot *p, const struct ctp_state *s, struct results *out)
{
	struct verdict_case c;
	char span[32];
	case_of_wait(&c, pass, &(struct suspect){.world = w, .image = l->m, .state = s}, out);
	text_duration(span, sizeof(span), case_suspended_ns(&c));
	c.message = message(p, out);
	c.doing = results_text(out, "%s for nothing that is known; %s", span, c.message);
	c.proof = (struct obligations){.verdict = VERDICT_SUSPECT, .by_hand = w->counts.hand > 0};
	c.proof.items[PROOF_P0] = case_completeness(case_complete(w, l->m));
	c.proof.items[PROOF_P1] = (struct obligation){HOLDS_TRUE, "suspended now"};
	c.proof.items[PROOF_P5] = (struct obligation){
		HOLDS_TRUE, p->others ? results_text(out,
						     "had its chance: others were resumed %" PRIu64
						     " times since the last of them came",
						     p->others) :
					"had its chance: the loop has gone on since the last of them came"};
	c.claim = "waits, and so do all that live of those made alike, while the others have ended";
	c.refuted =
		"somebody else resumes them, and is late, or they are workers of a pool that has no work, "
		"and ended the others";
	c.fix = "find what they take, and those that have ended did not give back: a permit, a place in a pool, a "
		"credit; look at early returns and at what fails";
	return results_add(out, &c);
}

static int judge(const struct pass *pass, const struct world *w, const struct parked_history *l,
		 unsigned char *told, struct results *out)
{
	bool is[PARKED_PLACES + 1] = {false};
	int r = 0;
	for (size_t p = 0; p < l->n; p++)
		is[p + 1] = is_drained(w, l, p);
	for (size_t i = 0; !r && l->n && i < l->m->stations.n; i++) {
		const struct ctp_state *s = image_state(l->m, i);
		unsigned at = told[i] || !parked_history_is(l->m, s, i) ? 0 : l->of[s->stack];
		if (!is[at])
			continue;
		told[i] = 1;
		r = report(pass, w, l, &l->v[at - 1], s, out);
	}
	return r;
}

int parked_drained(const struct pass *pass, const struct world *w,
		   const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < PARKED_PLACINGS; i++)
		r = judge(pass, w, &v[i], told, out);
	return r;
}
