// SPDX-License-Identifier: MIT
//
// match.h - known bodies of switch functions in a piece of code.
#pragma once

#include <stddef.h>

#include "preload/guest/switcher.h"

struct match {
	const struct switcher_row *row;
	uint8_t *at;
	bool broken; // but for a breakpoint in it, it would be the body
};

// The bodies in [lo, hi), at most `most`: their number. Their order is that of the addresses,
// but those that set no stack pointer follow the one near which they were found.
size_t match_all(uint8_t *lo, uint8_t *hi, struct match *out, size_t most);

// The same, where `bytes` of it, which lie at `at`, are looked through in a copy; n of them are known. How
// many there are then. What lies less than 18 bytes before the copy's end may be passed over.
size_t match_copy(const uint8_t *copy, size_t bytes, uint8_t *at, uint8_t *lo, uint8_t *hi, struct match *out,
		  size_t n, size_t most);

// Whether code in [lo, hi) calls or jumps to `target` by its address.
bool match_calls(const uint8_t *lo, const uint8_t *hi, const uint8_t *target);

// The row of the body that begins at `at` and ends before `hi`; NULL: it is none.
const struct switcher_row *match_at(const uint8_t *at, const uint8_t *hi);

// Is it this row's body?
bool match_is(const struct switcher_row *r, const uint8_t *at, const uint8_t *hi);

extern const struct switcher_row match_rows[];
extern const size_t match_rows_count;
