// SPDX-License-Identifier: MIT
//
// Objects are the blocks of glibc's malloc that are in use, and the live parts of the stacks of
// coroutines that are suspended. All other writable memory is a root, but for what is dead: what lies
// below the stack pointer of a thread that sleeps, and the array that epoll_wait will fill. A heap
// that does not prove itself is a root as a whole.
#include "find/lost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "base/file.h"
#include "base/grow.h"
#include "find/marker.h"
#include "find/registers.h"
#include "search/heap/malloc_heap.h"
#include "search/mark/scan.h"
#include "search/stacks/thread_stack.h"

enum { EVENT_BYTES = 12, EVENTS_MOST = 1 << 20, PAGE = 4096, LOADER_MOST = 1 << 15 };
#define HEAP_MOST (4ULL << 30)

// ---------------------------------------------------------------------- objects

static void on_chunk(void *ctx, const struct malloc_heap_chunk *x)
{
	struct marker *m = ctx;
	if (GROW(m->blocks, m->nblocks, m->blocks_capacity))
		m->failed = true;
	else
		m->blocks[m->nblocks++] = (struct marker_block){x->at, x->size, x->idle, false};
}

static void on_heap(void *ctx, uint64_t state, uint64_t last, uint64_t end)
{
	struct marker *m = ctx;
	(void)state;
	if (last && m->nblocks > m->begun) {
		struct marker_region r = {.lo = m->blocks[m->begun].at, .hi = end};
		if (last > m->blocks[m->nblocks - 1].at) // what is left at the heap's end is nobody's
			on_chunk(ctx,
				 &(struct malloc_heap_chunk){.at = last, .size = end - last, .idle = true});
		else
			m->blocks[m->nblocks - 1].idle = true;
		if (GROW(m->regions, m->nregions, m->regions_capacity))
			m->failed = true;
		else
			m->regions[m->nregions++] = r;
		span_add(&m->skip, r.lo, r.hi);
		span_add(&m->targets, r.lo, r.hi);
	} else {
		m->nblocks = m->begun;
	}
	m->begun = m->nblocks;
}

static int by_at(const void *a, const void *b)
{
	const struct marker_block *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_lo(const void *a, const void *b)
{
	const struct marker_stack *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

// -------------------------------------------------------------------------- roots

static bool in_epoll(long nr)
{
	return nr == SYS_epoll_wait || nr == SYS_epoll_pwait || nr == SYS_epoll_pwait2;
}

// What is dead of the threads' memory, and what of their registers is alive.
static void add_threads(struct marker *m)
{
	const struct image *im = m->c->image;
	const char *why = registers_unknown(m->c);
	if (why)
		marker_undecided(m, why);
	for (size_t i = 0; i < im->nthreads; i++) {
		const struct image_thread *t = &im->threads[i];
		struct span own;
		uint64_t says;
		if (in_epoll(t->nr) && t->args[2] < EVENTS_MOST)
			span_add(&m->skip, t->args[1], t->args[1] + EVENT_BYTES * t->args[2]);
		if (t->placed && t->nr >= 0 &&
		    thread_stack_find(&im->memory, t->tid, t->regs[CTP_REG_SP], &own, &says))
			span_add(&m->skip, own.lo, t->regs[CTP_REG_SP] & ~7ULL);
	}
}

static void add_registers(struct marker *m)
{
	const struct image *im = m->c->image;
	for (size_t i = 0; i < im->nthreads; i++) {
		const struct image_thread *t = &im->threads[i];
		for (int r = CTP_REG_FP; r < CTP_REGS; r++)
			marker_lead(m, t->regs[r]);
		for (int r = 0; r < 6; r++)
			if (!in_epoll(t->nr) || r != 1)
				marker_lead(m, t->args[r]);
		for (int r = 0; r < 3; r++)
			marker_lead(m, t->scratch[r]);
	}
}

// Its stack, and where it was saved, if that lies in one mapping with it: below it, or above, where control
// blocks end with the page.
static struct span own_memory(const struct marker *m, const struct context *x)
{
	enum { NEAR = 65536 };
	struct span own = {x->lo, x->hi};
	uint64_t block = x->shape.block;
	const struct maps_line *map = image_map(m->c->image, x->lo), *other = image_map(m->c->image, block);
	if (!map || map != other || *map->path)
		return own;
	if (block < x->lo && x->lo - block < NEAR)
		own.lo = block;
	if (x->shape.kind == SHAPE_UCONTEXT && block >= x->hi && block - x->hi < PAGE)
		own.hi = (block + sizeof(ucontext_t) + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	own.hi = own.hi < map->hi ? own.hi : map->hi;
	return own;
}

static int make_stacks(struct marker *m)
{
	const struct contexts *c = m->c;
	m->stacks = calloc(c->n + 1, sizeof(*m->stacks));
	if (!m->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		const struct context *x = &c->v[i];
		uint64_t sp = x->regs[CTP_REG_SP],
			 live = x->shape.saved && x->shape.saved < sp ? x->shape.saved : sp;
		if (x->state == CONTEXT_RUNNING || x->lo >= x->hi || sp < x->lo || sp > x->hi)
			continue;
		struct span own = own_memory(m, x);
		m->stacks[m->nstacks++] =
			(struct marker_stack){own.lo, live < own.lo ? own.lo : live, own.hi, (uint32_t)i};
		span_add(&m->skip, own.lo, own.hi);
		span_add(&m->targets, own.lo, own.hi);
	}
	if (m->nstacks)
		qsort(m->stacks, m->nstacks, sizeof(*m->stacks), by_lo);
	for (size_t i = 1; i < m->nstacks; i++)
		if (m->stacks[i].lo < m->stacks[i - 1].hi) // one that is not cut right
			m->stacks[i - 1].hi = m->stacks[i].lo;
	return 0;
}

// What keeps a coroutine by where it lies: static storage, or memory of which nothing is known.
static void add_placed(struct marker *m)
{
	const struct contexts *c = m->c;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct context *x = &c->v[i];
		struct marker_block *b = x->shape.block ? marker_block_of(m, x->shape.block) : NULL;
		const struct marker_stack *s = x->shape.block ? marker_stack_of(m, x->shape.block) : NULL;
		bool on_own = s && s->context == i;
		if (x->state == CONTEXT_RUNNING || x->lo >= x->hi)
			marker_reach(m, i);
		else if (b || (s && !on_own))
			continue; // reached by what points there
		else if (x->shape.block && !on_own)
			marker_reach(m, i);
	}
}

static int read_heaps(struct marker *m)
{
	uint64_t all = 0;
	for (size_t i = 0; i < m->nregions; i++)
		all += m->regions[i].hi - m->regions[i].lo;
	if (all > HEAP_MOST) {
		marker_undecided(m, "its heap is larger than 4 GB");
		return 0;
	}
	for (size_t i = 0; i < m->nregions; i++) {
		struct marker_region *r = &m->regions[i];
		r->bytes = calloc(r->hi - r->lo + 8, 1);
		if (!r->bytes)
			return -ENOMEM;
		if (memory_peek_touched(&m->c->image->memory, r->lo, r->bytes, r->hi - r->lo) !=
		    r->hi - r->lo)
			marker_undecided(m, "its heap changed while it was read");
	}
	return 0;
}

static void on_hit(void *ctx, uint64_t at, uint64_t addr)
{
	struct marker *m = ctx;
	marker_lead_from(m, addr, malloc_heap_has_list_head(&m->c->image->memory, at));
}

static int scan_roots(struct marker *m)
{
	const struct image *im = m->c->image;
	int e = 0;
	for (size_t i = 0; i < im->nmaps && !e; i++) {
		struct memory one = im->memory;
		struct scan s = {.memory = &one,
				 .targets = m->targets.v,
				 .ntargets = m->targets.n,
				 .skip = m->skip.v,
				 .nskip = m->skip.n,
				 .guard = im->guard,
				 .rotate = MARKER_DISGUISE,
				 .hit = on_hit,
				 .ctx = m};
		if (im->maps[i].perms[1] != 'w' && im->maps[i].perms[0] == 'r' && im->maps[i].perms[2] == 'x')
			continue;
		one.maps = &im->maps[i];
		one.nmaps = 1;
		e = scan_run(&s);
		if (e == -EIO || e == -EAGAIN) {
			marker_undecided(m, s.why);
			e = 0;
		}
	}
	return e;
}

static bool is_stack_begin(const struct contexts *c, uint64_t addr)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].lo == addr)
			return true;
	return false;
}

// The loader keeps the address of the file of libraries' names that it has unmapped. A stack of the same size
// may lie there now.
static void skip_loaders(struct marker *m)
{
	const struct image *im = m->c->image;
	for (size_t i = 0; i < im->nmaps; i++) {
		const struct maps_line *l = &im->maps[i];
		uint64_t words[LOADER_MOST / 8];
		if (l->perms[1] != 'w' || strncmp(file_base(l->path), "ld-", 3))
			continue;
		size_t n = image_peek(im, l->lo, words,
				      l->hi - l->lo < LOADER_MOST ? l->hi - l->lo : LOADER_MOST) /
			   8;
		for (size_t k = 0; k < n; k++)
			if (words[k] && words[k] % PAGE == 0 && is_stack_begin(m->c, words[k]))
				span_add(&m->skip, l->lo + 8 * k, l->lo + 8 * k + 8);
	}
}

static int make_objects(struct marker *m)
{
	const struct malloc_heap_visitor v = {m, on_chunk, on_heap};
	malloc_heap_visit(&m->c->image->memory, &v);
	m->nblocks = m->begun;
	if (m->nblocks)
		qsort(m->blocks, m->nblocks, sizeof(*m->blocks), by_at);
	for (size_t i = 0; i < m->nblocks; i++) {
		uint64_t at = m->blocks[i].at + MARKER_HEADER;
		m->blocks[i].idle |= scan_find(m->c->free.v, m->c->free.n, at) < m->c->free.n;
	}
	int e = make_stacks(m);
	skip_loaders(m);
	for (size_t i = 0; i < m->c->image->nskip; i++)
		span_add(&m->skip, m->c->image->skip[i].lo, m->c->image->skip[i].hi);
	m->skip.n = spans_tidy(m->skip.v, m->skip.n);
	m->targets.n = spans_tidy(m->targets.v, m->targets.n);
	m->least = m->targets.n ? m->targets.v[0].lo : 1;
	m->most = m->targets.n ? m->targets.v[m->targets.n - 1].hi + 8 : 1;
	return e;
}

static void tell_unreached(struct marker *m)
{
	for (size_t i = 0; i < m->nblocks; i++)
		if (!m->blocks[i].idle && !m->blocks[i].reached)
			span_add(&m->out->unreached, m->blocks[i].at + MARKER_HEADER,
				 m->blocks[i].at + m->blocks[i].size);
}

int lost_mark(struct lost *l, const struct contexts *c, const uint64_t *held, size_t nheld)
{
	struct marker m = {.c = c, .out = l};
	*l = (struct lost){.reached = calloc(c->n + 1, sizeof(bool)), .n = c->n};
	if (*c->partial)
		marker_undecided(&m, c->partial);
	if (!l->reached)
		return -ENOMEM;
	add_threads(&m);
	int e = make_objects(&m);
	if (!e)
		e = read_heaps(&m);
	if (!e && (!l->undecided || m.nregions == 0 || m.regions[m.nregions - 1].bytes)) {
		add_placed(&m);
		add_registers(&m);
		for (size_t i = 0; i < nheld; i++)
			marker_lead(&m, held[i] & SPAN_ADDRESS_MASK);
		e = scan_roots(&m);
		marker_spread(&m);
	}
	tell_unreached(&m);
	if (!e && (m.failed || m.skip.failed || m.targets.failed || l->unreached.failed))
		e = -ENOMEM;
	for (size_t i = 0; i < m.nregions; i++)
		free(m.regions[i].bytes);
	free(m.blocks);
	free(m.stacks);
	free(m.regions);
	free(m.skip.v);
	free(m.targets.v);
	free(m.todo);
	free(m.blocks_todo);
	if (e)
		lost_deinit(l);
	return e;
}

void lost_deinit(struct lost *l)
{
	free(l->reached);
	free(l->unreached.v);
	*l = (struct lost){0};
}
