// SPDX-License-Identifier: MIT
//
// metrics_times.h - how long coroutines ran before they left, and how long it took from an event for one
// until it went on: histograms, from the records as they are taken out of the rings.
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "engine/record/writer.h"

#define METRICS_BUCKETS 13u // 1 us, 4 us ... 16.8 s, and above

struct metrics_histogram {
	uint64_t buckets[METRICS_BUCKETS + 1]; // each by itself; the last: above all bounds
	uint64_t n;
	double sum_s;
};

struct metrics_times;

// *clock must outlive it. NULL: no memory.
struct metrics_times *metrics_times_new(const struct clock_pairs *clock);
void metrics_times_free(struct metrics_times *t);
void metrics_times_take(void *times, const struct writer_batch *b); // as harvest.seen
const struct metrics_histogram *metrics_times_slices(const struct metrics_times *t);
const struct metrics_histogram *metrics_times_latencies(const struct metrics_times *t);
double metrics_bound_s(unsigned bucket); // its upper bound
