// SPDX-License-Identifier: MIT
//
// The last state change of each entity. An entity's changes come in order, so the last
// one is its present state. The first one may have any number: older ones that were
// overwritten before they were read count as missing. Files of version-1 engines repeat
// a number at each lap of the ring; that is no gap.
#include "trace/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int changes_add(struct changes *c, const struct change *change)
{
	uint32_t row = idmap_get(&c->by_id, change->id);
	if (row == IDMAP_NONE) {
		int r = c->n < IDMAP_NONE ? GROW(c->items, c->n, c->capacity) : -ENOMEM;
		row = (uint32_t)c->n;
		if (!r)
			r = idmap_set(&c->by_id, change->id, row);
		if (r)
			return r;
		c->items[c->n++] = (struct change){.id = change->id};
	}
	struct change *e = &c->items[row];
	uint64_t n = e->n;
	if (change->n > n) {
		c->missing += change->n - n - 1;
		n = change->n;
	}
	*e = *change;
	e->n = n;
	return 0;
}

struct changes_count changes_count(const struct changes *c)
{
	struct changes_count n = {0};
	for (size_t i = 0; i < c->n; i++) {
		const struct change *e = &c->items[i];
		if (!e->native)
			*(e->finished ? &n.finished : e->active ? &n.running : &n.suspended) += 1;
	}
	return n;
}

void changes_deinit(struct changes *c)
{
	if (!c)
		return;
	free(c->items);
	idmap_deinit(&c->by_id);
	memset(c, 0, sizeof(*c));
}
