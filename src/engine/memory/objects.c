// SPDX-License-Identifier: MIT
//
// A coroutine's memory is its stack and its control block, each extended to the allocation
// that contains it, since a pointer to any part of a larger object may lead to the rest.
// Known allocations are the mmap that the hook saw and a block of glibc's malloc; otherwise
// the whole mapping counts. Static storage can always be reached by name, so P6a is answered
// here. The kernel merges neighbouring mappings: a suspect whose whole mapping contains
// memory of others stays undecided, and is no object for the search.
#include "engine/memory/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/heap/malloc_heap.h"
#include "engine/target/names.h"
#include "search/mark/scan.h"

static bool within(uint64_t addr, struct span s)
{
	return addr >= s.lo && addr < s.hi;
}

static const struct malloc_heap_query *asked(const struct malloc_heap_query *q, size_t n, uint64_t addr)
{
	size_t i = FIRST_NOT(n, k, q[k].addr < addr);
	return i < n && q[i].addr == addr && q[i].found ? &q[i] : NULL;
}

static bool anonymous(const struct maps_line *m)
{
	return !m->ino && (!*m->path || !strncmp(m->path, "[anon", 5));
}

static bool alike(const struct maps_line *a, const struct maps_line *b)
{
	return (anonymous(a) && anonymous(b)) || (a->ino == b->ino && !strcmp(a->path, b->path));
}

// What is asked of the mappings for each suspect, which may be as many: found once.
struct places {
	struct span *whole; // by mapping: all that adjoins it and is of its kind
	uint64_t *loaders;  // where mappings of the loader begin
	size_t nloaders;
	uint64_t bytes; // all mappings together
};

static void places_deinit(struct places *p)
{
	free(p->whole);
	free(p->loaders);
}

// Whatever may be done there is of one kind: a pool has pages without access between its parts, and leads to
// them from its start.
static void find_wholes(const struct proc_maps *m, struct span *whole)
{
	for (size_t i = 0; i < m->n; i++) {
		bool on = i && m->v[i - 1].hi == m->v[i].lo && alike(&m->v[i - 1], &m->v[i]);
		whole[i] = (struct span){on ? whole[i - 1].lo : m->v[i].lo, m->v[i].hi};
	}
	for (size_t i = m->n; i-- > 1;)
		if (whole[i - 1].lo == whole[i].lo)
			whole[i - 1].hi = whole[i].hi;
}

static bool places_init(struct places *p, const struct proc_maps *m)
{
	*p = (struct places){.whole = calloc(m->n + 1, sizeof(*p->whole)),
			     .loaders = calloc(m->n + 1, sizeof(*p->loaders))};
	if (!p->whole || !p->loaders)
		return false;
	find_wholes(m, p->whole);
	for (size_t i = 0; i < m->n; i++) {
		p->bytes += m->v[i].hi - m->v[i].lo;
		if (strstr(m->v[i].path, "/ld-"))
			p->loaders[p->nloaders++] = m->v[i].lo;
	}
	return true;
}

// The allocation that holds [at.lo, at.hi). False: no such memory, or not one allocation.
static bool grow(const struct inspection *l, const struct places *p, const struct malloc_heap_query *q,
		 size_t n, struct span at, struct span *out, bool *heap)
{
	const struct malloc_heap_query *h = asked(q, n, at.lo);
	const struct maps_line *m = proc_maps_find(&l->maps, at.lo);
	if (h && at.hi <= h->block.hi + 8) { // a block's last 8 bytes are the next header's
		*out = (struct span){h->block.lo, h->block.hi + 8};
		*heap = true;
		return true;
	}
	*heap = false;
	if (!m)
		return false;
	*out = p->whole[m - l->maps.v];
	return at.hi <= out->hi;
}

// Far from where the kernel puts what it may put anywhere, which is near the loader:
// such an address was chosen, and may stand in the program's code.
static bool is_chosen(const struct inspection *l, const struct places *p, uint64_t addr)
{
	const struct maps_line *m = proc_maps_find(&l->maps, addr);
	uint64_t nearest = UINT64_MAX;
	for (size_t i = 0; i < p->nloaders; i++) {
		uint64_t lo = p->loaders[i], off = lo > addr ? lo - addr : addr - lo;
		nearest = off < nearest ? off : nearest;
	}
	return !(m && !strcmp(m->path, "[heap]")) && nearest != UINT64_MAX &&
	       nearest > (64ULL << 30) + p->bytes;
}

static bool is_static(struct inspection *l, struct suspect *s, uint64_t addr, const char *what)
{
	char symbol[160];
	if (!names_static(l->pid, &l->maps, addr, symbol, sizeof(symbol)))
		return false;
	inspect_say(&s->a[PROOF_P6A], HOLDS_FALSE,
		    "its %s lies in static storage (%s), which can always be reached", what, symbol);
	inspect_open(l, s->s.id, "its %s lies in static storage (%s)", what, symbol);
	return true;
}

// What of its stack is known to be its own: all, or, where it began without a call that said how far
// down it goes (lo = hi), what it uses now.
static struct span known_stack(const struct ctp_state *c)
{
	bool open = c->lo && c->lo == c->hi && c->regs[CTP_REG_SP] < c->hi;
	return (struct span){open ? c->regs[CTP_REG_SP] : c->lo, c->hi};
}

static void own(struct inspection *l, struct suspect *s, const struct places *p,
		const struct malloc_heap_query *q, size_t n)
{
	const struct ctp_state *c = &s->s;
	struct inspect_answer *a = &s->a[PROOF_P6A];
	struct span stack, block, sure = known_stack(c);
	s->heap[0] = s->heap[1] = s->whole[0] = s->whole[1] = s->mixed = false;
	inspect_say(a, HOLDS_OPEN, "the bounds of its stack are not known");
	if (!sure.lo || sure.hi <= sure.lo || sure.hi > SPAN_ADDRESS_MASK || !c->slot)
		return;
	if (c->flags & CTP_STATE_SHARED_STACK) {
		inspect_say(a, HOLDS_OPEN, "it shares its stack with others by copying");
		return;
	}
	if (c->regs[CTP_REG_SP] < sure.lo || c->regs[CTP_REG_SP] > sure.hi) {
		inspect_say(a, HOLDS_OPEN,
			    "it left from another stack than its own, in a way that was not seen");
		return;
	}
	if (is_static(l, s, sure.lo, "stack"))
		return;
	if (c->block_lo && c->block_lo <= c->lo && c->block_hi >= c->hi && c->block_hi <= SPAN_ADDRESS_MASK)
		stack = (struct span){c->block_lo, c->block_hi};
	else if (!grow(l, p, q, n, sure, &stack, &s->heap[0]) || (c->lo == c->hi && !s->heap[0]))
		return; // a mapping may hold the stacks of others
	else if (!s->heap[0] && c->source == CTP_SOURCE_SEARCH) {
		inspect_say(a, HOLDS_OPEN, "what holds its stack was allocated before ctp-run attached");
		return;
	} else
		s->whole[0] = !s->heap[0];
	if (!within(c->slot, stack)) {
		if (is_static(l, s, c->slot, "control block"))
			return;
		inspect_say(a, HOLDS_OPEN, "the block that holds its saved context is not known");
		if (!grow(l, p, q, n, (struct span){c->slot, c->slot + 8}, &block, &s->heap[1]))
			return;
		s->whole[1] = !s->heap[1];
		s->mine[1] = block;
	}
	if (is_chosen(l, p, sure.lo) || is_chosen(l, p, c->slot)) {
		inspect_say(
			a, HOLDS_OPEN,
			"its memory lies at an address that the program chose, which may stand in its code");
		return;
	}
	s->mine[0] = stack;
	s->nmine = within(c->slot, stack) ? 1 : 2;
}

// A stack or control block whose bounds are known.
struct known {
	struct span at;
	uint64_t id;
};

static int by_lo(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	return x->at.lo < y->at.lo ? -1 : x->at.lo > y->at.lo;
}

// Does `at` hold what is another's than s's? v: in order of their addresses.
static bool holds_others(const struct suspect *s, struct span at, const struct known *v, size_t n)
{
	size_t i = FIRST_NOT(n, k, v[k].at.lo < at.hi);
	while (i > 0 && v[i - 1].id == s->s.id)
		i--; // its own
	return i > 0 && v[i - 1].at.hi > at.lo;
}

static void set_apart(struct inspection *l)
{
	struct known *known = calloc(2 * l->n + 1, sizeof(*known));
	size_t n = 0;
	for (size_t i = 0; known && i < l->n; i++)
		for (unsigned k = 0; k < l->who[i]->nmine; k++)
			if (!l->who[i]->whole[k])
				known[n++] = (struct known){l->who[i]->mine[k], l->who[i]->s.id};
	if (n)
		qsort(known, n, sizeof(*known), by_lo);
	for (size_t i = 0; n && i < l->n; i++) {
		struct suspect *s = l->who[i];
		for (unsigned k = 0; k < s->nmine; k++)
			s->mixed |= s->whole[k] && holds_others(s, s->mine[k], known, n);
		if (s->mixed)
			inspect_say(
				&s->a[PROOF_P6A], HOLDS_OPEN,
				"its memory lies among what is others': what leads to it cannot be told apart");
	}
	free(known);
}

void objects_find(struct inspection *l)
{
	struct malloc_heap_query *q = calloc(2 * l->n + 1, sizeof(*q));
	size_t n = 0;
	for (size_t i = 0; q && i < l->n; i++) {
		q[n++].addr = known_stack(&l->who[i]->s).lo;
		q[n++].addr = l->who[i]->s.slot;
	}
	if (q)
		malloc_heap_resolve(&l->memory, q, n);
	struct places p;
	bool known = places_init(&p, &l->maps);
	for (size_t i = 0; i < l->n; i++) {
		l->who[i]->nmine = 0;
		if (known)
			own(l, l->who[i], &p, q, q ? n : 0);
	}
	places_deinit(&p);
	free(q);
	set_apart(l);
}
