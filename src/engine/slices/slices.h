// SPDX-License-Identifier: MIT
//
// slices.h - what a coroutine does to its loop: from one switch to the next nothing else runs on
// its thread. A slice that lasts is sampled from outside, and one line on it is written to
// slices.jsonl (spec/trace.md): rules CTP016 to 018.
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"
#include "engine/target/clock.h"

struct slices;

// As witness_new. NULL if out of memory.
struct slices *slices_new(const struct ctp_region *r, pid_t pid, FILE *out,
			  const struct witness_clock *clock);
void slices_free(struct slices *s);
// At every turn of the engine's loop: a few loads for each thread that lives. True: again soon.
bool slices_poll(struct slices *s, uint64_t now_ns);
// The final inspection: writes the slices under way as far as they got, and all counts.
void slices_final(struct slices *s);
