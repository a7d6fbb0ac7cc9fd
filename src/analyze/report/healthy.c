// SPDX-License-Identifier: MIT
//
// The tables count healthy and parked coroutines before any pass has run, so those
// that a case calls stuck, or woken for nothing, are subtracted here.
#include "analyze/report/healthy.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/report/finished_kept.h"

static int subtract_cases(struct report *r)
{
	const struct image *m = NULL;
	unsigned char *seen = NULL;                      // by row: one coroutine may be in two findings
	for (size_t i = 0; i < r->results.ncases; i++) { // in the order of images
		const struct verdict_case *c = &r->results.cases[i];
		if (c->about.image != m) {
			free(seen);
			m = c->about.image;
			seen = calloc(m->stations.n + 1, 1);
			if (!seen)
				return -ENOMEM;
		}
		uint32_t row = idmap_get(&m->by_id, c->id);
		if (!(c->pass->waits || c->pass->idle || c->pass->unwell) || m->replaced ||
		    row == IDMAP_NONE || seen[row])
			continue;
		seen[row] = 1;
		r->healthy -= (m->row_flags[row] & IMAGE_ROW_HEALTHY) != 0;
		r->parked -= (m->row_flags[row] & IMAGE_ROW_PARKED) != 0;
	}
	free(seen);
	return 0;
}

// Those that have ended, and are kept, wait for nobody.
static void subtract_kept(struct report *r)
{
	for (size_t k = 0; k < r->world->nimages; k++) {
		const struct image *m = &r->world->images[k];
		for (size_t i = 0; r->kept && r->kept[k] && i < m->stations.n; i++)
			r->parked -= finished_kept(r, m, i);
	}
}

int healthy_count(struct report *r)
{
	r->healthy = r->world->counts.healthy;
	r->parked = r->world->counts.parked;
	int e = subtract_cases(r);
	subtract_kept(r);
	return e;
}
