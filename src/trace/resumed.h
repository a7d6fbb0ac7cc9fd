// SPDX-License-Identifier: MIT
//
// resumed.h - of some stacks: from which of them was a coroutine suspended and later
// resumed?
#pragma once

#include "trace/world.h"

struct resumed {
	uint32_t stack;
	bool seen;
};

// Reads the records of *m, the one image of the trace, until all of v (different stacks) are seen; `seen` is
// set where it is so. What was lost only leaves it unset. 0 or -errno.
int resumed_read(const struct world *w, const struct image *m, struct resumed *v, size_t n);
