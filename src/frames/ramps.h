// SPDX-License-Identifier: MIT
//
// ramps.h - objects that some code makes, and that begin with the addresses of two functions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAMPS_ZEROS = 16 };

struct ramps_object {
	uint64_t first, second;      // functions
	uint32_t zeros[RAMPS_ZEROS]; // offsets of bytes that are set to zero
	size_t nzeros;
};

struct ramps {
	bool (*is_function)(void *ctx, uint64_t at);
	int (*found)(void *ctx, const struct ramps_object *o); // another answer than 0 ends it
	void *ctx;
};

// All of a function's code, whose addresses are `at` and on. 0, or what `found` says.
int ramps_read(const struct ramps *r, const uint8_t *code, size_t bytes, uint64_t at);
