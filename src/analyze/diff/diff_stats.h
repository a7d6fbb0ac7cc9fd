// SPDX-License-Identifier: MIT
//
// diff_stats.h - do two histograms differ by more than chance, and by more than a little?
#pragma once

#include "analyze/history/profile.h"

#define DIFF_LEAST 20       // fewer on a side are not compared
#define DIFF_LEAST_P99 1000 // nor is p99 then

// About the value below which `part` of it lies; 0 if it is empty.
double diff_stats_quantile(const struct profile_histogram *h, double part);
double diff_stats_mean(const struct profile_histogram *h);
void diff_stats_add(struct profile_histogram *to, const struct profile_histogram *more);

enum diff_change { DIFF_FEW, DIFF_SAME, DIFF_SLOWER, DIFF_FASTER };
// Also: by how much, as the ratio of what shows it most (> 1: slower).
enum diff_change diff_stats_compare(const struct profile_histogram *old, const struct profile_histogram *now,
				    double *ratio);
#define DIFF_RULE \
	"shown where the distributions differ by more than chance (p < 0.001), and the median or the mean by half " \
	"or more, or p99 twofold"
