// SPDX-License-Identifier: MIT
//
// descriptors.h - the open descriptors that suspended coroutines wait for, or have used.
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"

// Writes descriptors.jsonl anew, and what of them is unread. Stops at the deadline, between lines.
void descriptors_write(FILE *out, const struct ctp_region *r, pid_t pid, uint64_t deadline_ns);
// Is a coroutine suspended of which the descriptor that it waits for, or used last, may tell more?
bool descriptors_wanted(const struct ctp_region *r);
