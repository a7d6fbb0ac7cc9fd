// SPDX-License-Identifier: MIT
//
// Entities known only by their state changes. They come in order, so the last
// one is the present state; the first that is seen of an entity may be any
// (older ones overwritten before they were read count as missing). Files of
// version-1 engines repeat n at each lap: that is no gap.
#include "trace/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int changes_add(struct changes *c, uint64_t id, uint64_t n, bool active, uint64_t ns)
{
	uint32_t row = idmap_get(&c->by_id, id);
	if (row == IDMAP_NONE) {
		int r = c->n < IDMAP_NONE ? GROW(c->items, c->n, c->capacity) : -ENOMEM;
		row = (uint32_t)c->n;
		if (!r)
			r = idmap_set(&c->by_id, id, row);
		if (r)
			return r;
		c->items[c->n++] = (struct change){ .id = id };
	}
	struct change *e = &c->items[row];
	if (n > e->n) {
		c->missing += n - e->n - 1;
		e->n = n;
	}
	e->ns = ns;
	e->active = active;
	return 0;
}

uint64_t changes_suspended(const struct changes *c)
{
	uint64_t n = 0;
	for (size_t i = 0; i < c->n; i++)
		n += !c->items[i].active;
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
