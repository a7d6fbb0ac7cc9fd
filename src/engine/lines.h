// SPDX-License-Identifier: MIT
//
// lines.h - writes the run as JSON lines (-o x.jsonl) instead of a directory.
#pragma once

#include "ctp/region.h"
#include "engine/clock.h"
#include "engine/writer.h"

// fd: the file, borrowed. *region (the present one) and *clock must outlive
// it. NULL: no memory.
struct writer *lines_new(int fd, uint64_t max_bytes, const struct ctp_region *const *region,
			 const struct clock_pairs *clock);
