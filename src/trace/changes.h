// SPDX-License-Identifier: MIT
//
// changes.h - entities known only by their state changes: JSON lines and
// version-1 stations. Keeps the last change of each, so memory grows with
// entities, not with changes.
#pragma once

#include <stdbool.h>

#include "base/idmap.h"

struct change {
	uint64_t id;
	uint64_t n;  // of the last change: 1, 2, ...
	uint64_t ns; // of the last change
	bool active;
};

struct changes {
	struct change *items;
	size_t n, capacity;
	struct idmap by_id;
	uint64_t missing; // gaps in n
};

int changes_add(struct changes *c, uint64_t id, uint64_t n, bool active, uint64_t ns);
uint64_t changes_suspended(const struct changes *c);
void changes_deinit(struct changes *c);
