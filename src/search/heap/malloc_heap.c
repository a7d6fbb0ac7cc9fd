// SPDX-License-Identifier: MIT
//
// Finds the block of glibc's malloc that holds an address: by a walk along
// the headers of the main heap, of a thread arena's heap (heap_info at each
// 64 MiB), or of mmapped blocks. The headers may be corrupt, so
// a walk counts only if every header is sound and it ends exactly at the
// heap's end. A block is [header + 16, next header): the last 8 usable bytes
// are the next header's, and pointers there are the allocator's own. What the
// program has not touched yet stays so: a mapping may be no heap at all.
#include "search/heap/malloc_heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum { WINDOW = 1 << 18, PREVIOUS_IN_USE = 1, IS_MMAPPED = 2, FLAGS = 7, HEADER = 16, PAGE = 4096 };
#define ARENA_BYTES (64ULL << 20)

struct walk {
	const struct memory *m;
	uint64_t at; // of the window
	size_t have;
	unsigned char *window;
};

static bool word(struct walk *w, uint64_t addr, uint64_t *out)
{
	if (addr < w->at || addr + 8 > w->at + w->have) {
		w->at = addr;
		w->have = memory_peek_touched(w->m, addr, w->window, WINDOW);
		if (w->have < 8)
			return false;
	}
	memcpy(out, w->window + (addr - w->at), 8);
	return true;
}

// Walks [from, end), chunk by chunk. The last one, if it is sound throughout, else 0.
static uint64_t walk_heap(struct walk *w, uint64_t from, uint64_t end, const struct malloc_heap_visitor *v)
{
	struct malloc_heap_chunk c = {0};
	uint64_t last = 0, size, foot;
	for (unsigned steps = 0; from < end; steps++) {
		if (steps % 65536 == 65535 && memory_late(w->m))
			return 0;
		if (!word(w, from, &foot) || !word(w, from + 8, &size))
			return 0;
		uint64_t flags = size & FLAGS;
		size &= ~(uint64_t)FLAGS;
		c.idle = !(flags & PREVIOUS_IN_USE);
		c.foot = foot;
		if (c.size)
			v->chunk(v->ctx, &c);
		c.size = 0;
		if (end - from <= 2 * HEADER &&
		    (size == 0 || size == HEADER)) { // fence posts of a heap that is full
			from = size ? from + size : end;
			continue;
		}
		if (size < 2 * HEADER || size % 16 || size > end - from || (flags & IS_MMAPPED))
			return 0;
		c = (struct malloc_heap_chunk){.at = last = from, .size = size};
		from += size;
	}
	if (c.size)
		v->chunk(v->ctx, &c);
	return last;
}

// First blocks of an arena's first heap lie behind its struct malloc_state, whose size differs between
// releases.
static const uint64_t ARENA_FIRST[] = {0x8d0, 0x8c0, 0x8b0, 0x8a0, 0x890, 0x8e0, 0x30, 0x20};

static void arena(struct walk *w, uint64_t base, const struct malloc_heap_visitor *v)
{
	uint64_t info[4]; // ar_ptr, prev, size, mprotect_size
	if (memory_peek_touched(w->m, base, info, sizeof(info)) != sizeof(info))
		return;
	if (info[2] < 4096 || info[2] > ARENA_BYTES || info[2] % 4096 || info[3] < info[2] ||
	    info[3] > ARENA_BYTES)
		return;
	bool first = info[0] > base && info[0] < base + 4096;
	if (first != (info[1] == 0) || (!first && info[1] % ARENA_BYTES))
		return;
	size_t count = sizeof(ARENA_FIRST) / sizeof(*ARENA_FIRST);
	for (size_t i = first ? 0 : count - 2; i < (first ? count - 2 : count); i++) {
		uint64_t last = walk_heap(w, base + ARENA_FIRST[i], base + info[2], v);
		v->heap(v->ctx, info[0], last, base + info[2]);
		if (last)
			return;
	}
}

// The end of the program's own heap, which begins in maps[*i]; *i moves to its last line. 0: none begins
// there.
static uint64_t main_heap(const struct memory *m, size_t *i)
{
	const struct maps_line *v = m->maps;
	if (strcmp(v[*i].path, "[heap]") || v[*i].perms[1] != 'w')
		return 0;
	while (*i + 1 < m->nmaps && v[*i + 1].lo == v[*i].hi && !strcmp(v[*i + 1].path, "[heap]"))
		++*i;
	return v[*i].hi;
}

// -------------------------------------------------------------------- queries

struct asked {
	struct malloc_heap_query *q;
	size_t n, first, i;
};

static size_t first_from(const struct malloc_heap_query *q, size_t n, uint64_t addr)
{
	return FIRST_NOT(n, i, q[i].addr < addr);
}

static void begin(struct asked *a, uint64_t from)
{
	a->first = a->i = first_from(a->q, a->n, from);
}

static void answer(void *ctx, const struct malloc_heap_chunk *c)
{
	struct asked *a = ctx;
	for (; a->i < a->n && a->q[a->i].addr < c->at + c->size; a->i++)
		if (a->q[a->i].addr >= c->at + HEADER)
			a->q[a->i].block = (struct span){c->at + HEADER, c->at + c->size};
}

static void believe(void *ctx, uint64_t state, uint64_t last, uint64_t end)
{
	struct asked *a = ctx;
	(void)state;
	(void)end;
	for (size_t k = a->first; k < a->i; k++) {
		if (!last)
			a->q[k].block = (struct span){0, 0};
		a->q[k].found = last && a->q[k].block.hi &&
				a->q[k].block.lo != last + HEADER; // never the top
	}
	a->i = a->first; // another try
}

static bool anonymous(const struct maps_line *m)
{
	return m && m->perms[0] == 'r' && m->perms[1] == 'w' && m->perms[3] == 'p' && m->ino == 0 &&
	       (!*m->path || !strncmp(m->path, "[anon", 5));
}

// A piece of mmapped blocks, or what the program made inaccessible in one of them.
static bool of_blocks(const struct maps_line *m)
{
	return anonymous(m) || (!strncmp(m->perms, "---p", 4) && m->ino == 0 && !*m->path);
}

// The size in the header of a mmapped block, if one stands at `at`, `before` bytes behind where its mapping
// begins; else 0.
static uint64_t mmapped_size(const struct memory *m, uint64_t at, uint64_t before, uint64_t end)
{
	uint64_t head[2];
	if (at >= end || memory_peek_touched(m, at, head, sizeof(head)) != sizeof(head))
		return 0;
	uint64_t size = head[1] & ~(uint64_t)FLAGS;
	bool sound = head[0] == before && (head[1] & FLAGS) == IS_MMAPPED && size >= 2 * HEADER &&
		     size <= end - at && (before + size) % PAGE == 0;
	return sound ? size : 0;
}

// Where the block begins whose mapping is [at, end): behind the header there, or if it was allocated with an
// alignment, behind a second one, which says how far from the first it stands.
static uint64_t mmapped_begin(const struct memory *m, uint64_t at, uint64_t end)
{
	for (uint64_t align = 2 * HEADER; align < end - at; align *= 2) {
		uint64_t header = ((at + HEADER + align - 1) & -align) - HEADER;
		header += header - at < 2 * HEADER ? align : 0;
		if (header + mmapped_size(m, header, header - at, end) == end)
			return header + HEADER;
	}
	return at + HEADER;
}

// Mmapped blocks, one behind the other from the begin of a mapping on: of all lines that adjoin the one that
// holds a query's address, since the program may have made pages in a block inaccessible. Answers all queries
// in there. Where they end.
static uint64_t mmapped(const struct memory *m, const struct maps_line *line, struct asked *a)
{
	const struct maps_line *end = m->maps + m->nmaps, *last = line;
	while (line > m->maps && line[-1].hi == line->lo && of_blocks(line - 1))
		line--;
	while (last + 1 < end && last->hi == last[1].lo && of_blocks(last + 1))
		last++;
	begin(a, line->lo);
	for (uint64_t at = line->lo; line <= last && a->i < a->n && !memory_late(m);) {
		uint64_t size = anonymous(line) ? mmapped_size(m, at, 0, last->hi) : 0;
		struct span block = {
			size && a->q[a->i].addr < at + size ? mmapped_begin(m, at, at + size) : 0, at + size};
		at = size ? at + size : line->hi;
		for (; a->i < a->n && a->q[a->i].addr < at; a->i++) {
			struct malloc_heap_query *q = &a->q[a->i];
			if (!size || q->found || q->addr < block.lo)
				continue;
			q->found = true;
			q->block = block;
		}
		while (line <= last && line->hi <= at)
			line++;
	}
	return last->hi;
}

static int by_addr(const void *a, const void *b)
{
	const struct malloc_heap_query *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void malloc_heap_resolve(const struct memory *m, struct malloc_heap_query *q, size_t n)
{
	struct walk w = {.m = m, .window = malloc(WINDOW)};
	struct asked a = {.q = q, .n = n};
	const struct malloc_heap_visitor v = {&a, answer, believe};
	if (!w.window || !n) {
		free(w.window);
		return;
	}
	qsort(q, n, sizeof(*q), by_addr);
	for (size_t i = 0; i < m->nmaps; i++) {
		uint64_t lo = m->maps[i].lo, hi = main_heap(m, &i);
		begin(&a, lo);
		if (hi && a.i < n && q[a.i].addr < hi)
			believe(&a, 0, walk_heap(&w, lo, hi, &v), hi);
	}
	uint64_t tried = 1;
	for (size_t i = 0; i < n; i++) {
		const struct maps_line *line = q[i].found ? NULL : memory_map(m, q[i].addr);
		uint64_t base = q[i].addr & ~(ARENA_BYTES - 1);
		if (!anonymous(line))
			continue;
		begin(&a, base);
		if (base >= line->lo && base != tried)
			arena(&w, base, &v);
		tried = base;
	}
	uint64_t upto = 0;
	for (size_t i = 0; i < n; i++)
		if (!q[i].found && q[i].addr >= upto && anonymous(memory_map(m, q[i].addr)))
			upto = mmapped(m, memory_map(m, q[i].addr), &a);
	free(w.window);
}

// ------------------------------------------------------------------------ all

void malloc_heap_visit(const struct memory *m, const struct malloc_heap_visitor *v)
{
	struct walk w = {.m = m, .window = malloc(WINDOW)};
	for (size_t i = 0; w.window && i < m->nmaps && !memory_late(m); i++) {
		const struct maps_line *line = &m->maps[i];
		uint64_t hi = main_heap(m, &i);
		if (hi)
			v->heap(v->ctx, 0, walk_heap(&w, line->lo, hi, v), hi);
		else if (anonymous(line))
			for (uint64_t at = (line->lo + ARENA_BYTES - 1) & ~(ARENA_BYTES - 1); at < line->hi;
			     at += ARENA_BYTES)
				arena(&w, at, v);
	}
	free(w.window);
}

bool malloc_heap_is_idle(const struct memory *m, uint64_t at)
{
	uint64_t size, next;
	if (memory_peek(m, at + 8, &size, 8, false) != 8)
		return false;
	size &= ~(uint64_t)FLAGS;
	return memory_peek(m, at + size + 8, &next, 8, false) != 8 || !(next & PREVIOUS_IN_USE);
}

bool malloc_heap_has_list_head(const struct memory *m, uint64_t at)
{
	enum { ARENA_STATE = 4096 };
	const struct maps_line *line = memory_map(m, at);
	if (line && (strstr(line->path, "/libc.so") || strstr(line->path, "/libc-")))
		return true;
	return line && !line->ino && at % ARENA_BYTES < ARENA_STATE && at - at % ARENA_BYTES == line->lo;
}
