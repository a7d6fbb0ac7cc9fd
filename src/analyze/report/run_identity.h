// SPDX-License-Identifier: MIT
//
// run_identity.h - which run a report is of: the command, where and when it ran, and the trace's uuid.
// Times of a report count from the trace's start; here is what the clock on the wall said then.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "trace/world.h"

#define RUN_IDENTITY_UUID 37u
#define RUN_IDENTITY_LINES 3u
#define RUN_IDENTITY_TIME 40u

// Line i of the first lines of a report: its label ("run"), and the text in buf. NULL: nothing is known of
// it.
const char *run_identity_line(const struct world *w, unsigned i, char *buf, size_t bytes);
// "f81d4fae-7dec-41d0-8765-00a0c91e6bf6"; NULL: it is not known. buf holds it, if it is not the manifest's.
const char *run_identity_uuid(const struct world *w, char buf[RUN_IDENTITY_UUID]);
// The version of ctp that wrote the trace; NULL: it is not known.
const char *run_identity_version(const struct world *w);
// When the run began (RFC 3339, local with its offset); NULL: it is not known.
const char *run_identity_started(const struct world *w, char buf[RUN_IDENTITY_TIME]);
uint64_t run_identity_pid(const struct world *w); // 0: not known
// CLOCK_REALTIME at `ns` of the trace's clock; 0: not known.
uint64_t run_identity_wall_ns(const struct world *w, uint64_t ns);
// The time on the wall at `ns` of the trace's clock, where the run was: "2026-11-23T15:01:02.123456+01:00".
// NULL: it is not known.
const char *run_identity_wall(const struct world *w, uint64_t ns, char buf[RUN_IDENTITY_TIME]);
// The time of day alone, "15:01:02.123"; "" if it is not known.
const char *run_identity_clock(const struct world *w, uint64_t ns, char buf[RUN_IDENTITY_TIME]);
// Seconds that the run's local time was before UTC's.
int run_identity_offset(const struct world *w);
