// SPDX-License-Identifier: MIT
//
// intern.h - numbers byte strings: 1 for the first one, 2 for the next new one.
#pragma once

#include "base/idmap.h"

struct intern_key {
	unsigned char *bytes;
	size_t n;
};

struct intern {
	struct idmap by_hash;
	struct intern_key *keys;
	size_t n, capacity;
};

// Zeroed memory is an empty one.
void intern_deinit(struct intern *m);
// The number of these bytes; *anew: they were not known. 0: no memory.
uint32_t intern(struct intern *m, const void *bytes, size_t n, bool *anew);
