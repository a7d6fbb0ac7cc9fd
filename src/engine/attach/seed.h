// SPDX-License-Identifier: MIT
//
// seed.h - what is in a process before ctp-run attaches to it, found from outside.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "ctp/region.h"
#include "ctp/seed.h"

// One block, for free(): all that is there now. ours: libctp's own memory. NULL: no memory, or the process
// may not be looked at. By deadline_ns, with what was found until then.
struct ctp_seeds *seed_find(pid_t pid, const struct ctp_region *ours, uint64_t deadline_ns);
// Of a block that ctp_seed has taken in, and a later one: what was there and is no more, although no hook has
// seen it go. For free(); NULL: nothing (or no memory).
struct ctp_seeds *seed_gone(const struct ctp_seeds *was, const struct ctp_seeds *now,
			    const struct ctp_region *r);
// How many coroutines of it were taken in.
uint32_t seed_taken(const struct ctp_seeds *s);
