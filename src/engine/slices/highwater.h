// SPDX-License-Identifier: MIT
//
// highwater.h - how deep the stacks of live coroutines have ever been (CTP020).
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"

// A line to highwater.jsonl (spec/trace.md) for each that came close to its end.
// Looks until deadline_ns; the process still lives.
void highwater_write(FILE *out, const struct ctp_region *r, pid_t pid, uint64_t deadline_ns);
