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

// Whether the chunk whose header lies at `at` is free and in one of the allocator's
// lists, or what is left at the heap's end: the allocator itself points to it.
bool heap_is_idle(pid_t pid, uint64_t at);
