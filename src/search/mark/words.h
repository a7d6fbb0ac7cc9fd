// SPDX-License-Identifier: MIT
//
// words.h - words put aside until it is known what they mean.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word {
	uint64_t at, address;
};

struct words { // the caller frees v
	struct word *v;
	size_t n, room;
	bool failed; // some are missing
};

void words_add(struct words *w, uint64_t at, uint64_t address);
void words_sort(struct words *w); // by place
