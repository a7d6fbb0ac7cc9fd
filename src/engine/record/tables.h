// SPDX-License-Identifier: MIT
//
// tables.h - copies of a region's tables on disk (spec/trace.md, "Tables").
#pragma once

#include <sys/types.h>

#include "ctp/region.h"
#include "engine/target/open_stacks.h"

struct tables_copy {
	uint64_t ticks;   // its time
	uint64_t late_ns; // not later than that, or -ETIME
	void (*meanwhile)(
		void *arg); // called between two tables, as a disk may be slow; NULL: nothing else waits
	void *arg;
	const struct open_stacks
		*open_stacks; // lower ends of stacks that libctp.so does not know; NULL: none
	uint64_t bytes;       // out: how many were written
};

// dir: descriptor of the directory to write into. pid: whose region it is. ended: counters of uses of
// slots that have ended. 0 or -errno.
int tables_dump(int dir, const struct ctp_region *r, pid_t pid, const struct ctp_thread *ended,
		struct tables_copy *copy);
