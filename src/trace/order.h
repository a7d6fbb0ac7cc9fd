// SPDX-License-Identifier: MIT
//
// order.h - do records say what can be? Within a thread's stream an entity is never
// entered with a number that it had before.
#pragma once

#include "base/idmap.h"
#include "ctp/record.h"

struct order_entity {
	uint64_t n, time; // of its last change here: low bits
};

struct order {
	struct order_entity *items;
	size_t n, capacity;
	struct idmap by_id;
	uint64_t wrong; // records that contradict an earlier one
};

void order_stream(struct order *o); // another stream begins
// Takes records of the stream. 0 or -ENOMEM.
int order_add(struct order *o, const struct ctp_event *e, size_t n);
void order_deinit(struct order *o);
