// SPDX-License-Identifier: MIT
//
// CTP003: what is suspended without a known wait (queues, mutexes and pools
// all look the same) is counted, never accused. With it the other things that
// are merely so: healthy waiters, and what was destroyed while suspended.
#include <inttypes.h>

#include "analyze/pass.h"

static int run(const struct pass *pass, const struct world *w, struct found *out)
{
	const struct image_counts *c = &w->counts;
	int r = 0;
	if (c->healthy)
		r = found_fact(out, "INFO", c->healthy, "%" PRIu64 " coroutine%s on live descriptors: healthy",
			       c->healthy, c->healthy == 1 ? " waits" : "s wait");
	if (!r && c->parked)
		r = found_fact(out, pass->rule, c->parked, "%" PRIu64 " coroutine%s suspended without a "
			       "known wait: parked", c->parked, c->parked == 1 ? " is" : "s are");
	if (!r && c->destroyed)
		r = found_fact(out, "INFO", c->destroyed, "%" PRIu64 " coroutine%s destroyed while suspended",
			       c->destroyed, c->destroyed == 1 ? " was" : "s were");
	return r;
}

const struct pass pass_parked = {
	.rule = "CTP003",
	.title = "parked",
	.run = run,
	.is_fact = true,
	.explain =
		"Coroutines that are suspended without a known wait. Pools, queues and mutexes look like\n"
		"this in every healthy program: they are counted, not accused.\n",
};
