// SPDX-License-Identifier: MIT
//
// A pointer to just behind a mapping may be the way back to what lies at its
// end; but the same number is the start of whatever begins there. Only where
// that has a record of its own, the words in that record are taken for its own:
// what holds a coroutine's context, the C library's record of a thread. All
// other such words lead to both, unless the stack is known to be bare: then its
// end leads to frames alone, in which only the compiler knows its way.
#include "engine/memory/stack_ends.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/memory/malloc_heap.h"
#include "engine/memory/pages.h"
#include "engine/memory/scan_exclude.h"

enum { PAGE = 4096, GUARD_MOST = 64 * PAGE, BLOCK_MOST = 1 << 12, THREAD_BYTES = 1 << 14 };

static int by_at(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void add(struct ends *e, uint64_t at, uint64_t lo, uint64_t hi, uint64_t handle)
{
	if (hi <= lo)
		return;
	if (e->n == e->room) {
		size_t room = e->room ? e->room * 2 : 64;
		struct end *more = realloc(e->v, room * sizeof(*more));
		if (!more)
			return; // less is explained
		e->v = more;
		e->room = room;
	}
	e->v[e->n++] = (struct end){at, {lo, hi}, handle};
}

// All addresses at which a suspect's mapping ends; sorted. `stacks`: only those up to which its stack was declared.
static uint64_t *all_ends(const struct look *l, bool stacks, size_t *n)
{
	uint64_t *v = calloc(2 * l->n + 1, sizeof(*v));
	*n = 0;
	for (size_t i = 0; v && i < l->n; i++)
		for (unsigned k = 0; k < suspect_objects(l->who[i]); k++)
			if (!l->who[i]->heap[k] && (!stacks || l->who[i]->mine[k].hi == l->who[i]->s.hi))
				v[(*n)++] = l->who[i]->mine[k].hi;
	if (v)
		qsort(v, *n, sizeof(*v), by_at);
	return v;
}

static bool stack_ends_at(const uint64_t *v, size_t n, uint64_t addr)
{
	return addr && n && bsearch(&addr, v, n, sizeof(*v), by_at);
}

// What begins at `at` is the coroutine's `s`: its stack, or the block at whose start stands what is known of
// it. What holds its context knows where that is, and so does all of such a block; frames on a stack do not
// know where it begins: they mean somebody else.
static void of_coroutine(struct ends *e, const struct look *l, const struct ctp_state *s, uint64_t at)
{
	const struct ctp_ext *x = l->r->ext;
	bool handle = s->life == CTP_SUSPENDED && (s->how == CTP_HOW_FCONTEXT || s->how == CTP_HOW_ONTOP);
	if (s->slot)
		add(e, at, s->slot, s->slot + x->context_off + 8ULL * x->context_words, handle ? s->slot : 0);
	if (at != s->lo)
		add(e, at, s->block_lo, s->block_hi, 0);
}

// The heap's blocks that hold those contexts are wider than they.
static void widen(struct ends *e, const struct look *l)
{
	struct malloc_heap_query *q = calloc(e->n + 1, sizeof(*q));
	size_t n = q ? e->n : 0;
	for (size_t i = 0; i < n; i++)
		q[i].addr = e->v[i].by.lo;
	if (n)
		malloc_heap_resolve(l->pid, &l->maps, q, n, l->deadline_ns);
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
static void of_threads(struct ends *e, const struct look *l, const uint64_t *ends, size_t n)
{
	for (size_t i = 0; i < l->tasks.n; i++) {
		struct span stack;
		uint64_t says, begins;
		const struct proc_task *t = &l->tasks.v[i];
		if (scan_exclude_thread_stack(l, t->tid, t->sp, &stack, &says) && says &&
		    proc_peek(l->pid, says, &begins, sizeof(begins), false) == sizeof(begins) && stack_ends_at(ends, n, begins))
			add(e, begins, says, says + sizeof(begins), 0);
	}
}

// The loader's own data: it knows where mappings begin, and keeps nothing of the program's.
static void of_loader(struct ends *e, const struct look *l, const uint64_t *ends, size_t n)
{
	for (size_t i = 0; i < l->maps.n; i++) {
		const struct maps_line *m = &l->maps.v[i];
		const char *base = strrchr(m->path, '/');
		if (!base || strncmp(base, "/ld-linux", 9))
			continue;
		for (size_t k = 0; k < n; k++)
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

static bool of_living(const struct look *l, const uint64_t *record, size_t words)
{
	for (size_t k = 0; k < l->tasks.n; k++)
		if (is_of(l->tasks.v[k].tid, record, words))
			return true;
	return false;
}

// The first thread's record and its variables were allocated by the loader, which notes
// right behind the record where what it got begins.
static void of_first_thread(struct ends *e, const struct look *l, const uint64_t *ends, size_t n)
{
	enum { RECORD = 0x800, RECORD_MOST = 0x1000 }; // bytes, as far as releases differ
	uint64_t words[THREAD_BYTES / 8];
	for (size_t i = 0; i < l->maps.n; i++) {
		const struct maps_line *m = &l->maps.v[i];
		if (m->perms[1] != 'w' || *m->path || !stack_ends_at(ends, n, m->lo))
			continue;
		size_t have = proc_peek(l->pid, m->lo, words, sizeof(words), false) / 8;
		for (size_t k = 0; k + 3 <= have; k += 8)
			if (words[k] == m->lo + 8 * k && words[k + 2] == words[k] && is_of(l->pid, words + k, have - k))
				add(e, m->lo, words[k] + RECORD, words[k] + RECORD_MOST, 0);
	}
}

// Does such a record (its own address in its first and third word) lie at the top of
// this mapping, of a thread that has ended, and whose stack began at `at`?
static bool holds_ended(const struct look *l, const struct maps_line *m, uint64_t at)
{
	uint64_t words[THREAD_BYTES / 8], bytes = m->hi - m->lo < sizeof(words) ? m->hi - m->lo : sizeof(words);
	size_t n = bytes / 8;
	bool found = false;
	if (proc_peek(l->pid, m->hi - bytes, words, bytes, false) != bytes)
		return false;
	for (size_t i = 0; i + 3 <= n; i += 8) {
		if (words[i] != m->hi - bytes + 8 * i || words[i + 2] != words[i])
			continue;
		if (of_living(l, words + i, n - i))
			return false; // it may run on another stack just now
		for (size_t k = i + 3; k + 1 < n; k++)
			found |= words[k] == at && words[k + 1] == m->hi - at;
	}
	return found;
}

static bool has_sleeper(const struct look *l, const struct maps_line *m)
{
	for (size_t i = 0; i < l->tasks.n; i++)
		if (l->tasks.v[i].sp >= m->lo && l->tasks.v[i].sp <= m->hi)
			return true;
	return false;
}

// The stack of a thread that has ended, which the C library keeps for the next one: it
// tells where it begins itself.
static void of_ended_threads(struct ends *e, const struct look *l, const uint64_t *ends, size_t n)
{
	for (size_t i = 0; i < l->maps.n; i++) {
		const struct maps_line *m = &l->maps.v[i], *before = i ? m - 1 : NULL;
		bool guarded = before && before->hi == m->lo && !strncmp(before->perms, "---", 3);
		uint64_t at = guarded ? before->lo : m->lo;
		if (m->perms[1] == 'w' && !*m->path && stack_ends_at(ends, n, at) && !has_sleeper(l, m) && holds_ended(l, m, at))
			add(e, at, m->lo, m->hi, 0);
	}
}

// Is there nothing in these pages? Those that cannot be read hold nothing.
static bool blank(const struct look *l, const struct pages *p, uint64_t lo, uint64_t hi)
{
	uint64_t words[PAGE / 8];
	for (; lo < hi; lo += PAGE) {
		const struct maps_line *m = proc_maps_find(&l->maps, lo);
		bool own = m && m->perms[3] == 'p' && !m->ino;
		size_t n = (own ? pages_peek(p, lo, words, sizeof(words)) : proc_peek(l->pid, lo, words, sizeof(words), false)) / 8;
		for (size_t i = 0; i < n; i++)
			if (words[i])
				return false;
	}
	return true;
}

// Declared up to the end of what was allocated for it, with nothing of the program's at the
// bottom, nor above the first frame, where makecontext leaves a word and keeps its link.
static bool bare(const struct look *l, const struct pages *p, const struct suspect *s)
{
	enum { ABOVE = 3 };
	const struct ctp_state *c = &s->s;
	struct span m = s->mine[0];
	uint64_t top[ABOVE];
	bool handle = c->how == CTP_HOW_FCONTEXT || c->how == CTP_HOW_ONTOP; // its context lies on the stack
	if (s->nmine != (handle ? 1 : 2) || s->heap[0] || m.hi != c->hi || m.hi % PAGE || c->lo % PAGE || m.lo % PAGE ||
	    (c->flags & CTP_STATE_FOREIGN) || c->hi - c->lo < 2 * PAGE || c->lo - m.lo > GUARD_MOST ||
	    !blank(l, p, m.lo, c->lo + PAGE) || proc_peek(l->pid, c->hi - sizeof(top), top, sizeof(top), false) != sizeof(top))
		return false;
	for (unsigned i = 0; i < ABOVE; i++) {
		const struct maps_line *there = proc_maps_find(&l->maps, top[i]);
		if (there && there->perms[1] == 'w')
			return false;
	}
	return true;
}

// Of an address whose meaning is known: does it mean nothing else? Threads carry where their stack begins in
// registers, and so do the contexts that were saved on them: such words may stand anywhere.
static bool means_one_thing(const struct look *l, const struct pages *p, uint64_t at)
{
	for (size_t i = 0; i < l->n; i++)
		for (unsigned k = 0; k < suspect_objects(l->who[i]); k++)
			if (l->who[i]->mine[k].hi == at && (k || !bare(l, p, l->who[i])))
				return false;
	return true;
}

static void anywhere(struct ends *e, const struct look *l)
{
	size_t known = e->n;
	struct pages pages;
	pages_open(&pages, l->pid);
	if (known)
		qsort(e->v, known, sizeof(*e->v), by_at);
	for (size_t i = 0; i < known; i++) {
		uint64_t at = e->v[i].at;
		if (i % 64 == 63 && look_late(l))
			break; // fewer words are explained then
		if ((!i || at != e->v[i - 1].at) && means_one_thing(l, &pages, at))
			add(e, at, 0, UINT64_MAX, 0);
	}
	pages_close(&pages);
}

void stack_ends_init(struct ends *e, const struct look *l)
{
	size_t n, nstacks;
	uint64_t *ends = all_ends(l, false, &n), *stacks = all_ends(l, true, &nstacks);
	struct ctp_walk w = ctp_walk_states(l->r);
	for (uint64_t i = ctp_walk_from(&w, 0); nstacks && i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state s;
		const struct ctp_state *from = &l->r->states[i];
		if (w.rows % 4096 == 0 && look_late(l))
			break; // fewer words are explained then
		if (ctp_load32(&from->owner) != CTP_OWNER_GUEST || (!stack_ends_at(ends, n, from->lo) && !stack_ends_at(ends, n, from->block_lo)) ||
		    !ctp_state_read(from, &s) || s.entity != CTP_COROUTINE || (s.life != CTP_SUSPENDED && s.life != CTP_RUNNING))
			continue;
		if (stack_ends_at(stacks, nstacks, s.lo))
			of_coroutine(e, l, &s, s.lo);
		if (s.block_lo != s.lo && stack_ends_at(stacks, nstacks, s.block_lo))
			of_coroutine(e, l, &s, s.block_lo);
	}
	if (e->n)
		widen(e, l);
	of_threads(e, l, ends, n);
	of_ended_threads(e, l, ends, n);
	of_first_thread(e, l, ends, n);
	anywhere(e, l);
	of_loader(e, l, ends, n);
	free(ends);
	free(stacks);
	if (e->n)
		qsort(e->v, e->n, sizeof(*e->v), by_at);
}

void stack_ends_deinit(struct ends *e)
{
	free(e->v);
	*e = (struct ends){0};
}

// The first about this address, or what comes behind.
static size_t first_of(const struct ends *e, uint64_t address)
{
	return FIRST_NOT(e->n, i, e->v[i].at < address);
}

bool stack_ends_explain(const struct ends *e, uint64_t at, uint64_t address)
{
	for (size_t i = first_of(e, address); i < e->n && e->v[i].at == address; i++)
		if (at >= e->v[i].by.lo && at < e->v[i].by.hi)
			return true;
	return false;
}

static uint64_t handle_at(const struct ends *e, uint64_t address)
{
	for (size_t i = first_of(e, address); i < e->n && e->v[i].at == address; i++)
		if (e->v[i].handle)
			return e->v[i].handle;
	return 0;
}

bool stack_ends_may_explain(const struct ends *e, uint64_t address)
{
	return handle_at(e, address);
}

bool stack_ends_explain_in(const struct ends *e, pid_t pid, struct span block, uint64_t address)
{
	uint64_t words[BLOCK_MOST / 8], handle = handle_at(e, address), bytes = block.hi - block.lo;
	if (!handle || bytes > BLOCK_MOST)
		return false;
	size_t n = proc_peek(pid, block.lo, words, bytes, false) / 8;
	for (size_t i = 0; i < n; i++)
		if (words[i] == handle)
			return true;
	return false;
}

// ---------------------------------------------------------------------- words

void words_add(struct words *w, uint64_t at, uint64_t address)
{
	enum { MOST = 1 << 20 };
	if (w->n == w->room) {
		size_t room = w->room ? w->room * 2 : 256;
		struct word *more = room <= MOST ? realloc(w->v, room * sizeof(*more)) : NULL;
		if (!more) {
			w->failed = true;
			return;
		}
		w->v = more;
		w->room = room;
	}
	w->v[w->n++] = (struct word){at, address};
}

void words_sort(struct words *w)
{
	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), by_at);
}

// --------------------------------------------------------------------- stacks

void owners_init(struct owners *o, const struct look *l)
{
	struct ctp_walk w = ctp_walk_states(l->r);
	o->v = calloc(w.n + 1, sizeof(*o->v));
	for (uint64_t i = ctp_walk_from(&w, 0); o->v && i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_state *s = &l->r->states[i];
		if (s->owner == CTP_OWNER_GUEST && s->lo && (s->life == CTP_SUSPENDED || s->life == CTP_RUNNING))
			o->v[o->n++] = (struct owner){{s->lo, s->hi}, s->id};
	}
	if (o->n)
		qsort(o->v, o->n, sizeof(*o->v), by_at);
}

void owners_deinit(struct owners *o)
{
	free(o->v);
	*o = (struct owners){0};
}

uint64_t owners_find(const struct owners *o, uint64_t addr)
{
	size_t lo = FIRST_NOT(o->n, i, o->v[i].stack.lo <= addr);
	return lo && addr < o->v[lo - 1].stack.hi ? o->v[lo - 1].id : 0;
}
