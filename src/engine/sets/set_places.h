// SPDX-License-Identifier: MIT
//
// set_places.h - coroutines, by where their contexts and stacks are, or were until they ended.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctp/region.h"

struct set_places {
	struct set_places_one *v; // sorted; made when it is first asked for
	size_t n;
	bool read;
};

// Whose saved context is there, or whose stack ends there (`top`)? If nobody's: whose was, of those who have
// ended the last. An id; 0.
uint64_t set_places_find(struct set_places *e, const struct ctp_region *r, uint64_t at, bool top,
			 bool *lives);
void set_places_deinit(struct set_places *e);
