// SPDX-License-Identifier: MIT
//
// A deadlock tends to strike where nobody has waited before with this very stack. So a place is the
// innermost frames: those that all suspended coroutines share, which switch, and the one that called them;
// PLACE_LEAST at least. One frame too many makes two places of one, and a finding less.
#include "trace/parked_place.h"

#include <string.h>

enum { PLACE_LEAST = 3, PLACE_SHORT = 2 };

static uint32_t stack_of(const struct image *m, size_t row)
{
	const struct ctp_state *s = image_state(m, row);
	return s->entity == CTP_COROUTINE && s->life == CTP_SUSPENDED ? s->stack : 0;
}

static const struct ctp_site *site(const struct image *m, uint32_t stack)
{
	return stack < m->sites.n ? table_row(&m->sites, stack) : NULL;
}

// How many frames these two share, from the innermost on.
static unsigned shared(const struct image *m, uint32_t a, uint32_t b, unsigned most)
{
	unsigned n, k, i = 0;
	const uint64_t *x = image_stack(m, a, &n, NULL), *y = image_stack(m, b, &k, NULL);
	while (i < most && i < n && i < k && x[i] == y[i])
		i++;
	return i;
}

static struct parked_place places(const struct image *m, unsigned least)
{
	unsigned most = CTP_FRAMES_MAX, n;
	uint32_t first = 0;
	for (size_t i = 0; i < m->stations.n; i++) {
		uint32_t stack = stack_of(m, i);
		if (!image_stack(m, stack, &n, NULL))
			continue;
		most = first ? shared(m, first, stack, most) : n;
		first = first ? first : stack;
	}
	for (uint32_t i = 1; first && i < m->sites.n; i++)
		if (site(m, i)->resumed && image_stack(m, i, &n, NULL))
			most = shared(m, first, i, most);
	return (struct parked_place){m, most + 1 < least ? least : most + 1};
}

struct parked_place parked_places(const struct image *m)
{
	return places(m, PLACE_LEAST);
}

struct parked_place parked_places_short(const struct image *m)
{
	return places(m, PLACE_SHORT);
}

uint64_t parked_place(const struct parked_place *p, uint32_t stack)
{
	unsigned n;
	const uint64_t *pcs = image_stack(p->image, stack, &n, NULL);
	uint64_t h = 0xcbf29ce484222325ULL;
	if (!pcs)
		return stack;
	for (unsigned i = 0; i < n && i < p->frames; i++)
		h = (h ^ pcs[i]) * 0x100000001b3ULL;
	return h | 1ULL << 63; // no stack's number
}

bool parked_place_left(const struct parked_place *p, uint64_t place)
{
	const struct image *m = p->image;
	for (uint32_t i = 1; place && i < m->sites.n; i++)
		if (site(m, i)->resumed && parked_place(p, i) == place)
			return true;
	for (size_t i = 0; place && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		if ((s->flags & CTP_STATE_AGAIN) && parked_place(p, s->stack) == place)
			return true;
	}
	return false;
}

void parked_place_stacks(const struct parked_place *p, uint64_t place,
			 void (*each)(void *arg, uint32_t stack), void *arg)
{
	for (uint32_t i = 1; place && i < p->image->stack_index.n; i++)
		if (parked_place(p, i) == place)
			each(arg, i);
}
