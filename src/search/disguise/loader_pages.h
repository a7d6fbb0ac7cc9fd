// SPDX-License-Identifier: MIT
//
// loader_pages.h - where glibc's loader keeps what it allocates before the C library can: names, search paths
// and their lengths, the list of libraries. It takes whole pages from the kernel, which may adjoin anybody's
// static storage.
#pragma once

#include "search/memory/memory.h"
#include "search/memory/span.h"

#define LOADER_PAGES_MOST 32u

struct loader_pages {
	uint64_t page[LOADER_PAGES_MOST]; // addresses
	size_t n;
	bool known; // they have been looked for
};

bool loader_pages_has(struct loader_pages *p, const struct memory *m, uint64_t addr);

// Words of the loader's own static storage that hold where a page without a file begins. It keeps where it
// had mapped ld.so.cache, which it has unmapped long ago (glibc: _dl_unload_cache), and how far its own pages
// go: a stack may begin there since. The program keeps nothing there.
void loader_pages_stale(const struct memory *m, struct span_list *out);
