// SPDX-License-Identifier: MIT
//
// idmap.h - a map from 64-bit keys to 32-bit values (rows of a table).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct idmap {
	uint64_t *keys;
	uint32_t *values; // IDMAP_NONE = the place is empty
	size_t places;    // power of two, or 0
	size_t n;
};

// Zeroed memory is an empty map.
void idmap_deinit(struct idmap *m);
// Sets key's value (not IDMAP_NONE), replacing an older one. 0 or -ENOMEM.
int idmap_set(struct idmap *m, uint64_t key, uint32_t value);
// The value, or IDMAP_NONE.
uint32_t idmap_get(const struct idmap *m, uint64_t key);
