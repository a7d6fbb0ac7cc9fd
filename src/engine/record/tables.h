// SPDX-License-Identifier: MIT
//
// tables.h - copies of a region's tables on disk (spec/trace.md, "Tables").
#pragma once

#include <sys/types.h>

#include "ctp/region.h"

// dir: descriptor of the directory to write into. pid: whose region it is. ended: counters of uses of
// slots that have ended. ticks: time of the copy. late_ns: not later than that, or -ETIME. *bytes: how many were written; may be NULL. 0 or -errno.
int tables_dump(int dir, const struct ctp_region *r, pid_t pid, const struct ctp_thread *ended, uint64_t ticks,
		uint64_t late_ns, uint64_t *bytes);
