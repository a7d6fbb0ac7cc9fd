// SPDX-License-Identifier: MIT
//
// seed.h - what is in a process before ctp-run attaches to it, found from outside.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctp/region.h"
#include "ctp/seed.h"

// One block, for free(): all that is there now. ours: libctp's own memory. NULL: no memory, or the process
// may not be looked at. By deadline_ns, with what was found until then. `reach`: also what nothing leads to.
struct ctp_seeds *seed_find(pid_t pid, const struct ctp_region *ours, bool reach, uint64_t deadline_ns);
// Of a block that ctp_seed has taken in, and a later one: what was there and is no more, although no hook has
// seen it go. For free(); NULL: nothing (or no memory).
struct ctp_seeds *seed_gone(const struct ctp_seeds *was, const struct ctp_seeds *now,
			    const struct ctp_region *r);
// Of a block that was taken in, and two later ones: which of its coroutines nothing led to in either, while
// they stood still, marked so. As above.
struct ctp_seeds *seed_unreached(const struct ctp_seeds *was, const struct ctp_seeds *one,
				 const struct ctp_seeds *other);
bool seed_any_unreached(const struct ctp_seeds *s);
// How many coroutines of it were taken in.
uint32_t seed_taken(const struct ctp_seeds *s);
