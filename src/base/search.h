// SPDX-License-Identifier: MIT
//
// search.h - binary search.
#pragma once

#include <stddef.h>

// The first of 0..n-1 for which `below`, a condition on `i`, is false; n if there is none. All that satisfy
// it come first.
#define FIRST_NOT(n, i, below) \
	({ \
		size_t lo_ = 0, hi_ = (n); \
		while (lo_ < hi_) { \
			const size_t i = lo_ + (hi_ - lo_) / 2; \
			if (below) \
				lo_ = i + 1; \
			else \
				hi_ = i; \
		} \
		lo_; \
	})
