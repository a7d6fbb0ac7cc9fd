// SPDX-License-Identifier: MIT
//
// lines.h - writes the run as JSON lines (-o x.jsonl) instead of a directory.
#pragma once

#include "base/clock.h"
#include "engine/record/writer.h"

// fd: the file, borrowed. *clock must outlive it. NULL: no memory.
struct writer *lines_new(int fd, uint64_t max_bytes, const struct clock_pairs *clock);
