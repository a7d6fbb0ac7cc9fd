// SPDX-License-Identifier: MIT
//
// number_rows.h - finds addresses that are written out in parts, with something between: bytes ("%e0%a4",
// "e0:a4", "\xe0\xa4", "[224,164]"), groups of 16 bits (an IPv6 address, a UUID), two halves, a digit each
// (as UTF-16 has them), thousands.
//
// All digits of an address must be there, so that chance does not count.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/memory/span.h"

struct number_rows {
	const struct span *targets; // sorted, disjoint: where the addresses may lie; above 4 GiB
	size_t ntargets;
	void (*hit)(void *ctx, uint64_t at, uint64_t address);
	void *ctx;
};

void number_rows_find(const struct number_rows *r, const unsigned char *bytes, size_t n, uint64_t at);
