// SPDX-License-Identifier: MIT
//
// To wait for long is what a worker does for which there is no work. So it is a fact: where, how many, and
// since when, as the engine's looks at their frames have seen it.
#include "analyze/facts/stackless_waits.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/case/stackless_case.h"
#include "analyze/report/frames.h"
#include "analyze/facts/place.h"
#include "base/grow.h"
#include "base/text.h"

enum { PLACES_SHOWN = 5, ARMED_BYTES = 100 };

struct place {
	const struct image *m;
	const struct stackless_wait *wait;
};

static int by_count(const void *a, const void *b)
{
	const struct stackless_wait *x = ((const struct place *)a)->wait,
				    *y = ((const struct place *)b)->wait;
	bool xa = x->armed == x->count, ya = y->armed == y->count; // sessions without work are
	return xa != ya             ? xa - ya :
	       x->count != y->count ? (x->count < y->count) - (x->count > y->count) :
				      (x->most_ns < y->most_ns) - (x->most_ns > y->most_ns);
}

static int say(struct report *r, const struct place *p)
{
	char at[PLACE_BYTES], least[32], most[32], armed[ARMED_BYTES] = "";
	const struct stackless_wait *w = p->wait;
	place_text(r, p->m, w->stack, PLACE_FRAMES, at, sizeof(at));
	text_duration(least, sizeof(least), w->least_ns);
	text_duration(most, sizeof(most), w->most_ns);
	if (w->armed)
		snprintf(armed, sizeof(armed),
			 "; %" PRIu64 " %s the number of a descriptor of which an event may come", w->armed,
			 w->armed == 1 ? "holds" : "hold");
	return results_fact(&r->results, "INFO", w->count,
			    "%" PRIu64 " C++20 coroutine%s suspended%s for at least %s%s%s; no look has seen "
			    "one of them resumed%s",
			    w->count, w->count == 1 ? " is" : "s are", at, least,
			    w->count == 1 ? "" : ", the longest for ", w->count == 1 ? "" : most, armed);
}

int stackless_waits_facts(struct report *r)
{
	struct place *v = NULL;
	size_t n = 0, room = 0;
	int e = 0;
	for (size_t i = 0; !e && i < r->world->nimages; i++) {
		const struct image *m = &r->world->images[i];
		for (size_t k = 0; !e && stackless_counts(m) && k < m->stackless.nwaits; k++) {
			e = GROW(v, n, room);
			if (!e)
				v[n++] = (struct place){m, &m->stackless.waits[k]};
		}
	}
	if (n)
		qsort(v, n, sizeof(*v), by_count);
	for (size_t i = 0; !e && i < n && i < PLACES_SHOWN; i++)
		e = say(r, &v[i]);
	free(v);
	return e;
}
