// SPDX-License-Identifier: MIT
//
// held.h - locks that suspended coroutines hold at the final inspection (CTP019).
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"

// A line for each to slices.jsonl (spec/trace.md). The process still lives.
void held_write(FILE *out, const struct ctp_region *r, pid_t pid);
