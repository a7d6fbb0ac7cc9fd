// SPDX-License-Identifier: MIT
//
// A permit or a lock was taken, and the function that took it returned early, threw an exception or ended its
// coroutine. That coroutine may live on in its loop, or be gone: nothing holds the permit any more, and those
// that come wait for good. A healthy pool has a late holder in it, past the place where the others wait. So a
// place counts only if all of these hold:
// - Two or more wait there, for more than two seconds and fifty times the longest wait of one that was
//   resumed from there.
// - It is left as a lock is: some went past it before any waited, and each that was resumed was so right
//   after one that was past it, never while all of them waited.
// - No living coroutine is past it (parked_holders.h).
// - Others or a loop go on, or all loops have gone to sleep since.
// It is SUSPECT at most: a permit can outlive the function that took it.
#include "analyze/parked/parked_kept.h"

#include <inttypes.h>

#include "analyze/parked/parked_case.h"
#include "analyze/parked/parked_holders.h"
#include "base/text.h"

#define LEAST_NS 2000000000ULL
enum { PARKED_LEAST = 2, TIMES_LONGER = 50 };

static bool is_kept(const struct world *w, const struct parked_history *l, size_t i)
{
	const struct parked_spot *p = &l->v[i];
	const struct parked_users *u = &p->of[PARKED_MADE_ALIKE];
	uint64_t waits = l->end_ns > p->changed_ns ? l->end_ns - p->changed_ns : 0;
	return p->parked >= PARKED_LEAST && u->inside == p->parked && !u->refuted && waits > LEAST_NS &&
	       waits > TIMES_LONGER * p->longest && parked_holders_gave(p) && parked_holders_none(l, i) &&
	       (parked_history_goes_on(w, l, p) || parked_history_rests(w, l, p));
}

static const char *chance(const struct world *w, const struct parked_history *l, const struct parked_spot *p,
			  struct results *out)
{
	return parked_history_goes_on(w, l, p) ?
		       parked_case_chance(p, "the last of them came", out) :
		       "had its chance: all loops have gone to sleep since the last of them came";
}

static int report(const struct pass *pass, const struct world *w, const struct parked_history *l,
		  const struct parked_spot *p, const struct ctp_state *s, struct results *out)
{
	char longest[32], last[32];
	text_duration(longest, sizeof(longest), p->longest);
	text_duration(last, sizeof(last), l->end_ns - p->last_ns);
	const struct parked_words words = {
		.message = results_text(
			out,
			"%" PRIu64 " time%s one was resumed from here, after %s at most, right after "
			"another that was past this place had run; the last was coroutine %" PRIu64
			", %s ago; now %zu wait, and none that lives is past it",
			p->left, p->left == 1 ? "" : "s", longest, p->last, last, p->parked),
		.chance = chance(w, l, p, out),
		.claim = "waits for what others took, and none that lives is where those were who had it",
		.refuted =
			"one of them keeps it until its next request, or has handed it to a thread, a queue or a "
			"coroutine that was made elsewhere, which is late",
		.fix = "find what they take, and one of them did not give back: on an early return, at an exception, or "
		       "where it ended inside",
	};
	return parked_case_add(pass, w, l->m, s, &words, out);
}

int parked_kept(const struct pass *pass, const struct world *w,
		const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out)
{
	return parked_history_judge(pass, w, v, is_kept, told, report, out);
}
