// SPDX-License-Identifier: MIT
//
// touched.h - which pages of a mapping the program has ever touched. Others are never read: reading
// would give the process a page more.
#pragma once

#include "find/image.h"
#include "search/memory/span.h"

struct touched { // zeroed: nothing is known yet
	const struct maps_line *map;
	uint64_t *entries; // of that mapping's pages
	size_t n;          // 0: not known
	struct span
		pages; // that were touched, around the last address: for all of them the answer is the same
	struct span run;
};

// The stack that `addr` may lie in: a stack's pages are touched from its end down, in one run, as a rule;
// those below it were not, down to the end of the next stack. The whole mapping where that is not known;
// empty without one. Cheap if the next address lies in the same mapping.
struct span touched_run(struct touched *t, const struct image *im, uint64_t addr);
void touched_deinit(struct touched *t);
