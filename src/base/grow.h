// SPDX-License-Identifier: MIT
//
// grow.h - growable arrays: the caller keeps a pointer, a count and a capacity.
#pragma once

#include <errno.h>
#include <stdlib.h>

// Makes room for one more element of `size` bytes in *items. 0 or -ENOMEM;
// on failure nothing has changed.
static inline int grow_by_one(void **items, size_t n, size_t *capacity, size_t size)
{
	if (n < *capacity)
		return 0;
	size_t want = *capacity ? *capacity * 2 : 8;
	void *p = reallocarray(*items, want, size);
	if (!p)
		return -ENOMEM;
	*items = p;
	*capacity = want;
	return 0;
}

#define GROW(items, n, capacity) grow_by_one((void **)&(items), (n), &(capacity), sizeof(*(items)))
