// SPDX-License-Identifier: MIT
//
// window.h - reads memory piece by piece for those who go through it in the order of addresses.
#pragma once

#include "search/memory/memory.h"

enum { WINDOW_BYTES = 1 << 17 };

struct window {
	const struct memory *memory;
	uint64_t at;
	size_t have;
	unsigned char *bytes;
};

bool window_init(struct window *w, const struct memory *m); // false: no memory
void window_deinit(struct window *w);
// False: it cannot be read.
bool window_read(struct window *w, uint64_t at, void *to, size_t bytes);
bool window_word(struct window *w, uint64_t at, uint64_t *to);
