// SPDX-License-Identifier: MIT
//
// span.h - address ranges of the target.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
