// SPDX-License-Identifier: MIT
//
// The users of a lock or of a pool of connections resume each other: a waiter is resumed by one that has it.
// If one of them keeps it, by an early return or because it takes it twice, all of them wait some day. Idle
// workers all wait, too, but what resumes them comes from elsewhere: one of them was resumed while all
// waited, as soon as there was work. So a place counts only if that never happened in the whole history,
// though several were resumed from there, most of them right after another of them had run; if all that use
// it wait there now, for more than ten times the longest wait there, and a second; and if others or a loop go
// on, or each that was resumed was so by another that was past it, and all loops have gone to sleep. One that
// was created alike and never waited there may have gone past, and hold it: it counts as none only if it is
// where those were that came. Two that send each other requests wait at places of their own, and are taken
// together. It is SUSPECT at most: workers that were never idle at the same time, until there was no more
// work, look the same.
#include "analyze/parked/parked_together.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/parked/parked_case.h"
#include "analyze/parked/parked_history.h"
#include "analyze/parked/parked_holders.h"
#include "base/text.h"

enum { ALL_LEAST = 2, LEFT_LEAST = 2, WHO_LEAST = 2, TIMES_LONGER = 10 };

static uint64_t waits(const struct parked_history *l, const struct parked_spot *p)
{
	return l->end_ns > p->changed_ns ? l->end_ns - p->changed_ns : 0;
}

// Workers rest when there is no more work; but those who give each other what they wait for do not.
static bool rests(const struct world *w, const struct parked_history *l, const struct parked_spot *p)
{
	return parked_holders_gave(p) && parked_history_rests(w, l, p);
}

// Do all who use the place wait there, as was never so before one was resumed?
static bool stopped(const struct world *w, const struct parked_history *l, size_t i)
{
	const struct parked_spot *p = &l->v[i];
	if (p->left < LEFT_LEAST || p->who < WHO_LEAST || waits(l, p) <= PARKED_LONG_NS ||
	    waits(l, p) <= TIMES_LONGER * p->longest || !(parked_history_goes_on(w, l, p) || rests(w, l, p)))
		return false;
	for (unsigned g = 0; g < PARKED_GROUPS; g++) {
		const struct parked_users *u = &p->of[g];
		if (!u->refuted && !u->outside && 2 * u->handed > p->left && u->inside >= ALL_LEAST &&
		    u->inside == p->parked && (g == PARKED_MADE_ALIKE || parked_holders_none_alike(l, i)))
			return true;
	}
	return false;
}

// What the last one who was resumed from there does now.
static const char *now(const struct parked_history *l, const struct parked_spot *p)
{
	const struct parked_member *of = parked_history_member(l, p->last);
	return !of || !of->runs ? "has ended since" : of->at ? "waits again" : "is elsewhere";
}

static int report(const struct pass *pass, const struct world *w, const struct parked_history *l,
		  const struct parked_spot *p, const struct ctp_state *s, struct results *out)
{
	char longest[32], last[32];
	text_duration(longest, sizeof(longest), p->longest);
	text_duration(last, sizeof(last), l->end_ns - p->last_ns);
	const struct parked_words words = {
		.message = results_text(out,
					"%" PRIu64
					" times one of them was resumed, after %s at most, and each time "
					"another was elsewhere; now all %zu wait; coroutine %" PRIu64
					" was the last, %s ago, and %s",
					p->left, longest, p->parked, p->last, last, now(l, p)),
		.chance = parked_history_goes_on(w, l, p) ?
				  parked_case_chance(p, "all of them wait", out) :
				  "had its chance: all loops have gone to sleep since the last of them came",
		.claim = "waits, and so do all who resumed each other before",
		.refuted =
			"somebody else resumes them, and is late, or they are workers that were never idle all at once",
		.fix = "find what they take, and one of them did not give back: on an early return, where something failed, "
		       "or in a nested call that takes it again",
	};
	return parked_case_add(pass, w, l->m, s, &words, out);
}

int parked_together(const struct pass *pass, const struct world *w,
		    const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out)
{
	return parked_history_judge(pass, w, v, stopped, told, report, out);
}
