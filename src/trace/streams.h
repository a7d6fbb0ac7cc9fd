// SPDX-License-Identifier: MIT
//
// streams.h - counts all streams of a trace directory.
#pragma once

#include "trace/changes.h"
#include "trace/history.h"
#include "trace/world.h"

// What the streams tell of entities.
struct past {
	struct changes v1;      // version-1 stations
	struct idmap v1_tids;   // of the threads that wrote to them
	struct history history; // all others, where there are no last tables
	uint64_t wrong;         // records that contradict an earlier one
};

// Finds and counts them. `history`: there are no last tables, so that one is needed. A stream that
// cannot be read is said in the coverage. 0 or -errno.
int streams_read(struct world *w, bool history, struct past *past);
// "is damaged at byte 4096: 1 packet left out, ...". False: it is not.
bool streams_damage(const struct world_stream *s, char *out, size_t bytes);
// How many threads made a record.
uint64_t streams_threads(const struct world *w);
void past_deinit(struct past *past);
