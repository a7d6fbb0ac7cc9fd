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
#include "base/search.h"
#include "find/registers.h"
#include "search/heap/malloc_heap.h"
#include "search/mark/scan.h"
#include "search/stacks/thread_stack.h"

enum {
	HEADER = 16,
	EVENT_BYTES = 12,
	EVENTS_MOST = 1 << 20,
	DISGUISE = 17,
	PAGE = 4096,
	LOADER_MOST = 1 << 15
};
#define HEAP_MOST (4ULL << 30)

struct block { // of malloc, in use or not
	uint64_t at, size;
	bool idle, reached;
};

struct stack {
	uint64_t lo, live, hi; // live: the lowest word that is still in use
	uint32_t context;
};

struct region { // of the heap, as it was read
	uint64_t lo, hi;
	unsigned char *bytes;
};

struct marker {
	const struct contexts *c;
	struct lost *out;
	struct block *blocks; // by address
	size_t nblocks, blocks_capacity, begun;
	struct stack *stacks; // by lo
	size_t nstacks;
	struct region *regions;
	size_t nregions, regions_capacity;
	struct span_list skip, targets;
	uint32_t *todo; // contexts that were reached, and are not looked at yet
	size_t ntodo, todo_capacity;
	uint64_t *blocks_todo;
	size_t nblocks_todo, blocks_todo_capacity;
	uint64_t least, most;
	bool failed;
};

static void undecided(struct lost *l, const char *why)
{
	if (!l->undecided) {
		snprintf(l->why, sizeof(l->why), "%s", why);
		l->undecided = l->why;
	}
}

// ---------------------------------------------------------------------- objects

static void on_chunk(void *ctx, const struct malloc_heap_chunk *x)
{
	struct marker *m = ctx;
	if (GROW(m->blocks, m->nblocks, m->blocks_capacity))
		m->failed = true;
	else
		m->blocks[m->nblocks++] = (struct block){x->at, x->size, x->idle, false};
}

static void on_heap(void *ctx, uint64_t state, uint64_t last, uint64_t end)
{
	struct marker *m = ctx;
	(void)state;
	if (last && m->nblocks > m->begun) {
		struct region r = {.lo = m->blocks[m->begun].at, .hi = end};
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
	const struct block *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_lo(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

// The block whose memory, up to the word in the next one's header, holds `addr`.
static struct block *block_of(const struct marker *m, uint64_t addr)
{
	size_t lo = 0, hi = m->nblocks;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (m->blocks[mid].at + HEADER <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	struct block *b = lo ? &m->blocks[lo - 1] : NULL;
	return b && addr < b->at + b->size + 8 ? b : NULL;
}

static const struct stack *stack_of(const struct marker *m, uint64_t addr)
{
	size_t lo = 0, hi = m->nstacks;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (m->stacks[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	const struct stack *s = lo ? &m->stacks[lo - 1] : NULL;
	return s && addr < s->hi ? s : NULL;
}

// -------------------------------------------------------------------------- marks

static void reach_context(struct marker *m, uint32_t i)
{
	if (m->out->reached[i])
		return;
	m->out->reached[i] = true;
	if (GROW(m->todo, m->ntodo, m->todo_capacity))
		m->failed = true;
	else
		m->todo[m->ntodo++] = i;
}

static void reach_block(struct marker *m, struct block *b)
{
	if (b->reached || b->idle)
		return;
	b->reached = true;
	if (GROW(m->blocks_todo, m->nblocks_todo, m->blocks_todo_capacity))
		m->failed = true;
	else
		m->blocks_todo[m->nblocks_todo++] = (uint64_t)(b - m->blocks);
}

// A word holds this address; `head`: one where the allocator's lists may begin.
static void lead_from(struct marker *m, uint64_t addr, bool head)
{
	const struct stack *s = stack_of(m, addr);
	struct block *b = s ? NULL : block_of(m, addr);
	if (s)
		reach_context(m, s->context);
	if (!b)
		return;
	// the header of a chunk that is not in use: the allocator's own pointer
	struct block *next = b + 1 < m->blocks + m->nblocks ? b + 1 : NULL;
	if (head && next && addr == next->at && next->idle)
		return;
	reach_block(m, b);
}

static void lead(struct marker *m, uint64_t addr)
{
	lead_from(m, addr, false);
}

static void on_hit(void *ctx, uint64_t at, uint64_t addr)
{
	struct marker *m = ctx;
	lead_from(m, addr, malloc_heap_has_list_head(&m->c->image->memory, at));
}

static void look_at(struct marker *m, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i++) {
		uint64_t w;
		memcpy(&w, bytes + i, 8);
		w &= SPAN_ADDRESS_MASK;
		if (w >= m->least && w < m->most)
			lead(m, w);
	}
	for (size_t i = 0; m->c->image->guard && i + 8 <= n; i += 8) {
		uint64_t w;
		memcpy(&w, bytes + i, 8);
		w = (w >> DISGUISE | w << (64 - DISGUISE)) ^ m->c->image->guard;
		if (w >= m->least && w < m->most)
			lead(m, w);
	}
}

static void look_at_memory(struct marker *m, uint64_t lo, uint64_t hi)
{
	enum { PIECE = 1 << 16 };
	unsigned char *room = malloc(PIECE + 8);
	if (!room) {
		m->failed = true;
		return;
	}
	for (; lo < hi; lo += PIECE) {
		size_t want = hi - lo < PIECE + 8 ? hi - lo : PIECE + 8;
		size_t n = image_peek(m->c->image, lo, room, want);
		look_at(m, room, n);
		if (n < want)
			undecided(m->out, "a stack could not be read to its end");
		if (n < want)
			break;
	}
	free(room);
}

// All whose control blocks lie there: contexts are sorted by these.
static void reach_placed_in(struct marker *m, const struct block *b)
{
	const struct contexts *c = m->c;
	uint64_t lo = b->at + HEADER, hi = b->at + b->size + 8;
	for (size_t i = FIRST_NOT(c->n, k, c->v[k].id < lo); i < c->n && c->v[i].id < hi; i++)
		if (c->v[i].shape.block)
			reach_context(m, (uint32_t)i);
}

static void look_at_block(struct marker *m, struct block *b)
{
	reach_placed_in(m, b);
	for (size_t i = 0; i < m->nregions; i++) {
		const struct region *r = &m->regions[i];
		uint64_t lo = b->at + HEADER, hi = b->at + b->size + 8;
		const struct stack *s = stack_of(m, lo);
		if (lo < r->lo || lo >= r->hi)
			continue;
		if (s && s->hi >= b->at + b->size) // it is a stack: only what is in use of it
			return;
		look_at(m, r->bytes + (lo - r->lo), (hi < r->hi ? hi : r->hi) - lo);
		return;
	}
}

static void look_at_context(struct marker *m, uint32_t i)
{
	const struct context *x = &m->c->v[i];
	struct block *b = x->shape.block ? block_of(m, x->shape.block) : NULL;
	for (size_t k = 0; k < m->nstacks; k++)
		if (m->stacks[k].context == i)
			look_at_memory(m, m->stacks[k].live, m->stacks[k].hi);
	if (b)
		reach_block(m, b);
}

static void spread(struct marker *m)
{
	while (!m->failed && (m->ntodo || m->nblocks_todo)) {
		if (m->ntodo)
			look_at_context(m, m->todo[--m->ntodo]);
		else
			look_at_block(m, &m->blocks[m->blocks_todo[--m->nblocks_todo]]);
	}
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
		undecided(m->out, why);
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
			lead(m, t->regs[r]);
		for (int r = 0; r < 6; r++)
			if (!in_epoll(t->nr) || r != 1)
				lead(m, t->args[r]);
		for (int r = 0; r < 3; r++)
			lead(m, t->scratch[r]);
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
			(struct stack){own.lo, live < own.lo ? own.lo : live, own.hi, (uint32_t)i};
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
		struct block *b = x->shape.block ? block_of(m, x->shape.block) : NULL;
		const struct stack *s = x->shape.block ? stack_of(m, x->shape.block) : NULL;
		bool on_own = s && s->context == i;
		if (x->state == CONTEXT_RUNNING || x->lo >= x->hi)
			reach_context(m, i);
		else if (b || (s && !on_own))
			continue; // reached by what points there
		else if (x->shape.block && !on_own)
			reach_context(m, i);
	}
}

static int read_heaps(struct marker *m)
{
	uint64_t all = 0;
	for (size_t i = 0; i < m->nregions; i++)
		all += m->regions[i].hi - m->regions[i].lo;
	if (all > HEAP_MOST) {
		undecided(m->out, "its heap is larger than 4 GB");
		return 0;
	}
	for (size_t i = 0; i < m->nregions; i++) {
		struct region *r = &m->regions[i];
		r->bytes = calloc(r->hi - r->lo + 8, 1);
		if (!r->bytes)
			return -ENOMEM;
		if (memory_peek_touched(&m->c->image->memory, r->lo, r->bytes, r->hi - r->lo) !=
		    r->hi - r->lo)
			undecided(m->out, "its heap changed while it was read");
	}
	return 0;
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
				 .rotate = DISGUISE,
				 .hit = on_hit,
				 .ctx = m};
		if (im->maps[i].perms[1] != 'w' && im->maps[i].perms[0] == 'r' && im->maps[i].perms[2] == 'x')
			continue;
		one.maps = &im->maps[i];
		one.nmaps = 1;
		e = scan_run(&s);
		if (e == -EIO || e == -EAGAIN) {
			undecided(m->out, s.why);
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
		uint64_t at = m->blocks[i].at + HEADER;
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
			span_add(&m->out->unreached, m->blocks[i].at + HEADER,
				 m->blocks[i].at + m->blocks[i].size);
}

int lost_mark(struct lost *l, const struct contexts *c, const uint64_t *held, size_t nheld)
{
	struct marker m = {.c = c, .out = l};
	*l = (struct lost){.reached = calloc(c->n + 1, sizeof(bool)), .n = c->n};
	if (*c->partial)
		undecided(l, c->partial);
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
			lead(&m, held[i] & SPAN_ADDRESS_MASK);
		e = scan_roots(&m);
		spread(&m);
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
