// SPDX-License-Identifier: MIT
//
// profile_own.h - what the files of a profile share: profile.c keeps its sites and sums, profile_walk.c adds
// what has ended, profile_end.c what goes on at the snapshot.
#pragma once

#include "analyze/history/profile.h"
#include "trace/transitions.h"

// The site of a coroutine's stack, or of one of its other parts, without weights.
struct profile_site profile_about(const struct profile *p, const struct image *m,
				  const struct ctp_merge_entity *e, enum profile_part part, uint32_t stack,
				  uint64_t pc);
void profile_add(struct profile *p, const struct profile_site *is, enum profile_weight weight, uint64_t n);
// A wait that goes on at the snapshot. Such waits would outweigh all that ended.
void profile_add_unended(struct profile *p, const struct profile_site *is, uint64_t n);
// Up to when it counts: the snapshot of the image.
uint64_t profile_until(const struct profile *p, const struct image *m);
// From `from` to `to`, or to `end`, if that is earlier.
uint64_t profile_passed(uint64_t from, uint64_t to, uint64_t end);
// What is known of the loop `by`, anew if need be. NULL without memory.
struct profile_loop *profile_loop_of(struct profile *p, uint64_t by);
// The loop took an event at ns, or had slept.
void profile_turned(struct profile *p, uint64_t by, uint64_t ns);

int profile_take(void *arg, const struct transition *m);  // of transitions_walk_all
void profile_left(void *arg, struct ctp_merge_entity *e); // the same
void profile_turned_last(struct profile *p,
			 const struct image *m);                   // before: loops that sleep at the snapshot
void profile_at_the_end(struct profile *p, const struct image *m); // afterwards
void profile_count_lost(struct profile *p); // switches that the tables know of and the history does not
