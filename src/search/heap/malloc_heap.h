// SPDX-License-Identifier: MIT
//
// malloc_heap.h - the heaps of glibc's malloc: which block holds an address, and all
// of them, chunk by chunk.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"
#include "search/memory/span.h"

struct malloc_heap_query {
	uint64_t addr;
	bool found;
	struct span block; // [memory, next block's header)
};

// Answers as many as it can; the rest stay !found. Sorts the queries by address.
void malloc_heap_resolve(const struct memory *m, struct malloc_heap_query *q, size_t n);

// A chunk: a header of two words, the first of which is the previous chunk's, and
// the memory behind it, which ends a word within the next header.
struct malloc_heap_chunk {
	uint64_t at, size;
	bool idle;     // the next header says that it is not in use,
	uint64_t foot; // and what stands in the word that would then be its size
};

struct malloc_heap_visitor {
	void *ctx;
	void (*chunk)(void *ctx, const struct malloc_heap_chunk *c); // in order
	// A heap's chunks have been told; last: 0 if they were none after all. state:
	// where its arena's struct malloc_state lies, 0 the main arena's.
	void (*heap)(void *ctx, uint64_t state, uint64_t last, uint64_t end);
};

void malloc_heap_visit(const struct memory *m, const struct malloc_heap_visitor *v);

// Whether the chunk whose header lies at `at` is free and in one of the allocator's
// lists, or what is left at the heap's end: the allocator itself points to it.
bool malloc_heap_is_idle(const struct memory *m, uint64_t at);
// Whether the heads of these lists may lie at `at`: libc's data, the start of a thread's arena.
bool malloc_heap_has_list_head(const struct memory *m, uint64_t at);
