// SPDX-License-Identifier: MIT
//
// Which pages were touched. Since Linux 6.7 the kernel tells them as spans, however much lies between;
// before, there is an entry for each page, touched or not, and a program may have reserved a thousand times
// what it uses.
#include "search/memory/memory.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/corefile.h"

enum { PAGE = 4096, BATCH = 512 };
#define AT_ONCE (8ULL << 30) // so far the kernel may go before it is asked whether there is time

// Of <linux/fs.h>, which may be older than the kernel.
struct page_region {
	uint64_t start, end, categories;
};
struct pm_scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
		category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
enum { PAGE_IS_FILE = 1 << 2, PAGE_IS_PRESENT = 1 << 3, PAGE_IS_SWAPPED = 1 << 4 };

// False where the kernel does not know the call.
static bool by_spans(const struct memory *m, struct memory_pages *p, uint64_t lo, uint64_t hi, bool own)
{
	struct page_region regions[MEMORY_PAGES];
	struct pm_scan_arg arg = {.size = sizeof(arg),
				  .start = lo,
				  .end = hi - lo < AT_ONCE ? hi : lo + AT_ONCE,
				  .vec = (uintptr_t)regions,
				  .vec_len = MEMORY_PAGES,
				  .category_inverted = own ? PAGE_IS_FILE : 0,
				  .category_mask = own ? PAGE_IS_FILE : 0,
				  .category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED};
	int n = ioctl(m->page_map, PAGEMAP_SCAN, &arg);
	if (n < 0 || n > MEMORY_PAGES || arg.walk_end <= lo || arg.walk_end > arg.end)
		return false;
	p->n = (size_t)n;
	p->end = arg.walk_end;
	for (size_t i = 0; i < p->n; i++)
		p->v[i] = (struct span){regions[i].start, regions[i].end};
	return true;
}

static void by_entries(const struct memory *m, struct memory_pages *p, uint64_t lo, uint64_t hi, bool own)
{
	uint64_t entries[BATCH], n = (hi - lo) / PAGE < BATCH ? (hi - lo) / PAGE : BATCH;
	size_t got = memory_page_entries(m, lo / PAGE, entries, n);
	*p = (struct memory_pages){.end = lo};
	for (size_t i = 0; i < got; i++, p->end += PAGE) {
		bool touched = entries[i] & (MEMORY_PRESENT | MEMORY_SWAPPED);
		if (!touched || (own && entries[i] & MEMORY_FILE))
			continue;
		if (p->n && p->v[p->n - 1].hi == p->end)
			p->v[p->n - 1].hi += PAGE;
		else if (p->n < MEMORY_PAGES)
			p->v[p->n++] = (struct span){p->end, p->end + PAGE};
		else
			return;
	}
}

bool memory_touched(const struct memory *m, struct memory_pages *p, uint64_t lo, uint64_t hi, bool own)
{
	if (m->core || m->page_map < 0 || !by_spans(m, p, lo, hi, own))
		by_entries(m, p, lo, hi, own);
	return p->end > lo;
}
