// SPDX-License-Identifier: MIT
//
// liveness.h - will a function still use what it keeps in a register that called functions preserve?
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct liveness_code { // a function, or the part of one that the compiler put elsewhere
	uint64_t lo;
	const uint8_t *bytes;
	size_t n;
	const uint64_t *pads; // where an exception that a called function throws may go on
	size_t npads;
};

struct liveness_reader {
	void *ctx;
	const struct liveness_code *(*at)(void *ctx, uint64_t addr); // NULL: not known
};

// On every way on from `at`, behind a call, is register `number` (as instructions number it) overwritten
// before it is used? False if that is not known.
bool liveness_is_dead(const struct liveness_reader *r, uint64_t at, unsigned number);
