// SPDX-License-Identifier: MIT
//
// owners.h - on whose stack an address lies.
#pragma once

#include "engine/inspect/inspect.h"

struct owner {
	struct span stack;
	uint64_t id;
};

struct owners {
	struct owner *v; // sorted
	size_t n;
};

void owners_init(struct owners *o, const struct inspection *l);
void owners_deinit(struct owners *o);
uint64_t owners_find(const struct owners *o, uint64_t addr); // id; 0
