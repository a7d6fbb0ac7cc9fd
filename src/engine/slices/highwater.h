// SPDX-License-Identifier: MIT
//
// highwater.h - how deep the stacks of live coroutines have ever been (CTP020).
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"
#include "engine/target/open_stacks.h"

// A line to highwater.jsonl (spec/trace.md) for each that came close to its end.
// Looks until deadline_ns; the process still lives.
// ends: lower ends that libctp.so does not know, as far as they were found.
void highwater_write(FILE *out, const struct ctp_region *r, pid_t pid, const struct open_stacks *ends,
		     uint64_t deadline_ns);
