// SPDX-License-Identifier: MIT
//
// descriptors.h - the open descriptors that suspended coroutines wait for.
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"

// Writes descriptors.jsonl anew. Stops at the deadline, between lines.
void descriptors_write(FILE *out, const struct ctp_region *r, pid_t pid, uint64_t deadline_ns);
