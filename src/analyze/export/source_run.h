// SPDX-License-Identifier: MIT
//
// source_run.h - which run a trace is of, as the tables tell it.
#pragma once

#include <stdint.h>

#include "analyze/report/run_identity.h"
#include "trace/world.h"

uint64_t source_started_ns(const struct world *w); // CLOCK_REALTIME at its start; 0: not known
// Of the program, hexadecimal; NULL: not known. buf holds it.
const char *source_build_id(const struct world *w, char buf[65]);
// The trace's own uuid, or one (version 8) that is made of what the trace says of itself, so that it is the
// same each time.
void source_uuid(const struct world *w, char buf[RUN_IDENTITY_UUID]);
// An id for traces.id: the day of its start, and bits of `seed`.
int64_t source_trace_id(const struct world *w, uint64_t seed);
uint64_t source_hash(uint64_t h, const void *bytes, size_t n);
