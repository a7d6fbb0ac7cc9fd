// SPDX-License-Identifier: MIT
//
// columns.h - finds addresses whose halves of 32 bits stand apart, in columns or fields of their own, in
// either order of bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"

struct columns {
	const struct memory *memory;
	const struct span *targets; // sorted, disjoint: where the addresses may lie; above 4 GiB
	size_t ntargets;
	void (*hit)(void *ctx, uint64_t at, uint64_t address);
	void *ctx;
};

// Bytes that lie at `at`.
void columns_find(const struct columns *c, const unsigned char *bytes, size_t n, uint64_t at);
