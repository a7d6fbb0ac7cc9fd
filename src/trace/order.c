// SPDX-License-Identifier: MIT
//
// The numbers of an entity's changes only rise. A record in which one does not, or
// that has a time before its forerunner's in the same packet, was not written so.
// Between two streams nothing is compared: which came first is what numbers are for.
#include "trace/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void order_stream(struct order *o)
{
	idmap_deinit(&o->by_id);
	o->n = 0;
}

static int entered(struct order *o, const struct ctp_event *e)
{
	uint32_t row = idmap_get(&o->by_id, e->b);
	if (row == IDMAP_NONE) {
		int r = o->n < IDMAP_NONE ? GROW(o->items, o->n, o->capacity) : -ENOMEM;
		r = r ? r : idmap_set(&o->by_id, e->b, (uint32_t)o->n);
		if (r)
			return r;
		o->items[o->n++] = (struct order_entity){ e->b_n, e->time };
		return 0;
	}
	struct order_entity *was = &o->items[row];
	if (ctp_number_ahead(was->n, was->time, e->b_n & CTP_SHORT_MASK, CTP_SHORT_BITS, e->time) < 1)
		o->wrong++;
	*was = (struct order_entity){ e->b_n, e->time };
	return 0;
}

int order_add(struct order *o, const struct ctp_event *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		o->wrong += e[i].falls;
		int r = e[i].kind == CTP_EV_SWITCH && e[i].b ? entered(o, &e[i]) : 0;
		if (r)
			return r;
	}
	return 0;
}

void order_deinit(struct order *o)
{
	free(o->items);
	idmap_deinit(&o->by_id);
	memset(o, 0, sizeof(*o));
}
