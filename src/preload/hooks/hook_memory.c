// SPDX-License-Identifier: MIT
//
// What gives a stack back: free and munmap (and mmap, to know which allocation
// a stack is part of), or wipes it: madvise, and a mapping put over it. glibc keeps a chunk's size in the word before it: a chunk
// too small for a stack or a ucontext_t is none of ours, and that settles nearly
// every free with one load that free itself is about to make. With another
// allocator only an exact stack base is recognized.
#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "preload/coroutine/blocks.h"
#include "preload/coroutine/coroutine.h"
#include "cpu.h"
#include "preload/coroutine/stack_index.h"
#include "preload/guest/real.h"
#include "preload/coroutine/stacks.h"

enum { CHUNK_HEAD = 16, BLOCKS = 1 << 16, NEAR = 32, LARGE = 1024 };
enum { CHUNK_LEAST = CHUNK_HEAD + sizeof(ucontext_t), CHUNK_UNKNOWN = 1 }; // tracer.chunk_least
_Static_assert(CHUNK_LEAST % 8 == 0, "below it are flags");

// Records of the allocations by mmap: exact, or larger than what is left of
// one, never smaller. Addresses that the program chose itself make no record:
// it may put many such pieces together into one pool, and find them by number.
struct block {
	uint64_t lo, bytes;
};
static struct block *blocks; // by page number of lo, the newest wins
static struct block *large;  // those that reach further than NEAR pages, again
static uint64_t larges;      // slots of it ever used
static uint32_t any[BLOCKS / NEAR]; // whether one was ever noted in NEAR pages

int blocks_init(void)
{
	void *libc_malloc = dlsym(RTLD_NEXT, "malloc"), *any_malloc = dlsym(RTLD_DEFAULT, "malloc");
	struct dl_find_object a, b;
	bool glibc = libc_malloc == any_malloc && !_dl_find_object(libc_malloc, &a) &&
		     !_dl_find_object(dlsym(RTLD_NEXT, "makecontext"), &b) && a.dlfo_link_map == b.dlfo_link_map;
	ctp_tracer->chunk_least = ctp_tracer->no_free ? 0 : glibc ? CHUNK_LEAST : CHUNK_UNKNOWN;
	blocks = memory_take(sizeof(*blocks) * (BLOCKS + LARGE));
	large = blocks ? blocks + BLOCKS : NULL;
	return blocks ? 0 : -1;
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

// What began in [lo, hi) is no more.
static void forget_range(uint64_t lo, uint64_t hi)
{
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
		if (!large[i].bytes && ctp_cas64(&large[i].bytes, 0, 1)) { // taken: too small to hold anything
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

// Pages of [lo, hi) read as zeros from now on.
static void wiped(struct guest *g, uint64_t lo, uint64_t hi, const struct frame *by)
{
	if (coroutine_any())
		coroutine_wiped(g, lo, hi, by);
}

static void mapped(void *p, size_t n, bool chosen, int flags, const struct frame *by)
{
	enum { OVER = MAP_FIXED | MAP_ANONYMOUS };
	struct guest *g;
	uint64_t lo = (uint64_t)p;
	if (p == MAP_FAILED || !ctp_tracer->attached || !(g = guest_enter()))
		return;
	if (!chosen)
		forget_range(lo, lo + n); // ended unseen
	if (!chosen && (flags & MAP_ANONYMOUS)) {
		struct block b = {lo, n};
		*block_of(lo >> 12) = b;
		*any_of(lo >> 12) = 1;
		if (n > (uint64_t)NEAR << 12)
			remember_large(b);
	}
	if (chosen && (flags & OVER) == OVER)
		wiped(g, lo, lo + n, by);
	guest_leave(g);
}

CTP_HOOK void *mmap(void *addr, size_t n, int prot, int flags, int fd, off_t off)
{
	struct frame f;
	void *p = real_mmap(addr, n, prot, flags, fd, off);
	CPU_CALLER(&f);
	mapped(p, n, addr != NULL, flags, &f);
	return p;
}

CTP_HOOK void *mmap64(void *addr, size_t n, int prot, int flags, int fd, off64_t off)
{
	struct frame f;
	void *p = real_mmap64(addr, n, prot, flags, fd, off);
	CPU_CALLER(&f);
	mapped(p, n, addr != NULL, flags, &f);
	return p;
}

CTP_HOOK int munmap(void *addr, size_t n)
{
	struct guest *g;
	struct frame f;
	if (n && ctp_tracer->attached && (g = guest_enter())) {
		CPU_CALLER(&f);
		forget_range((uint64_t)addr, (uint64_t)addr + n);
		if (coroutine_any())
			coroutine_released(g, (uint64_t)addr, (uint64_t)addr + n, false, &f);
		guest_leave(g);
	}
	return real_munmap(addr, n);
}

CTP_HOOK int madvise(void *addr, size_t n, int advice)
{
	int r = real_madvise(addr, n, advice);
	bool wipes = advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE;
	struct guest *g;
	struct frame f;
	if (r || !n || !wipes || !ctp_tracer->attached || !(g = guest_enter()))
		return r;
	CPU_CALLER(&f);
	wiped(g, (uint64_t)addr, (uint64_t)addr + n, &f);
	guest_leave(g);
	return r;
}

static inline uint64_t chunk_bytes(const void *p)
{
	return (((const uint64_t *)p)[-1] & ~7ULL) - CHUNK_HEAD;
}

static void freed(uint64_t lo, const struct frame *f)
{
	struct guest *g = guest_enter();
	if (!g)
		return;
	if (ctp_tracer->chunk_least == CHUNK_UNKNOWN) {
		struct ctp_state *s = stack_index_stack(lo);
		if (s && s->lo == lo)
			coroutine_released(g, lo, s->hi, false, f);
	} else {
		coroutine_released(g, lo, lo + chunk_bytes((void *)lo), true, f);
	}
	guest_leave(g);
}

// These two are jumped to, so that it is the hook's caller who calls them, too.
static __attribute__((noinline)) void free_stack(void *p)
{
	struct frame f;
	CPU_CALLER(&f);
	freed((uint64_t)p, &f);
	real_free(p);
}

static __attribute__((noinline)) void free_looked_at(void *p)
{
	uint64_t lo = (uint64_t)p;
	if (!ctp_tracer->attached || !coroutine_any() ||
	    (ctp_tracer->chunk_least != CHUNK_UNKNOWN && stack_index_clear(lo, lo + chunk_bytes(p))))
		real_free(p);
	else
		free_stack(p);
}

CTP_HOOK void free(void *p)
{
	uint64_t least = ctp_tracer->chunk_least;
	if (CTP_UNLIKELY(p && (least > CHUNK_UNKNOWN ? ((const uint64_t *)p)[-1] >= least : least)))
		free_looked_at(p);
	else
		real_free(p);
}

// Where a library lies; [0, 0) if nowhere.
static void library_range(const void *in, uint64_t *lo, uint64_t *hi)
{
	struct dl_find_object o;
	bool found = in && _dl_find_object((void *)in, &o) == 0;
	*lo = found ? (uint64_t)o.dlfo_map_start : 0;
	*hi = found ? (uint64_t)o.dlfo_map_end : 0;
}

// The loader unmaps by itself: stacks that lay in a library's data go with it.
CTP_HOOK int dlclose(void *handle)
{
	struct link_map *m = NULL;
	uint64_t lo, hi, still, end;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &m))
		m = NULL;
	const void *in = m ? m->l_ld : NULL;
	library_range(in, &lo, &hi);
	int r = real_dlclose(handle);
	real_resolve_again();
	library_range(in, &still, &end);
	struct guest *g = guest_enter();
	if (g) {
		if (lo && still != lo && coroutine_any())
			coroutine_released(g, lo, hi, false, NULL);
		stacks_flush();
		ctp_add64(&ctp_tracer->region.ext->dlcloses, 1);
		guest_leave(g);
	}
	return r;
}
