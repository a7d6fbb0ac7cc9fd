// SPDX-License-Identifier: MIT
//
// Calls that release a stack (free, munmap, dlclose) or wipe it (madvise, a mapping over it),
// and mmap, which tells to which allocation a stack belongs (blocks.c). glibc keeps a chunk's
// size in the word before it. A chunk too small for a stack or a ucontext_t holds no
// coroutine, so nearly every free is decided by one load that free itself is about to make.
// With another allocator only an exact stack base is recognized.
#include <link.h>
#include <sys/mman.h>

#include "preload/coroutine/blocks.h"
#include "preload/coroutine/coroutine.h"
#include "cpu.h"
#include "preload/coroutine/stack_index.h"
#include "preload/guest/events.h"
#include "preload/guest/real.h"
#include "preload/coroutine/stacks.h"

// Pages of [lo, hi) read as zeros from now on.
static void wiped(struct thread_ctx *g, uint64_t lo, uint64_t hi, const struct frame *by)
{
	if (coroutine_any())
		coroutine_wiped(g, lo, hi, by);
}

static void mapped(void *p, size_t n, bool chosen, int prot, int flags, const struct frame *by)
{
	enum { OVER = MAP_FIXED | MAP_ANONYMOUS };
	struct thread_ctx *g;
	uint64_t lo = (uint64_t)p;
	if (p == MAP_FAILED || !ctp_tracer->attached || !(g = guest_enter()))
		return;
	if (!chosen)
		blocks_forget(lo, lo + n); // ended unseen
	if (!chosen && (flags & MAP_ANONYMOUS))
		blocks_note(lo, n);
	if (chosen)
		blocks_guard(lo, lo + n, prot == PROT_NONE);
	if (chosen && (flags & OVER) == OVER)
		wiped(g, lo, lo + n, by);
	guest_leave(g);
}

CTP_HOOK void *mmap(void *addr, size_t n, int prot, int flags, int fd, off_t off)
{
	struct frame f;
	void *p = real_mmap(addr, n, prot, flags, fd, off);
	CPU_CALLER(&f);
	mapped(p, n, addr != NULL, prot, flags, &f);
	return p;
}

CTP_HOOK void *mmap64(void *addr, size_t n, int prot, int flags, int fd, off64_t off)
{
	struct frame f;
	void *p = real_mmap64(addr, n, prot, flags, fd, off);
	CPU_CALLER(&f);
	mapped(p, n, addr != NULL, prot, flags, &f);
	return p;
}

CTP_HOOK int munmap(void *addr, size_t n)
{
	struct thread_ctx *g;
	struct frame f;
	if (n && ctp_tracer->attached && (g = guest_enter())) {
		CPU_CALLER(&f);
		blocks_forget((uint64_t)addr, (uint64_t)addr + n);
		if (coroutine_any())
			coroutine_released(g, (uint64_t)addr, (uint64_t)addr + n, false, &f);
		guest_leave(g);
	}
	return real_munmap(addr, n);
}

CTP_HOOK int mprotect(void *addr, size_t n, int prot)
{
	int r = real_mprotect(addr, n, prot);
	struct thread_ctx *g;
	if (r || !n || !ctp_tracer->attached || !(g = guest_enter()))
		return r;
	blocks_guard((uint64_t)addr, (uint64_t)addr + n, prot == PROT_NONE);
	guest_leave(g);
	return r;
}

CTP_HOOK int madvise(void *addr, size_t n, int advice)
{
	int r = real_madvise(addr, n, advice);
	bool wipes = advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE;
	struct thread_ctx *g;
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
	struct thread_ctx *g = guest_enter();
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

static __attribute__((noinline)) void free_looked_into(void *p)
{
	uint64_t lo = (uint64_t)p;
	if (ctp_tracer->chunk_least != CHUNK_UNKNOWN && stack_index_clear(lo, lo + chunk_bytes(p)))
		real_free(p);
	else
		free_stack(p);
}

static __attribute__((noinline)) void free_looked_at(void *p)
{
	uint64_t lo = (uint64_t)p;
	if (!ctp_tracer->attached || !coroutine_any() ||
	    (ctp_tracer->chunk_least != CHUNK_UNKNOWN && stack_index_far(lo, lo + chunk_bytes(p))))
		real_free(p);
	else
		free_looked_into(p);
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

static int first_subs(struct dl_phdr_info *info, size_t bytes, void *subs)
{
	(void)bytes;
	*(unsigned long long *)subs = info->dlpi_subs;
	return 1;
}

// How many objects were ever unloaded.
static unsigned long long unloaded(void)
{
	unsigned long long subs = 0;
	dl_iterate_phdr(first_subs, &subs);
	return subs;
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
	unsigned long long before = unloaded();
	int r = real_dlclose(handle);
	library_range(in, &still, &end);
	if (lo && still == lo && unloaded() == before)
		return r; // others still use it, and so all that it needs
	real_resolve_again();
	if (ctp_tracer->attached)
		events_closed();
	struct thread_ctx *g = guest_enter();
	if (g) {
		if (lo && coroutine_any())
			coroutine_released(g, lo, hi, false, NULL);
		stacks_flush();
		ctp_add64(&ctp_tracer->region.ext->dlcloses, 1);
		guest_leave(g);
	}
	return r;
}
