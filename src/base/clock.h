// SPDX-License-Identifier: MIT
//
// clock.h - ticks and nanoseconds: the raw TSC where the kernel keeps time by it, else
// CLOCK_MONOTONIC.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clock_pairs {
	bool tsc;
	uint64_t ticks0, ns0; // from the start
	uint64_t ticks1, ns1; // from clock_again
	uint64_t real0;       // CLOCK_REALTIME ns of the first pair
	double ns_per_tick;
};

// Reads the first pair. There is no rate yet: clock_again waits until the two are far enough apart for one.
void clock_init(struct clock_pairs *c);
// Takes over a first pair that somebody else read, and takes the second.
void clock_adopt(struct clock_pairs *c, bool tsc, uint64_t ticks0, uint64_t ns0);
// Takes the second pair anew: the longer after the first, the better the rate.
void clock_again(struct clock_pairs *c);
uint64_t clock_ticks(const struct clock_pairs *c); // now
uint64_t clock_mono_ns(void);
uint64_t clock_cpu_ns(void); // that this thread has used
uint64_t clock_to_ns(const struct clock_pairs *c, uint64_t ticks);
uint64_t clock_to_ticks(const struct clock_pairs *c, uint64_t ns);
double clock_hz(const struct clock_pairs *c);
