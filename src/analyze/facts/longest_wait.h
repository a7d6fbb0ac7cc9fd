// SPDX-License-Identifier: MIT
//
// longest_wait.h - of coroutines that have ended: where, and for how long, they were suspended longest, by
// the history.
#pragma once

#include "trace/world.h"

struct longest_wait {
	uint64_t id;      // set by the caller; in order
	uint64_t span_ns; // 0: the history has none
	uint32_t stack;   // where
};

// A walk over the whole history. Of one process only: ids of several would be mixed up. 0 or -errno.
int longest_wait_find(const struct world *w, struct longest_wait *v, size_t n);
