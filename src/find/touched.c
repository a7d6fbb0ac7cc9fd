// SPDX-License-Identifier: MIT
//
// The page map of one mapping at a time.
#include "find/touched.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, PAGES_MOST = 1 << 23, CHUNK = 1 << 20 };

// In a core a page that was never touched reads as zeros.
static void read_core(struct touched *t, const struct image *im, size_t pages)
{
	static const char zeros[PAGE];
	char *bytes = malloc(CHUNK);
	for (size_t at = 0; bytes && at < pages; at += CHUNK / PAGE) {
		size_t n = pages - at < CHUNK / PAGE ? pages - at : CHUNK / PAGE;
		size_t got = image_peek(im, t->map->lo + at * PAGE, bytes, n * PAGE) / PAGE;
		for (size_t i = 0; i < n; i++)
			t->entries[at + i] =
				i < got && memcmp(bytes + i * PAGE, zeros, PAGE) ? MEMORY_PRESENT : 0;
	}
	t->n = bytes ? pages : 0;
	free(bytes);
}

static void read_map(struct touched *t, const struct image *im, const struct maps_line *m)
{
	size_t pages = (m->hi - m->lo) / PAGE;
	free(t->entries);
	*t = (struct touched){.map = m};
	if (pages > PAGES_MOST)
		return;
	t->entries = malloc(pages * sizeof(*t->entries) + 1);
	if (t->entries && im->memory.core)
		read_core(t, im, pages);
	else if (t->entries && memory_page_entries(&im->memory, m->lo / PAGE, t->entries, pages) == pages)
		t->n = pages;
}

static bool is_touched(const struct touched *t, size_t page)
{
	return t->entries[page] & (MEMORY_PRESENT | MEMORY_SWAPPED);
}

struct span touched_run(struct touched *t, const struct image *im, uint64_t addr)
{
	const struct maps_line *m = image_map(im, addr);
	if (!m)
		return (struct span){0, 0};
	if (m != t->map)
		read_map(t, im, m);
	if (!t->n)
		return (struct span){m->lo, m->hi};
	size_t lo = (addr - m->lo) / PAGE, hi = lo;
	if (addr >= t->pages.lo && addr < t->pages.hi)
		return t->run;
	while (lo > 0 && is_touched(t, lo - 1))
		lo--;
	size_t from = lo;
	while (lo > 0 && !is_touched(t, lo - 1))
		lo--;
	while (hi < t->n && is_touched(t, hi))
		hi++;
	t->pages = (struct span){m->lo + from * PAGE, m->lo + hi * PAGE};
	t->run = (struct span){m->lo + lo * PAGE, m->lo + hi * PAGE};
	return t->run;
}

void touched_deinit(struct touched *t)
{
	free(t->entries);
	*t = (struct touched){0};
}
