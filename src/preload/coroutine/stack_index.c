// SPDX-License-Identifier: MIT
//
// A map of the address space in pages of 4 KiB: a hash finds the leaf of a block of 2 MiB. A
// page can hold the end of one stack and the beginning of another (stacks from malloc are not
// aligned), so a leaf names the owner of the page's first byte and that of its last; and at
// most six save slots, as a ucontext_t has 968 bytes. Slots are stored apart: few pages have
// one, and a stack has many pages. Entries are station numbers + 1. They are never cleared: an
// entry counts only if the station agrees. Where a large stack is made again in the same place,
// its pages name a span instead (stack_span.h), and nothing is written to them any more.
#include "preload/coroutine/stack_index.h"

#include "preload/coroutine/inherit.h"
#include "preload/coroutine/stack_span.h"
#include "preload/coroutine/station.h"

enum { BLOCK_BITS = STACK_INDEX_BLOCK_BITS, BLOCKS = STACK_INDEX_BLOCKS };
enum { PAGE_BITS = 12, PAGES = 1 << (BLOCK_BITS - PAGE_BITS), SLOTS = 6 };
enum { SPAN_LEAST = 8 }; // pages of a stack that may have a span

union cover {
	uint64_t both;
	struct {
		uint32_t first, last;
	};
};
struct leaf {
	union cover covers[PAGES];
	uint32_t any[PAGES / 32]; // a bit for each page that ever had a slot
	uint32_t slots[PAGES][SLOTS];
};
struct stack_index_block *stack_index_blocks;

int stack_index_init(void)
{
	stack_index_blocks = memory_take(sizeof(*stack_index_blocks) * BLOCKS);
	return stack_index_blocks ? span_init() : -1;
}

static struct leaf *leaf_of(uint64_t addr, bool make)
{
	uint64_t number = stack_index_number(addr);
	uint32_t at = stack_index_place(number);
	for (uint32_t i = 0; i < 64; i++) {
		struct stack_index_block *b = &stack_index_blocks[(at + i) & (BLOCKS - 1)];
		uint64_t is = ctp_load64(&b->number);
		if (!is) {
			if (!make)
				return NULL;
			if (!ctp_cas64(&b->number, 0, number) && ctp_load64(&b->number) != number)
				continue;
		} else if (is != number) {
			continue;
		}
		struct leaf *leaf = ctp_load_ptr(&b->leaf);
		if (!leaf && make) {
			struct leaf *fresh = memory_take(sizeof(*fresh));
			if (!fresh)
				return NULL;
			if (ctp_cas_ptr(&b->leaf, &leaf, fresh))
				leaf = fresh;
		}
		return leaf;
	}
	return NULL;
}

static inline unsigned page_at(uint64_t addr)
{
	return addr >> PAGE_BITS & (PAGES - 1);
}

// How many pages from `page` on, before `end`, have one leaf.
static inline uint64_t run_of(uint64_t page, uint64_t end)
{
	uint64_t n = PAGES - (page & (PAGES - 1));
	return n < end - page ? n : end - page;
}

// The first page with slots, from `at` on and before `end`; else `end`.
static inline unsigned next_with_slots(const struct leaf *l, unsigned at, unsigned end)
{
	while (at < end) {
		uint32_t bits = ctp_load32(&l->any[at / 32]) >> at % 32;
		if (bits) {
			at += (unsigned)__builtin_ctz(bits);
			return at < end ? at : end;
		}
		at = (at / 32 + 1) * 32;
	}
	return end;
}

// Who finds a station's number here finds what was in the station before.
static inline uint32_t get(const uint32_t *p)
{
	return ctp_load32(p);
}

static inline void set(uint32_t *p, uint32_t v)
{
	ctp_store32(p, v);
}

static inline bool on_stack(const struct ctp_state *s, uint64_t addr)
{
	return s && addr >= s->lo && addr <= s->hi && !(s->flags & CTP_STATE_STACK_FREED);
}

struct ctp_state *stack_index_known(uint64_t addr)
{
	const struct leaf *l = leaf_of(addr, false);
	struct ctp_state *s = l ? station_at(span_owner(get(&l->covers[page_at(addr)].first))) : NULL;
	if (on_stack(s, addr))
		return s;
	s = l ? station_at(span_owner(get(&l->covers[page_at(addr)].last))) : NULL;
	return on_stack(s, addr) ? s : NULL;
}

struct ctp_state *stack_index_stack(uint64_t addr)
{
	struct ctp_state *s = stack_index_known(addr);
	return s ? s : inherit_meet(addr);
}

struct ctp_state *stack_index_slot(uint64_t addr)
{
	const struct leaf *l = leaf_of(addr, false);
	for (int i = 0; l && i < SLOTS; i++) {
		uint32_t n = get(&l->slots[page_at(addr)][i]);
		if (!n)
			break;
		struct ctp_state *s = station_at(n);
		if (s && s->slot == addr)
			return s;
	}
	return NULL;
}

// Stacks in [lo, hi), page by page. Most pages say what the one before said.
struct covering {
	uint64_t lo, hi;
	void (*each)(struct ctp_state *s, void *arg);
	void *arg;
	uint64_t seen;         // of the page before
	uint32_t told, except; // numbers
	uint32_t entry;        // what pages say from now on: `except`, or a span; 0: they are only looked at
	bool within;           // all of it lies in one page, which can say no more than one name
	uint64_t skip;         // pages before this one say what was told already
};

static void tell_owner(struct covering *c, uint32_t n)
{
	struct ctp_state *s = n == c->told || n == c->except ? NULL : station_at(n);
	if (!s || s->lo >= c->hi || s->hi <= c->lo)
		return;
	c->told = n;
	if (c->each)
		c->each(s, c->arg);
}

static __attribute__((noinline)) void tell_new(struct covering *c, uint64_t cover)
{
	for (unsigned i = 0; i < 2; i++) {
		uint32_t entry = (uint32_t)(cover >> 32 * i);
		if ((entry & SPAN_NUMBER) && c->entry && entry != c->entry)
			span_break(entry, c->lo, c->hi, c->within);
		tell_owner(c, span_owner(entry));
	}
	c->seen = cover;
	if (!c->entry && (cover & SPAN_NUMBER) && (uint32_t)cover == cover >> 32)
		c->skip = span_whole_end((uint32_t)cover) >> PAGE_BITS;
}

static inline void tell(struct covering *c, const union cover *u)
{
	uint64_t cover = ctp_load64(&u->both);
	if (CTP_UNLIKELY(cover != c->seen))
		tell_new(c, cover);
}

enum part { WHOLE, BEGIN, END };

// Pages from `page` on, before `end`, get a new owner, in this part.
static inline __attribute__((always_inline)) bool cover(struct covering *c, uint64_t page, uint64_t end,
							enum part part)
{
	uint64_t n, me = c->entry;
	for (; page < end; page += n) {
		struct leaf *l = leaf_of(page << PAGE_BITS, true);
		if (!l)
			return false;
		n = run_of(page, end);
		union cover *u = &l->covers[page & (PAGES - 1)];
		for (const union cover *last = u + n; u < last; u++) {
			tell(c, u);
			if (part == WHOLE)
				ctp_store64(&u->both, me | me << 32);
			else
				set(part == BEGIN ? &u->first : &u->last, (uint32_t)me);
		}
	}
	return true;
}

static bool cover_all(struct covering *c)
{
	enum { WITHIN = (1 << PAGE_BITS) - 1 };
	uint64_t page = c->lo >> PAGE_BITS, end = ((c->hi - 1) >> PAGE_BITS) + 1;
	bool begins = c->lo & WITHIN, ends = c->hi & WITHIN, good = true; // in the midst of a page
	c->within = end - page == 1;
	if (!c->within || begins != ends) {
		if (begins) {
			good = cover(c, page, page + 1, END);
			page++;
		}
		if (ends) {
			end--;
			good = cover(c, end, end + 1, BEGIN) && good;
		}
	}
	return good && cover(c, page, end, WHOLE);
}

// The span was [lo, hi), of `owner`: pages there name that one instead.
static void forget_span(uint32_t span, uint64_t lo, uint64_t hi, uint32_t owner)
{
	uint64_t n;
	for (uint64_t page = lo >> PAGE_BITS, end = ((hi - 1) >> PAGE_BITS) + 1; page < end; page += n) {
		struct leaf *l = leaf_of(page << PAGE_BITS, false);
		n = run_of(page, end);
		union cover *u = l ? &l->covers[page & (PAGES - 1)] : NULL;
		for (const union cover *last = u + n; l && u < last; u++) {
			ctp_cas32(&u->first, span, owner);
			ctp_cas32(&u->last, span, owner);
		}
	}
}

// Is [lo, hi) where the one before had just that stack?
static bool comes_again(uint64_t lo, uint64_t hi)
{
	uint64_t within = lo + (1 << PAGE_BITS); // its first page may be shared
	const struct leaf *l = leaf_of(within, false);
	const struct ctp_state *o = l ? station_at(span_owner(get(&l->covers[page_at(within)].first))) : NULL;
	return o && o->lo == lo && o->hi == hi;
}

// A large stack. False: it has no span, and is to be entered page by page.
static bool add_large(struct covering *c)
{
	uint64_t lo, hi;
	uint32_t was, span;
	if (span_again(c->lo, c->hi, c->except, &was)) {
		tell_owner(c, was);
		return true;
	}
	if (!comes_again(c->lo, c->hi) || !(span = span_take(c->lo, c->hi, &lo, &hi, &was)))
		return false;
	if (hi && (lo != c->lo || hi != c->hi))
		forget_span(span, lo, hi, was);
	span_begin(span, c->lo, c->hi, c->except);
	tell_owner(c, was);
	c->entry = span;
	bool good = cover_all(c);
	span_end(span, good);
	c->entry = c->except;
	return good;
}

void stack_index_add_stack(struct ctp_state *s, void (*taken)(struct ctp_state *old, void *arg), void *arg)
{
	struct covering c = {.lo = s->lo, .hi = s->hi, .each = taken, .arg = arg};
	c.except = c.entry = s->station + 1;
	inherit_forget(s->lo, s->hi);
	if (s->hi - s->lo >= SPAN_LEAST << PAGE_BITS && add_large(&c))
		return;
	if (!cover_all(&c))
		ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_MEMORY);
}

// Where one begins of whose stack no more is known.
static inline bool begins_at(const struct ctp_state *s, uint64_t page)
{
	return s->lo == s->hi && s->hi && (s->hi - 8) >> PAGE_BITS == page;
}

// False: another thread has taken the place meanwhile.
static bool note_page(struct leaf *l, unsigned page, uint32_t *place, uint32_t was, uint32_t number)
{
	if (!ctp_cas32(place, was, number))
		return false;
	if (!(ctp_load32(&l->any[page / 32]) & 1u << page % 32))
		ctp_or32(&l->any[page / 32], 1u << page % 32);
	return true;
}

void stack_index_add_begin(struct ctp_state *s)
{
	uint64_t at = s->hi - 8;
	struct leaf *l = leaf_of(at, true);
	uint32_t *slots = l ? l->slots[page_at(at)] : NULL;
	for (int i = 0; l && i < SLOTS;) {
		uint32_t was = get(&slots[i]);
		const struct ctp_state *o = station_at(was);
		bool used = o && o->life < CTP_FINISHED &&
			    (o->slot >> PAGE_BITS == at >> PAGE_BITS || begins_at(o, at >> PAGE_BITS));
		if (used && o != s)
			i++;
		else if (note_page(l, page_at(at), &slots[i], was, s->station + 1))
			return;
	}
	ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_MEMORY);
}

// The place that is best given to s, and what is in it; NULL: it has one, or there is none.
static uint32_t *place_for(const struct ctp_state *s, uint32_t *slots, uint32_t *was)
{
	uint32_t me = s->station + 1, *empty = NULL, *dead = NULL, dead_was = 0;
	bool mine = false;
	for (int i = 0; i < SLOTS; i++) {
		uint32_t n = get(&slots[i]);
		struct ctp_state *o = station_at(n);
		if (n == me)
			mine = true;
		else if (o && o->slot == s->slot)
			o->slot = 0; // what it had saved there is overwritten
		if (!empty && (!o || (o->slot >> PAGE_BITS != s->slot >> PAGE_BITS &&
				      !begins_at(o, s->slot >> PAGE_BITS)))) {
			empty = &slots[i];
			*was = n;
		}
		if (!o) // nor was any behind it ever given
			break;
		if (o->life == CTP_FINISHED || o->life == CTP_DESTROYED) {
			dead = &slots[i];
			dead_was = n;
		}
	}
	if (!empty)
		*was = dead_was;
	return mine ? NULL : empty ? empty : dead;
}

void stack_index_add_slot(struct ctp_state *s)
{
	struct leaf *l = leaf_of(s->slot, true);
	if (!l) {
		ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_MEMORY);
		return;
	}
	unsigned page = page_at(s->slot);
	uint32_t *place, was;
	while ((place = place_for(s, l->slots[page], &was)) &&
	       !note_page(l, page, place, was, s->station + 1))
		;
}

bool stack_index_clear(uint64_t lo, uint64_t hi)
{
	uint64_t n;
	for (uint64_t page = lo >> PAGE_BITS, end = ((hi - 1) >> PAGE_BITS) + 1; page < end; page += n) {
		const struct leaf *l = leaf_of(page << PAGE_BITS, false);
		n = run_of(page, end);
		if (!l)
			continue;
		unsigned from = page & (PAGES - 1), to = from + (unsigned)n;
		for (unsigned i = from; i < to; i++)
			if (ctp_load64(&l->covers[i].both))
				return false;
		if (next_with_slots(l, from, to) < to)
			return false;
	}
	return true;
}

static void tell_slots(const struct covering *c, const struct leaf *l, unsigned page)
{
	for (int i = 0; i < SLOTS; i++) {
		struct ctp_state *s = station_at(get(&l->slots[page][i]));
		if (!s)
			break;
		bool begins = s->lo == s->hi && s->hi > c->lo && s->hi <= c->hi;
		if (begins || (s->slot >= c->lo && s->slot < c->hi))
			c->each(s, c->arg);
	}
}

void stack_index_range(uint64_t lo, uint64_t hi, bool slots, void (*each)(struct ctp_state *s, void *arg),
		       void *arg)
{
	struct covering c = {.lo = lo, .hi = hi, .each = each, .arg = arg};
	uint64_t n;
	for (uint64_t page = lo >> PAGE_BITS, end = ((hi - 1) >> PAGE_BITS) + 1; page < end; page += n) {
		const struct leaf *l = leaf_of(page << PAGE_BITS, false);
		n = run_of(page, end);
		if (!l)
			continue;
		unsigned from = page & (PAGES - 1), to = from + (unsigned)n;
		const union cover *u = &l->covers[from];
		for (uint64_t at = page; at < page + n; at++) {
			if (CTP_UNLIKELY(at < c.skip))
				at = c.skip < page + n ? c.skip : page + n - 1;
			tell(&c, &u[at - page]);
		}
		for (unsigned i = slots ? from : to; (i = next_with_slots(l, i, to)) < to; i++)
			tell_slots(&c, l, i);
	}
}
