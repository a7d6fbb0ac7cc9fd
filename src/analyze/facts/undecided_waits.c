// SPDX-License-Identifier: MIT
//
// What a rule was about to say of a coroutine, and one condition forbade: its reason leads a reader on. Those
// of which other facts tell (taken.h, unheard_waits.h) are left out.
#include "analyze/facts/undecided_waits.h"

#include "analyze/facts/place.h"
#include "analyze/report/undecided.h"
#include "analyze/report/waiters.h"
#include "base/text.h"

#define LONG_NS 1000000000ULL
enum { SHOWN = 3 };

static bool is_told(const struct report *r, const struct waiters_group *g)
{
	return image_taken(g->image, g->oldest) || image_unheard(g->image, &r->world->manifest, g->oldest);
}

static int say(struct report *r, const struct waiters_group *g)
{
	char span[32], place[PLACE_BYTES], why[300];
	text_duration(span, sizeof(span), waiters_age_ns(r, g));
	place_text(r, g->image, image_told_stack(g->image, g->oldest), PLACE_FRAMES, place, sizeof(place));
	undecided_why(r, g->image, g->oldest, why, sizeof(why));
	return results_fact(&r->results, "INFO", g->n, "%zu coroutine%s suspended for %s%s: undecided, %s",
			    g->n, g->n == 1 ? " is" : "s are", span, place, why);
}

int undecided_waits_facts(struct report *r)
{
	struct waiters all;
	if (r->world->form != WORLD_DIRECTORY || !r->world->has_last_tables)
		return 0;
	int e = waiters_collect(&all, r);
	if (e)
		return e;
	for (size_t i = 0, shown = 0; !e && i < all.n && shown < SHOWN; i++) {
		const struct waiters_group *g = &all.items[i];
		if (g->kind != ACCOUNT_UNDECIDED || waiters_age_ns(r, g) < LONG_NS || is_told(r, g))
			continue;
		e = say(r, g);
		shown++;
	}
	waiters_deinit(&all);
	return e;
}
