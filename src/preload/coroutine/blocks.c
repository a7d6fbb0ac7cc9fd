// SPDX-License-Identifier: MIT
//
// The program's own mappings, so that memory beside a stack in the same mapping counts as part
// of its allocation; and the least size of a freed chunk that can be a stack.
#include "preload/coroutine/blocks.h"

#include <dlfcn.h>
#include <link.h>
#include <ucontext.h>

#include "preload/guest/real.h"

enum { GUARDS = 1 << 16, PAGE = 4096 };
enum { BLOCKS = 1 << 16, NEAR = 32, LARGE = 1024 };
enum { CHUNK_LEAST = CHUNK_HEAD + sizeof(ucontext_t) };
_Static_assert(CHUNK_LEAST % 8 == 0, "below it are flags");

// Records of the allocations by mmap: exact, or larger than what is left of
// one, never smaller. Addresses that the program chose itself make no record:
// it may put many such pieces together into one pool, and find them by number.
struct block {
	uint64_t lo, bytes;
};
static struct block *blocks;           // by page number of lo, the newest wins
static struct block *large;            // those that reach further than NEAR pages, again
static uint64_t larges;                // slots of it ever used
static uint32_t any[BLOCKS / NEAR];    // whether one was ever noted in NEAR pages
static uint64_t *guards;               // page numbers of guard pages, by their low bits
static uint32_t any_guard, lost_guard; // whether there is one; whether one found no place

int blocks_init(void)
{
	void *libc_malloc = dlsym(RTLD_NEXT, "malloc"), *any_malloc = dlsym(RTLD_DEFAULT, "malloc");
	struct dl_find_object a, b;
	bool glibc = libc_malloc == any_malloc && !_dl_find_object(libc_malloc, &a) &&
		     !_dl_find_object(dlsym(RTLD_NEXT, "makecontext"), &b) &&
		     a.dlfo_link_map == b.dlfo_link_map;
	ctp_tracer->chunk_least = ctp_tracer->no_free ? 0 : glibc ? CHUNK_LEAST : CHUNK_UNKNOWN;
	blocks = memory_take(sizeof(*blocks) * (BLOCKS + LARGE));
	large = blocks ? blocks + BLOCKS : NULL;
	guards = memory_take(sizeof(*guards) * GUARDS);
	return blocks && guards ? 0 : -1;
}

static struct block *block_of(uint64_t page)
{
	return &blocks[page & (BLOCKS - 1)];
}

static bool holds(const struct block *b, uint64_t lo, uint64_t hi)
{
	return b->bytes && b->lo <= lo && hi <= b->lo + b->bytes;
}

static inline uint32_t *any_of(uint64_t page)
{
	return &any[(page & (BLOCKS - 1)) / NEAR];
}

bool blocks_find(uint64_t lo, uint64_t hi, uint64_t *block_lo, uint64_t *block_hi)
{
	const struct block *found = NULL;
	uint64_t page = lo >> 12, near = *any_of(page) | *any_of(page - NEAR + 1) ? NEAR : 0;
	for (uint64_t i = 0; i < near && !found; i++, page--) {
		const struct block *b = block_of(page);
		if (b->lo >> 12 == page && holds(b, lo, hi))
			found = b;
	}
	uint64_t n = ctp_load64(&larges);
	for (uint64_t i = 0; i < n && i < LARGE && !found; i++)
		if (holds(&large[i], lo, hi))
			found = &large[i];
	if (!found)
		return false;
	struct block b = *found;
	*block_lo = b.lo;
	*block_hi = b.lo + b.bytes;
	return holds(&b, lo, hi);
}

static void forget(struct block *b, uint64_t lo, uint64_t hi)
{
	if (b->lo >= lo && b->lo < hi)
		*b = (struct block){0, 0};
}

void blocks_guard(uint64_t lo, uint64_t hi, bool is)
{
	uint64_t first = lo / PAGE, end = (hi + PAGE - 1) / PAGE;
	if (!is && !ctp_load32(&any_guard))
		return;
	if (is) // only where a stack may end matters
		ctp_store32(&any_guard, 1);
	for (uint64_t page = first; page < end && page - first < GUARDS; page++) {
		uint64_t *g = &guards[page % GUARDS];
		if (is && (page == first || page == end - 1)) {
			uint64_t was = ctp_load64(g);
			if (was && was != page)
				ctp_store32(&lost_guard, 1);
			ctp_store64(g, page);
		} else if (ctp_load64(g) == page)
			ctp_store64(g, 0);
	}
}

static bool is_guard(uint64_t page)
{
	return ctp_load64(&guards[page % GUARDS]) == page;
}

bool blocks_stack(uint64_t top, uint64_t *lo)
{
	uint64_t block_lo, block_hi, page = (top - 8) / PAGE;
	if (ctp_load32(&lost_guard) || !blocks_find(top - 8, top, &block_lo, &block_hi) || is_guard(page))
		return false;
	if ((page + 1) * PAGE < block_hi && !is_guard(page + 1))
		return false;
	while (page * PAGE > block_lo && !is_guard(page - 1))
		page--;
	*lo = page * PAGE > block_lo ? page * PAGE : block_lo;
	return true;
}

void blocks_forget(uint64_t lo, uint64_t hi)
{
	blocks_guard(lo, hi, false);
	uint64_t pages = (hi - lo + 4095) >> 12, n = ctp_load64(&larges);
	for (uint64_t i = 0; i < pages && i < BLOCKS; i++)
		forget(pages < BLOCKS ? block_of((lo >> 12) + i) : &blocks[i], lo, hi);
	for (uint64_t i = 0; i < n && i < LARGE; i++)
		forget(&large[i], lo, hi);
}

static void remember_large(struct block b)
{
	uint64_t n = ctp_load64(&larges);
	for (uint64_t i = 0; i < n && i < LARGE; i++)
		if (!large[i].bytes &&
		    ctp_cas64(&large[i].bytes, 0, 1)) { // taken: too small to hold anything
			large[i].lo = b.lo;
			ctp_store64(&large[i].bytes, b.bytes);
			return;
		}
	n = n < LARGE ? ctp_add64(&larges, 1) : LARGE;
	if (n >= LARGE)
		return; // what lies far from its start is then not known
	large[n].lo = b.lo;
	ctp_store64(&large[n].bytes, b.bytes);
}

void blocks_note(uint64_t lo, uint64_t bytes)
{
	struct block b = {lo, bytes};
	*block_of(lo >> 12) = b;
	*any_of(lo >> 12) = 1;
	if (bytes > (uint64_t)NEAR << 12)
		remember_large(b);
}
