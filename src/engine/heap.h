// SPDX-License-Identifier: MIT
//
// heap.h - which malloc'd block holds an address (glibc).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/look.h"

struct heap_query {
	uint64_t addr;
	bool found;
	struct span block; // [memory, next block's header)
};

// Answers as many as it can; the rest stay !found. Sorts the queries by address.
void heap_resolve(pid_t pid, const struct proc_maps *maps, struct heap_query *q, size_t n, uint64_t deadline_ns);
