// SPDX-License-Identifier: MIT
//
// A pointer to just behind a mapping may be the way back to what lies at its
// end; but the same number is the start of whatever begins there. Only where
// that has a record of its own, the words in that record are taken for its own:
// what holds a coroutine's context, the C library's record of a thread. All
// other such words lead to both, unless the stack is known to be bare: then its
// end leads to frames alone, in which only the compiler knows its way.
#include "search/stacks/stack_ends.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/heap/malloc_heap.h"
#include "search/stacks/thread_stack.h"

enum { PAGE = 4096, GUARD_MOST = 64 * PAGE, BLOCK_MOST = 1 << 12, THREAD_BYTES = 1 << 14 };

static int by_at(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void add(struct stack_ends *e, uint64_t at, uint64_t lo, uint64_t hi, uint64_t handle)
{
	if (hi <= lo)
		return;
	if (e->n == e->room) {
		size_t room = e->room ? e->room * 2 : 64;
		struct stack_end *more = realloc(e->v, room * sizeof(*more));
		if (!more)
			return; // less is explained
		e->v = more;
		e->room = room;
	}
	e->v[e->n++] = (struct stack_end){at, {lo, hi}, handle};
}

// All addresses at which a piece that is no block of the heap ends; sorted. `stacks`: only those up to which
// a stack was declared.
static uint64_t *all_ends(const struct stack_ends *e, bool stacks, size_t *n)
{
	uint64_t *v = calloc(e->npieces + 1, sizeof(*v));
	*n = 0;
	for (size_t i = 0; v && i < e->npieces; i++) {
		const struct search_piece *o = &e->pieces[i];
		if (!o->heap && (!stacks || o->at.hi == o->stack.hi))
			v[(*n)++] = o->at.hi;
	}
	if (v)
		qsort(v, *n, sizeof(*v), by_at);
	return v;
}

static bool is_end(const uint64_t *v, size_t n, uint64_t addr)
{
	return addr && n && bsearch(&addr, v, n, sizeof(*v), by_at);
}

// What begins at `at` is the coroutine's: its stack, or the block at whose start stands what is known of
// it. What holds its context knows where that is, and so does all of such a block; frames on a stack do not
// know where it begins: they mean somebody else.
static void of_coroutine(struct stack_ends *e, const struct stack_ends_coroutine *c, uint64_t at)
{
	add(e, at, c->context.lo, c->context.hi, c->handle);
	if (at != c->stack.lo)
		add(e, at, c->block.lo, c->block.hi, 0);
}

// The heap's blocks that hold those contexts are wider than they.
static void widen(struct stack_ends *e)
{
	struct malloc_heap_query *q = calloc(e->n + 1, sizeof(*q));
	size_t n = q ? e->n : 0;
	for (size_t i = 0; i < n; i++)
		q[i].addr = e->v[i].by.lo;
	if (n)
		malloc_heap_resolve(e->memory, q, n);
	for (size_t i = 0; i < n; i++)
		for (size_t lo = 0, hi = n; lo < hi;) {
			size_t mid = (lo + hi) / 2;
			if (q[mid].addr == e->v[i].by.lo) {
				if (q[mid].found)
					e->v[i].by = q[mid].block;
				break;
			}
			if (q[mid].addr < e->v[i].by.lo)
				lo = mid + 1;
			else
				hi = mid;
		}
	free(q);
}

// A thread's stack, or the guard below it, begins there: one word of the C library's record says so.
static void of_threads(struct stack_ends *e, const struct stack_ends_thread *t, size_t nthreads)
{
	for (size_t i = 0; i < nthreads; i++) {
		struct span stack;
		uint64_t says, begins;
		if (thread_stack_find(e->memory, t[i].tid, t[i].sp, &stack, &says) && says &&
		    memory_peek(e->memory, says, &begins, sizeof(begins), false) == sizeof(begins) &&
		    is_end(e->ends, e->nends, begins))
			add(e, begins, says, says + sizeof(begins), 0);
	}
}

// The loader's own data: it knows where mappings begin, and keeps nothing of the program's.
static void of_loader(struct stack_ends *e)
{
	const uint64_t *ends = e->ends;
	for (size_t i = 0; i < e->memory->nmaps; i++) {
		const struct maps_line *m = &e->memory->maps[i];
		const char *base = strrchr(m->path, '/');
		if (!base || strncmp(base, "/ld-linux", 9))
			continue;
		for (size_t k = 0; k < e->nends; k++)
			if (!k || ends[k] != ends[k - 1])
				add(e, ends[k], m->lo, m->hi, 0);
	}
}

// Does this record, as the C library keeps it of a thread, have that one's number?
static bool is_of(int tid, const uint64_t *record, size_t words)
{
	enum { NUMBER_WITHIN = 128 };
	for (size_t i = 0; i < words && i < NUMBER_WITHIN; i++)
		if ((uint32_t)record[i] == (uint32_t)tid || record[i] >> 32 == (uint32_t)tid)
			return true;
	return false;
}

static bool of_living(const struct stack_ends_thread *t, size_t n, const uint64_t *record, size_t words)
{
	for (size_t k = 0; k < n; k++)
		if (is_of(t[k].tid, record, words))
			return true;
	return false;
}

// The first thread's record and its variables were allocated by the loader, which notes
// right behind the record where what it got begins.
static void of_first_thread(struct stack_ends *e)
{
	enum { RECORD = 0x800, RECORD_MOST = 0x1000 }; // bytes, as far as releases differ
	uint64_t words[THREAD_BYTES / 8];
	for (size_t i = 0; i < e->memory->nmaps; i++) {
		const struct maps_line *m = &e->memory->maps[i];
		if (m->perms[1] != 'w' || *m->path || !is_end(e->ends, e->nends, m->lo))
			continue;
		size_t have = memory_peek(e->memory, m->lo, words, sizeof(words), false) / 8;
		for (size_t k = 0; k + 3 <= have; k += 8)
			if (words[k] == m->lo + 8 * k && words[k + 2] == words[k] &&
			    is_of(e->memory->pid, words + k, have - k))
				add(e, m->lo, words[k] + RECORD, words[k] + RECORD_MOST, 0);
	}
}

// Does such a record (its own address in its first and third word) lie at the top of
// this mapping, of a thread that has ended, and whose stack began at `at`?
static bool holds_ended(const struct memory *memory, const struct stack_ends_thread *t, size_t nthreads,
			const struct maps_line *m, uint64_t at)
{
	uint64_t words[THREAD_BYTES / 8],
		bytes = m->hi - m->lo < sizeof(words) ? m->hi - m->lo : sizeof(words);
	size_t n = bytes / 8;
	bool found = false;
	if (memory_peek(memory, m->hi - bytes, words, bytes, false) != bytes)
		return false;
	for (size_t i = 0; i + 3 <= n; i += 8) {
		if (words[i] != m->hi - bytes + 8 * i || words[i + 2] != words[i])
			continue;
		if (of_living(t, nthreads, words + i, n - i))
			return false; // it may run on another stack just now
		for (size_t k = i + 3; k + 1 < n; k++)
			found |= words[k] == at && words[k + 1] == m->hi - at;
	}
	return found;
}

static bool has_sleeper(const struct stack_ends_thread *t, size_t n, const struct maps_line *m)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].sp >= m->lo && t[i].sp <= m->hi)
			return true;
	return false;
}

// The stack of a thread that has ended, which the C library keeps for the next one: it
// tells where it begins itself.
static void of_ended_threads(struct stack_ends *e, const struct stack_ends_thread *t, size_t n)
{
	for (size_t i = 0; i < e->memory->nmaps; i++) {
		const struct maps_line *m = &e->memory->maps[i], *before = i ? m - 1 : NULL;
		bool guarded = before && before->hi == m->lo && !strncmp(before->perms, "---", 3);
		uint64_t at = guarded ? before->lo : m->lo;
		if (m->perms[1] == 'w' && !*m->path && is_end(e->ends, e->nends, at) &&
		    !has_sleeper(t, n, m) && holds_ended(e->memory, t, n, m, at))
			add(e, at, m->lo, m->hi, 0);
	}
}

// Is there nothing in these pages? Those that cannot be read hold nothing.
static bool blank(const struct memory *memory, uint64_t lo, uint64_t hi)
{
	uint64_t words[PAGE / 8];
	for (; lo < hi; lo += PAGE) {
		const struct maps_line *m = memory_map(memory, lo);
		bool own = m && m->perms[3] == 'p' && !m->ino;
		size_t n = (own ? memory_peek_touched(memory, lo, words, sizeof(words)) :
				  memory_peek(memory, lo, words, sizeof(words), false)) /
			   8;
		for (size_t i = 0; i < n; i++)
			if (words[i])
				return false;
	}
	return true;
}

// Declared up to the end of what was allocated for it, with nothing of the program's at the
// bottom, nor above the first frame, where makecontext leaves a word and keeps its link.
static bool bare(const struct memory *memory, const struct search_piece *o)
{
	enum { ABOVE = 3 };
	struct span m = o->at, c = o->stack;
	uint64_t top[ABOVE];
	if (!o->made || o->heap || m.hi != c.hi || m.hi % PAGE || c.lo % PAGE || m.lo % PAGE ||
	    c.hi - c.lo < 2 * PAGE || c.lo - m.lo > GUARD_MOST || !blank(memory, m.lo, c.lo + PAGE) ||
	    memory_peek(memory, c.hi - sizeof(top), top, sizeof(top), false) != sizeof(top))
		return false;
	for (unsigned i = 0; i < ABOVE; i++) {
		const struct maps_line *there = memory_map(memory, top[i]);
		if (there && there->perms[1] == 'w')
			return false;
	}
	return true;
}

// Of an address whose meaning is known: does it mean nothing else? Threads carry where their stack begins in
// registers, and so do the contexts that were saved on them: such words may stand anywhere.
static bool means_one_thing(const struct stack_ends *e, uint64_t at)
{
	for (size_t i = 0; i < e->npieces; i++)
		if (e->pieces[i].at.hi == at && !bare(e->memory, &e->pieces[i]))
			return false;
	return true;
}

static void anywhere(struct stack_ends *e)
{
	size_t known = e->n;
	if (known)
		qsort(e->v, known, sizeof(*e->v), by_at);
	for (size_t i = 0; i < known; i++) {
		uint64_t at = e->v[i].at;
		if (i % 64 == 63 && memory_late(e->memory))
			break; // fewer words are explained then
		if ((!i || at != e->v[i - 1].at) && means_one_thing(e, at))
			add(e, at, 0, UINT64_MAX, 0);
	}
}

void stack_ends_init(struct stack_ends *e, const struct memory *m, const struct search_piece *v, size_t n)
{
	*e = (struct stack_ends){.memory = m, .pieces = v, .npieces = n};
	e->ends = all_ends(e, false, &e->nends);
	e->stacks = all_ends(e, true, &e->nstacks);
}

bool stack_ends_wants(const struct stack_ends *e, uint64_t lo)
{
	return is_end(e->ends, e->nends, lo);
}

void stack_ends_coroutine(struct stack_ends *e, const struct stack_ends_coroutine *c)
{
	if (is_end(e->stacks, e->nstacks, c->stack.lo))
		of_coroutine(e, c, c->stack.lo);
	if (c->block.lo != c->stack.lo && is_end(e->stacks, e->nstacks, c->block.lo))
		of_coroutine(e, c, c->block.lo);
}

void stack_ends_find(struct stack_ends *e, const struct stack_ends_thread *t, size_t n)
{
	if (e->n)
		widen(e);
	of_threads(e, t, n);
	of_ended_threads(e, t, n);
	of_first_thread(e);
	anywhere(e);
	of_loader(e);
	if (e->n)
		qsort(e->v, e->n, sizeof(*e->v), by_at);
}

void stack_ends_deinit(struct stack_ends *e)
{
	free(e->v);
	free(e->ends);
	free(e->stacks);
	*e = (struct stack_ends){0};
}

// The first about this address, or what comes behind.
static size_t first_of(const struct stack_ends *e, uint64_t address)
{
	return FIRST_NOT(e->n, i, e->v[i].at < address);
}

bool stack_ends_explain(const struct stack_ends *e, uint64_t at, uint64_t address)
{
	for (size_t i = first_of(e, address); i < e->n && e->v[i].at == address; i++)
		if (at >= e->v[i].by.lo && at < e->v[i].by.hi)
			return true;
	return false;
}

static uint64_t handle_at(const struct stack_ends *e, uint64_t address)
{
	for (size_t i = first_of(e, address); i < e->n && e->v[i].at == address; i++)
		if (e->v[i].handle)
			return e->v[i].handle;
	return 0;
}

bool stack_ends_may_explain(const struct stack_ends *e, uint64_t address)
{
	return handle_at(e, address);
}

bool stack_ends_explain_in(const struct stack_ends *e, struct span block, uint64_t address)
{
	uint64_t words[BLOCK_MOST / 8], handle = handle_at(e, address), bytes = block.hi - block.lo;
	if (!handle || bytes > BLOCK_MOST)
		return false;
	size_t n = memory_peek(e->memory, block.lo, words, bytes, false) / 8;
	for (size_t i = 0; i < n; i++)
		if (words[i] == handle)
			return true;
	return false;
}
