// SPDX-License-Identifier: MIT
//
// clock.h - the region's ticks as CLOCK_MONOTONIC.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// ns(t) = ns0 + (t - ticks0) * ns_per_tick, with `t` in the region's ticks.
struct witness_clock {
	bool tsc;
	uint64_t ticks0, ns0;
	double ns_per_tick;
};
