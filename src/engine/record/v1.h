// SPDX-License-Identifier: MIT
//
// v1.h - looks for events of version-1 probes in the stations of a region.
#pragma once

#include "ctp/region.h"
#include "base/clock.h"
#include "engine/record/writer.h"

struct v1;
struct v1 *v1_new(const struct ctp_region *r, struct writer *w); // NULL: no memory
void v1_free(struct v1 *v);
// Looks at every station of a version-1 probe. True if there was news.
bool v1_turn(struct v1 *v, const struct clock_pairs *clock);
uint64_t v1_lost(const struct v1 *v); // overwritten before they were read
uint64_t v1_events(const struct v1 *v);
uint64_t v1_stations(const struct v1 *v);
uint64_t v1_unplaced(const struct v1 *v); // coroutines that asked for a station when none was left
