// SPDX-License-Identifier: MIT
//
// A condition was signalled once, and two coroutines waited; a semaphore woke one of them, and two units were
// posted. Of those that came together, at one place, for the first time, some were resumed, each once, and
// have ended; the rest still waits. It counts only if all came within a tenth of the shortest wait, if the
// rest has waited more than a second and five times the longest wait, and if other coroutines or a loop go
// on. Workers that do one job each, some of which have had theirs, look the same: it is SUSPECT at most.
#include "analyze/parked/parked_behind.h"

#include <inttypes.h>

#include "analyze/parked/parked_case.h"
#include "base/text.h"

enum { TOGETHER = 10, TIMES_LONGER = 5 };

// Has it ended? It may be kept by its library where none is ever resumed.
static bool is_gone(const struct parked_history *l, const struct parked_member *of, size_t p)
{
	return !of->runs || (of->at && of->at != p + 1 && !l->v[of->at - 1].left);
}

static bool all_once(const struct parked_history *l, size_t p)
{
	size_t wait = 0;
	for (size_t i = 0; i < l->nmembers; i++) {
		const struct parked_member *of = &l->members[i];
		bool here = of->at == p + 1, left = of->left >> p & 1;
		if (!(of->visited >> p & 1))
			continue;
		if (left == here || (left && !is_gone(l, of, p)))
			return false;
		wait += here;
	}
	return wait == l->v[p].parked;
}

static bool is_behind(const struct world *w, const struct parked_history *l, size_t i)
{
	const struct parked_spot *p = &l->v[i];
	uint64_t passed = l->end_ns > p->changed_ns ? l->end_ns - p->changed_ns : 0;
	return p->left && p->left == p->who && passed > PARKED_LONG_NS &&
	       passed > TIMES_LONGER * p->longest &&
	       (p->came_last - p->came_first) * TOGETHER < p->shortest && parked_history_goes_on(w, l, p) &&
	       all_once(l, i);
}

static int report(const struct pass *pass, const struct world *w, const struct parked_history *l,
		  const struct parked_spot *p, const struct ctp_state *s, struct results *out)
{
	char longest[32], last[32];
	text_duration(longest, sizeof(longest), p->longest);
	text_duration(last, sizeof(last), l->end_ns - p->last_ns);
	const struct parked_words words = {
		.message = results_text(out,
					"%" PRIu64 " of %" PRIu64
					" that came together %s resumed, after %s at most, "
					"and ha%s ended; the last was coroutine %" PRIu64 ", %s ago",
					p->left, p->left + p->parked, p->left == 1 ? "was" : "were", longest,
					p->left == 1 ? "s" : "ve", p->last, last),
		.chance = parked_case_chance(p, "the last of them was resumed", out),
		.claim = "was left behind where others that came with it were resumed",
		.refuted =
			"it is a worker that does one job and has none yet, or waits for something else than they did",
		.fix = "find what resumed the others: one signal for several that wait, a semaphore that wakes one for many "
		       "that are posted, an entry that was overwritten",
	};
	return parked_case_add(pass, w, l->m, s, &words, out);
}

int parked_behind(const struct pass *pass, const struct world *w,
		  const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out)
{
	const struct parked_history *l = &v[PARKED_USUAL];
	bool is[PARKED_PLACES] = {false};
	for (size_t p = 0; p < l->n; p++)
		is[p] = is_behind(w, l, p);
	return parked_history_tell(pass, w, l, is, told, report, out);
}
