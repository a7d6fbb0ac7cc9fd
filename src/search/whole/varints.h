// SPDX-License-Identifier: MIT
//
// varints.h - finds addresses that are kept in bytes of seven bits, the lowest first, each but the last with
// its upper bit set (LEB128; with a sign as in Protocol Buffers' zigzag, too): as they are, or as the
// distances of a log, whose first number is the address of something; in units of up to 16 bytes, and from a
// base of up to 1 MiB.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"

struct varints {
	const struct memory *memory;
	const struct span *targets; // sorted, disjoint: where the addresses may lie; above 4 GiB
	size_t ntargets;
	void (*hit)(void *ctx, uint64_t at, uint64_t address);
	void *ctx;
};

// Bytes that lie at `at`. MEMORY_WALK_BEHIND more bytes may be read behind them.
void varints_find(const struct varints *v, const unsigned char *bytes, size_t n, uint64_t at);
