// SPDX-License-Identifier: MIT
//
// The numbers of an entity's state changes only rise. A record whose number does not is
// corrupt. Records of two streams are not compared: numbers exist to order those.
#include "trace/stream/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static struct order_block *block(struct order *o, uint64_t key)
{
	uint32_t row = idmap_get(&o->by_id, key);
	if (row != IDMAP_NONE)
		return &o->blocks[row];
	if (o->n >= IDMAP_NONE || GROW(o->blocks, o->n, o->capacity) ||
	    idmap_set(&o->by_id, key, (uint32_t)o->n))
		return NULL;
	o->blocks[o->n] = (struct order_block){0};
	return &o->blocks[o->n++];
}

int order_entered(struct order *o, uint64_t id, uint32_t n, uint64_t time)
{
	struct order_block *b = block(o, id / ORDER_BLOCK);
	if (!b)
		return -ENOMEM;
	struct order_entity *e = &b->of[id % ORDER_BLOCK];
	uint64_t on = (n - e->n) & CTP_SHORT_MASK;
	bool surely = on - 1 < CTP_SHORT_MASK / 2; // ctp_number_ahead says no other, whatever the times
	if (e->discovered && !surely &&
	    ctp_number_ahead(e->n, e->time, n & CTP_SHORT_MASK, CTP_SHORT_BITS, time) < 1)
		o->wrong++;
	*e = (struct order_entity){time, n, true};
	return 0;
}

void order_deinit(struct order *o)
{
	free(o->blocks);
	idmap_deinit(&o->by_id);
	memset(o, 0, sizeof(*o));
}
