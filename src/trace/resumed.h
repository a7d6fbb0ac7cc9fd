// SPDX-License-Identifier: MIT
//
// resumed.h - places from which coroutines went on: of some stacks, from which
// has a coroutine been seen to leave, and to run again later?
#pragma once

#include "trace/world.h"

struct resumed {
	uint32_t stack;
	bool seen;
};

// Reads the records of *m, the one image of the trace, until all of v (different stacks) are seen; `seen` is
// set where it is so. What was lost only leaves it unset. 0 or -errno.
int resumed_read(const struct world *w, const struct image *m, struct resumed *v, size_t n);
