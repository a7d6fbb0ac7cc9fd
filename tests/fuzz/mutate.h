// SPDX-License-Identifier: MIT
//
// mutate.h - inputs made of others.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mutate_input {
	const unsigned char *data;
	size_t bytes;
};

// Makes input number `n` of these in `out`, which has FUZZ_MOST bytes: always the same of the same. Its bytes.
size_t mutate(unsigned char *out, const struct mutate_input *seeds, size_t nseeds, uint64_t n);
