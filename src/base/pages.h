// SPDX-License-Identifier: MIT
//
// pages.h - tables that are large and mostly stay empty: zeroed memory of which a page costs nothing until it
// is touched. (calloc writes all that it gives out of less than 128 KiB, so all pages of it are touched.)
#pragma once

#include <stddef.h>
#include <sys/mman.h>

// NULL: no memory.
static inline void *pages_take(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

// p may be NULL.
static inline void pages_give(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}
