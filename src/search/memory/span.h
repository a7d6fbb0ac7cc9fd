// SPDX-License-Identifier: MIT
//
// span.h - address ranges of the target.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The bits of an address. Upper ones may carry a tag: only these are compared.
#define SPAN_ADDRESS_MASK ((1ULL << 48) - 1)

struct span {
	uint64_t lo, hi; // hi: the first address behind it
};

// A growing list; the caller frees v.
struct span_list {
	struct span *v;
	size_t n, room;
	bool failed; // out of memory: the list is not complete
};

// Adds [lo, hi), unless that is empty.
void span_add(struct span_list *s, uint64_t lo, uint64_t hi);
// Sorts spans, drops empty ones and joins those that overlap. Returns how many are left.
size_t spans_tidy(struct span *v, size_t n);
