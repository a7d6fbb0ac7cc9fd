// SPDX-License-Identifier: MIT
//
// A pointer to just behind a mapping may be the way back to what lies at its
// end; but the same number is the start of whatever begins there. Only where
// that has a record of its own, the words in that record are taken for its own:
// a coroutine's stack and the block that holds its context, the C library's
// record of a thread. All other such words lead to both.
#include "engine/ends.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "engine/heap.h"

enum { PAGE = 4096, GUARD_PAGES = 64, RECORD_BYTES = 1 << 13, GUARD_MOST = 1 << 20, BLOCK_MOST = 1 << 12, THREAD_BYTES = 1 << 14 };

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

// All addresses at which a suspect's mapping ends; sorted.
static uint64_t *all_ends(const struct look *l, size_t *n)
{
	uint64_t *v = calloc(2 * l->n + 1, sizeof(*v));
	*n = 0;
	for (size_t i = 0; v && i < l->n; i++)
		for (unsigned k = 0; k < l->who[i]->nmine; k++)
			if (!l->who[i]->heap[k])
				v[(*n)++] = l->who[i]->mine[k].hi;
	if (v)
		qsort(v, *n, sizeof(*v), by_at);
	return v;
}

static bool ends_at(const uint64_t *v, size_t n, uint64_t addr)
{
	return addr && bsearch(&addr, v, n, sizeof(*v), by_at);
}

// What begins at `at` is the coroutine's `s`: its stack, and what holds its context.
static void of_coroutine(struct ends *e, const struct look *l, const struct ctp_state *s, uint64_t at)
{
	const struct ctp_ext *x = l->r->ext;
	bool handle = s->life == CTP_SUSPENDED && (s->how == CTP_HOW_FCONTEXT || s->how == CTP_HOW_ONTOP);
	add(e, at, s->lo, s->hi, handle ? s->slot : 0);
	if (s->block_hi > s->block_lo)
		add(e, at, s->block_lo, s->block_hi, 0);
	if (s->slot)
		add(e, at, s->slot, s->slot + x->context_off + 8ULL * x->context_words, 0);
}

// The heap's blocks that hold those contexts are wider than they.
static void widen(struct ends *e, const struct look *l)
{
	struct heap_query *q = calloc(e->n + 1, sizeof(*q));
	size_t n = q ? e->n : 0;
	for (size_t i = 0; i < n; i++)
		q[i].addr = e->v[i].by.lo;
	if (n)
		heap_resolve(l->pid, &l->maps, q, n, l->deadline_ns);
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

// A thread's stack, or the guard below it, begins there: the C library's record says so.
static void of_threads(struct ends *e, const struct look *l, const uint64_t *ends, size_t n)
{
	for (size_t i = 0; i < l->tasks.n; i++) {
		struct span stack;
		if (l->tasks.v[i].tid == l->pid || !dead_thread_stack(l, l->tasks.v[i].tid, l->tasks.v[i].sp, &stack))
			continue;
		for (size_t k = 0; k < n; k++)
			if (ends[k] <= stack.lo && stack.lo - ends[k] <= GUARD_MOST && (!k || ends[k] != ends[k - 1]))
				add(e, ends[k], stack.hi, stack.hi + RECORD_BYTES, 0);
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

// Does a record of a thread, as the C library keeps it (its own address in its first
// and third word), lie at the top of this mapping?
static bool holds_thread(pid_t pid, const struct maps_line *m)
{
	uint64_t words[THREAD_BYTES / 8], bytes = m->hi - m->lo < sizeof(words) ? m->hi - m->lo : sizeof(words);
	struct iovec here = {words, bytes}, there = {(void *)(uintptr_t)(m->hi - bytes), bytes};
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)bytes)
		return false;
	for (uint64_t i = 0; i + 3 <= bytes / 8; i += 8)
		if (words[i] == m->hi - bytes + 8 * i && words[i + 2] == words[i])
			return true;
	return false;
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
		if (m->perms[1] == 'w' && !*m->path && ends_at(ends, n, at) && !has_sleeper(l, m) && holds_thread(l->pid, m))
			add(e, at, m->lo, m->hi, 0);
	}
}

void ends_init(struct ends *e, const struct look *l)
{
	size_t n;
	uint64_t *ends = all_ends(l, &n);
	uint32_t stations = ctp_load32(&l->r->header->allocated_count);
	for (uint32_t i = 0; n && i < stations && i < l->r->stations_max; i++) {
		struct ctp_state s;
		const struct ctp_state *from = &l->r->stations[i].state;
		if (i % 4096 == 4095 && look_late(l))
			break; // fewer words are explained then
		if (ctp_load32(&from->owner) != CTP_OWNER_GUEST || (!ends_at(ends, n, from->lo) && !ends_at(ends, n, from->block_lo)) ||
		    !ctp_state_read(from, &s) || s.entity != CTP_COROUTINE || (s.life != CTP_SUSPENDED && s.life != CTP_RUNNING))
			continue;
		if (ends_at(ends, n, s.lo))
			of_coroutine(e, l, &s, s.lo);
		if (s.block_lo != s.lo && ends_at(ends, n, s.block_lo))
			of_coroutine(e, l, &s, s.block_lo);
	}
	if (e->n)
		widen(e, l);
	of_threads(e, l, ends, n);
	of_loader(e, l, ends, n);
	of_ended_threads(e, l, ends, n);
	free(ends);
	if (e->n)
		qsort(e->v, e->n, sizeof(*e->v), by_at);
}

void ends_deinit(struct ends *e)
{
	free(e->v);
	*e = (struct ends){0};
}

// The first about this address, or what comes behind.
static size_t first_of(const struct ends *e, uint64_t address)
{
	size_t lo = 0, hi = e->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (e->v[mid].at < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool ends_explain(const struct ends *e, uint64_t at, uint64_t address)
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

bool ends_may_explain(const struct ends *e, uint64_t address)
{
	return handle_at(e, address);
}

bool ends_explain_in(const struct ends *e, pid_t pid, struct span block, uint64_t address)
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

// ----------------------------------------------------------------- bare stacks

// Private pages that nobody has touched hold nothing.
static bool untouched(const struct look *l, int pagemap, uint64_t lo, uint64_t hi)
{
	uint64_t entries[GUARD_PAGES + 1], n = (hi - lo) / PAGE;
	for (uint64_t at = lo; at < hi;) {
		const struct maps_line *m = proc_maps_find(&l->maps, at);
		if (!m || m->ino || m->perms[3] != 'p')
			return false;
		at = m->hi;
	}
	if (n > GUARD_PAGES + 1 || pread(pagemap, entries, n * 8, (off_t)(lo / PAGE * 8)) != (ssize_t)(n * 8))
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (entries[i] >> 62) // present, or swapped out
			return false;
	return true;
}

// Whoever has the end of a stack that was declared up to its mapping's end comes
// by it to frames, of which only the compiler knows what is where. Not so where the
// program may have put something of its own at the bottom, or at the top before it
// was declared; nor where the context is a record on the stack itself, and no handle.
static bool bare(const struct look *l, const struct suspect *s, int pagemap)
{
	enum { ABOVE = 3 }; // words that makecontext leaves above the first frame
	const struct ctp_state *c = &s->s;
	struct span m = s->mine[0];
	uint64_t top[ABOVE];
	bool handle = c->how == CTP_HOW_FCONTEXT || c->how == CTP_HOW_ONTOP; // told by nothing but itself
	if (s->nmine != (handle ? 1 : 2) || s->heap[0] || m.hi != c->hi || m.hi % PAGE || c->lo % PAGE || m.lo % PAGE ||
	    (c->flags & CTP_STATE_FOREIGN) || c->hi - c->lo < 2 * PAGE || c->lo - m.lo > GUARD_PAGES * PAGE)
		return false;
	if (!untouched(l, pagemap, m.lo, c->lo + PAGE) ||
	    proc_peek(l->pid, c->hi - sizeof(top), top, sizeof(top), false) != sizeof(top))
		return false;
	struct span context = handle ? (struct span){c->slot, c->slot} : s->mine[1];
	for (unsigned i = 0; i < ABOVE; i++)
		if (top[i] >= context.lo - 16 && top[i] <= context.hi)
			return false;
	return true;
}

bool *ends_bare(const struct look *l)
{
	char path[40];
	bool *is = calloc(l->n + 1, sizeof(*is));
	snprintf(path, sizeof(path), "/proc/%d/pagemap", l->pid);
	int pagemap = is ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	for (size_t i = 0; pagemap >= 0 && i < l->n; i++)
		is[i] = bare(l, l->who[i], pagemap);
	if (pagemap >= 0)
		close(pagemap);
	return is;
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
	uint32_t n = ctp_load32(&l->r->header->allocated_count);
	n = n < l->r->stations_max ? n : l->r->stations_max;
	o->v = calloc(n + 1, sizeof(*o->v));
	for (uint32_t i = 0; o->v && i < n; i++) {
		const struct ctp_state *s = &l->r->stations[i].state;
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
	size_t lo = 0, hi = o->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (o->v[mid].stack.lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < o->v[lo - 1].stack.hi ? o->v[lo - 1].id : 0;
}
