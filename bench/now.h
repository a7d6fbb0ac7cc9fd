// SPDX-License-Identifier: MIT
//
// now.h - for the bench's programs: the time by which they measure.
#pragma once

#include <time.h>

static inline double now_ns(void) // CLOCK_MONOTONIC
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
