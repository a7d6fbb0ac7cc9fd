// SPDX-License-Identifier: MIT
//
// metrics_text.h - metrics as text: OpenMetrics 1.0, or Prometheus's older format, in which the name of a
// counter's family has _total.
#pragma once

#include <stdbool.h>

#include "engine/metrics/metrics_counts.h"
#include "engine/metrics/metrics_times.h"
#include "engine/record/harvest.h"

struct metrics_values {
	struct metrics_counts counts;
	struct harvest_sums sums;
	const struct metrics_times *times; // NULL: the history is not read (--flight)
	double cpu_s;                      // of the engine
	double last_switch_s;              // CLOCK_REALTIME; 0: none was seen
};

// A new string; NULL: no memory.
char *metrics_text(const struct metrics_values *v, bool open_metrics, size_t *bytes);
