// SPDX-License-Identifier: MIT
//
// Names a stack by predict and verify. The key (return address, depth) selects candidates. A
// candidate lists the words on which a walk by call frame information depended: each return
// address, and each saved frame pointer that a CFA was computed from, as offsets from the
// stack's top. If all words are equal, a walk would take the same steps, by induction over the
// frames: the answer is exact and costs a few independent loads. On a miss the stack is walked
// by recipes (cfi.c) and a candidate is added. Nothing is freed; lists are pushed to by
// compare-and-swap and read without a lock.
#include "preload/coroutine/stacks.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include "preload/coroutine/cfi.h"
#include "cpu.h"
#include "preload/guest/coredump_advise.h"
#include "preload/guest/exit.h"

enum { BUCKETS = 1 << (64 - STACKS_SHIFT), RECIPES = 1 << 15, NAMES = 1 << 16 };

struct known_recipe {
	uint64_t pc; // 0 free, 1 being written
	struct recipe recipe;
};
struct name { // a stack by its frames: one id for equal stacks at different depths
	uint64_t hash;
	uint32_t stack;
};

struct candidate **stacks_buckets;
static struct known_recipe *recipes;

// Where something was added since the last flush, so that a flush costs what there is, not what could be:
// some programs load and unload a library a thousand times a second. The bit is set after the addition.
enum { SHARE = 64 }; // entries for a bit
static uint64_t fresh_buckets[BUCKETS / SHARE / 64], fresh_recipes[RECIPES / SHARE / 64];

static void note_fresh(uint64_t *bits, size_t entry)
{
	size_t share = entry / SHARE;
	uint64_t bit = 1ULL << share % 64;
	if (!(ctp_load64(&bits[share / 64]) & bit))
		ctp_order_or64(&bits[share / 64], bit);
}

static void flush_bucket(uint32_t i)
{
	struct candidate *c = ctp_load_ptr(&stacks_buckets[i]);
	while (c && !ctp_cas_ptr(&stacks_buckets[i], &c, NULL))
		;
	for (; c; c = c->next) { // entities still point to it
		ctp_store64(&c->plain, 0);
		ctp_store64(&c->pc, 0);
	}
}

static void flush_recipe(uint32_t i)
{
	if (ctp_load64(&recipes[i].pc) > 1)
		ctp_store64(&recipes[i].pc, 0);
}

static void flush_fresh(uint64_t *bits, uint32_t words, void (*flush)(uint32_t entry))
{
	for (uint32_t w = 0; w < words; w++) {
		uint64_t seen = ctp_load64(&bits[w]);
		if (seen)
			ctp_order_and64(&bits[w], ~seen);
		for (; seen; seen &= seen - 1)
			for (uint32_t i = 0; i < SHARE; i++)
				flush((w * 64 + (uint32_t)__builtin_ctzll(seen)) * SHARE + i);
	}
}
static struct name *names;
const struct candidate stacks_none = {.last = -2, .last_absolute = -2};

int stacks_init(void)
{
	stacks_buckets = memory_take(sizeof(*stacks_buckets) * BUCKETS);
	recipes = memory_take(sizeof(*recipes) * RECIPES);
	names = memory_take(sizeof(*names) * NAMES);
	return stacks_buckets && recipes && names ? 0 : -1;
}

void stacks_flush(void)
{
	flush_fresh(fresh_buckets, sizeof(fresh_buckets) / sizeof(fresh_buckets[0]), flush_bucket);
	flush_fresh(fresh_recipes, sizeof(fresh_recipes) / sizeof(fresh_recipes[0]), flush_recipe);
}

static struct recipe recipe_of(uint64_t pc)
{
	struct known_recipe *k = &recipes[pc * 0x9E3779B97F4A7C15ULL >> 49];
	if (ctp_load64(&k->pc) == pc) {
		struct recipe r = k->recipe;
		if (ctp_key_still(&k->pc, pc))
			return r;
	}
	struct recipe r = cfi_recipe(pc);
	if (ctp_key_take(&k->pc)) { // the newer one stays
		k->recipe = r;
		ctp_store64(&k->pc, pc);
		note_fresh(fresh_recipes, (size_t)(k - recipes));
	}
	return r;
}

// What it depends on, as struct check, but as seen from the top. off 0: the fp register.
struct need {
	uint64_t val;
	uint32_t off;
	bool rel;
};

struct walk {
	uint64_t top;
	uint32_t n, nneeds;
	bool guessed, truncated;
	bool sp_lost;   // the frame's sp is only known to be f->sp or above
	bool careful;   // the stack may not be there
	uint32_t steps; // to a caller
	uint64_t pcs[CTP_FRAMES_MAX];
	struct need needs[3 * CTP_FRAMES_MAX + 2];
};

static void need_add(struct walk *w, uint64_t at, uint64_t val, bool rel)
{
	if (w->nneeds < sizeof(w->needs) / sizeof(w->needs[0]))
		w->needs[w->nneeds++] =
			(struct need){rel ? w->top - val : val, at ? (uint32_t)(w->top - at) : 0, rel};
	else
		w->truncated = true;
}

// What a frame is stepped over by, where its recipe alone does not do.
static bool recipe_mend(struct walk *w, const struct frame *f, struct recipe *r)
{
	if (w->sp_lost && r->cfa == CFA_SP) { // its fp points to where it saved its caller's
		if (r->fp == FP_AT_CFA)
			*r = (struct recipe){.cfa = CFA_FP,
					     .cfa_off = -r->fp_off,
					     .fp = FP_AT_CFA,
					     .fp_off = r->fp_off,
					     .ra_off = r->ra_off};
		else
			r->bare = 1;
	}
	w->sp_lost = false;
	if (!r->bare)
		return true;
	// One frame-pointer step, as a guess.
	if (f->fp < f->sp || f->fp > w->top - 16 || (f->fp & 7))
		return false;
	*r = (struct recipe){.cfa = CFA_FP, .cfa_off = 16, .fp = FP_AT_CFA, .fp_off = -16, .ra_off = -8};
	w->guessed = true;
	w->sp_lost = !DWARF_RECORD_ENDS_FRAME;
	return true;
}

// A word of the stack that a step reads: not below `lo`.
static bool word_at(const struct walk *w, uint64_t at, uint64_t lo, uint64_t *out)
{
	if (at < lo || at > w->top - 8 || (at & 7))
		return false;
	if (CTP_UNLIKELY(w->careful))
		return stacks_peek(at, out);
	*out = *(const uint64_t *)at;
	return true;
}

// Steps *f to its caller. `fp_at`: where f->fp was loaded from (0: the register),
// fp_used: it has been checked. False at the end, or where nothing more is known.
static bool step(struct walk *w, struct frame *f, uint64_t *fp_at, bool *fp_used)
{
	struct recipe r = recipe_of(f->pc);
	uint64_t cfa, pc, lo = f->sp;
	if (r.end || !recipe_mend(w, f, &r))
		return false;
	if (r.cfa != CFA_SP && !*fp_used) {
		need_add(w, *fp_at, f->fp, true);
		*fp_used = true;
	}
	if (r.cfa == CFA_AT_FP) {
		uint64_t at = f->fp + (uint64_t)(int64_t)r.cfa_off;
		if (!word_at(w, at, lo, &cfa))
			return false;
		need_add(w, at, cfa, true);
	} else {
		cfa = (r.cfa == CFA_SP ? f->sp : f->fp) + (uint64_t)(int64_t)r.cfa_off;
	}
	if (cfa < lo + 8 || cfa > w->top || (cfa & 7))
		return false;
	uint64_t ra_at = cfa + (uint64_t)(int64_t)r.ra_off;
	if (!word_at(w, ra_at, lo, &pc))
		return false;
	pc = dwarf_return_address(pc);
	if (r.fp == FP_AT_CFA || r.fp == FP_AT_FP) {
		uint64_t at = (r.fp == FP_AT_CFA ? cfa : f->fp) + (uint64_t)(int64_t)r.fp_off;
		if (!word_at(w, at, lo, &f->fp))
			return false;
		*fp_at = at;
		*fp_used = false;
	} else if (r.fp == FP_LOST) {
		f->fp = 0;
		*fp_used = true;
	}
	need_add(w, ra_at, pc, false);
	f->pc = pc;
	f->sp = cfa;
	return pc != 0;
}

static inline bool ours(uint64_t pc)
{
	const struct ctp_ext *e = ctp_tracer->region.ext;
	return pc - e->self_base < e->self_end - e->self_base;
}

static void walk(struct walk *w, struct frame f)
{
	uint64_t fp_at = 0;
	bool fp_used = false;
	w->n = w->nneeds = w->steps = 0;
	w->guessed = w->truncated = w->sp_lost = false;
	do {
		if (w->n == CTP_FRAMES_MAX) {
			w->truncated = true;
			break;
		}
		if (!ours(f.pc)) // the stubs in which a coroutine's stack ends
			w->pcs[w->n++] = f.pc;
	} while (step(w, &f, &fp_at, &fp_used) && ++w->steps);
}

// Publishes the frames under a new id, or finds the id they have.
static uint32_t name_stack(const struct walk *w)
{
	struct ctp_region *r = &ctp_tracer->region;
	uint64_t flags = (w->guessed ? CTP_STACK_GUESSED : 0) | (w->truncated ? CTP_STACK_TRUNCATED : 0);
	uint64_t head = w->n | flags << 32, hash = head;
	for (uint32_t i = 0; i < w->n; i++)
		hash = (hash ^ w->pcs[i]) * 0x100000001B3ULL + (hash >> 29);
	struct name *nm = &names[hash * 0x9E3779B97F4A7C15ULL >> 48];
	uint32_t id = ctp_load32(&nm->stack);
	if (id && id < r->stacks_max && nm->hash == hash) {
		uint32_t at = ctp_load32(&r->stack_index[id]);
		if (at && r->stack_words[at - 1] == head &&
		    memcmp(&r->stack_words[at], w->pcs, w->n * sizeof(uint64_t)) == 0)
			return id;
	}
	if (ctp_load32(&r->ext->stack_count) >= r->stacks_max - 1 ||
	    ctp_load32(&r->ext->stack_words) > r->stack_words_max - CTP_FRAMES_MAX - 1) {
		ctp_or32(&r->ext->gaps, CTP_GAP_STACKS);
		return 0;
	}
	uint32_t at = ctp_add32(&r->ext->stack_words, w->n + 1);
	id = ctp_add32(&r->ext->stack_count, 1) + 1;
	if (id >= r->stacks_max || at > r->stack_words_max - CTP_FRAMES_MAX - 1)
		return 0;
	coredump_advise_grow(COREDUMP_STACK_INDEX, id + 1);
	coredump_advise_grow(COREDUMP_STACK_WORDS, at + w->n + 1);
	coredump_advise_grow(COREDUMP_SITES, id + 1);
	r->stack_words[at] = head;
	memcpy(&r->stack_words[at + 1], w->pcs, w->n * sizeof(uint64_t));
	ctp_store32(&r->stack_index[id], at + 1);
	nm->hash = hash;
	ctp_store32(&nm->stack, id);
	return id;
}

uint32_t stacks_frames(uint32_t id, uint64_t *innermost)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint32_t at = id && id < r->stacks_max ? ctp_load32(&r->stack_index[id]) : 0;
	if (!at)
		return 0;
	*innermost = r->stack_words[at];
	return (uint32_t)r->stack_words[at - 1];
}

uint32_t stacks_of(const uint64_t *pcs, uint32_t n)
{
	struct walk w = {.n = 0};
	for (uint32_t i = 0; i < n && w.n < CTP_FRAMES_MAX; i++)
		if (!ours(pcs[i]))
			w.pcs[w.n++] = pcs[i];
	w.truncated = n > CTP_FRAMES_MAX;
	return name_stack(&w);
}

// What a walk depended on, as seen from the stack pointer. NULL: no memory.
static struct candidate *candidate_of(const struct walk *w, const struct frame *f, uint32_t id)
{
	enum { BEFORE = 64 - offsetof(struct candidate, plain) };
	char *at = memory_take(BEFORE + sizeof(struct candidate) + (w->nneeds + 1) * sizeof(struct check));
	struct candidate *c = at ? (struct candidate *)(at + BEFORE) : NULL;
	uint64_t depth = w->top - f->sp;
	int32_t n = 0;
	if (!c)
		return NULL;
	c->depth = depth;
	c->stack = id;
	for (uint32_t i = w->nneeds; i-- > 0;)
		if (!w->needs[i].rel)
			c->checks[n++] = (struct check){w->needs[i].val, depth - w->needs[i].off};
	if (n & 1) { // they are compared two at a time
		c->checks[n] = c->checks[n - 1];
		n++;
	}
	c->last_absolute = 2 * (n - 1);
	for (uint32_t i = 0; i < w->nneeds; i++) {
		const struct need *k = &w->needs[i];
		if (k->rel && k->off)
			c->checks[n++] = (struct check){depth - k->val, depth - k->off};
		else if (k->rel)
			c->fp_val = depth - k->val;
		c->fp |= !k->off;
	}
	c->last = 2 * (n - 1);
	c->pc = f->pc;
	c->plain = n && c->last == c->last_absolute && !c->fp ? f->pc : 0;
	return c;
}

// Names the stack, and keeps what names it.
static uint32_t add(const struct walk *w, const struct frame *f, struct candidate **bucket)
{
	uint32_t id = name_stack(w);
	struct candidate *c = id ? candidate_of(w, f, id) : NULL;
	if (!c)
		return id;
	c->next = ctp_load_ptr(bucket);
	while (!ctp_cas_ptr(bucket, &c->next, c))
		;
	note_fresh(fresh_buckets, (size_t)(bucket - stacks_buckets));
	return id; // no entity's `last` yet: a coroutine that suspends here again first notes that it was
		   // resumed in between (coroutine.c)
}

// Out of line: a walk's working memory is large, and rarely needed.
static __attribute__((noinline)) uint32_t walk_and_add(const struct frame *f, uint64_t top,
						       struct candidate **bucket)
{
	struct walk w = {.top = top};
	walk(&w, *f);
	return add(&w, f, bucket);
}

// The frame at pc, and behind it those of another stack.
static __attribute__((noinline)) uint32_t join_and_add(uint64_t pc, uint32_t callers)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint32_t at = callers && callers < r->stacks_max ? ctp_load32(&r->stack_index[callers]) : 0;
	struct walk w = {.top = STACKS_BEHIND | callers, .n = 1};
	w.pcs[0] = pc;
	uint32_t more = at ? (uint32_t)r->stack_words[at - 1] : 0;
	for (uint32_t i = 0; i < more; i++) {
		if (w.n == CTP_FRAMES_MAX) {
			w.truncated = true;
			break;
		}
		w.pcs[w.n++] = r->stack_words[at + i];
	}
	return add(&w, &(struct frame){.pc = pc}, stacks_bucket(pc, w.top));
}

uint32_t stacks_behind(uint64_t pc, uint32_t callers)
{
	const struct candidate *c = stacks_met_behind(pc, callers);
	return c ? c->stack : join_and_add(pc, callers);
}

bool stacks_peek(uint64_t at, uint64_t *out)
{
	struct iovec here = {out, sizeof(*out)}, there = {(void *)at, sizeof(*out)};
	long pid = guest_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	return guest_syscall(SYS_process_vm_readv, pid, (long)&here, 1, (long)&there, 1, 0) == sizeof(*out);
}

uint32_t stacks_interrupted(const struct frame *f, uint64_t top, uint32_t *steps)
{
	static struct walk w; // there is only one, and little room
	w.top = top;
	w.careful = true;
	if (f->sp >= top || (f->sp & 7))
		return 0;
	walk(&w, *f);
	*steps = w.steps;
	return w.n ? name_stack(&w) : 0;
}

uint32_t stacks_id(const struct frame *f, uint64_t top, uint64_t *last)
{
	uint64_t depth = top - f->sp;
	if (CTP_UNLIKELY(f->sp > top || depth > UINT32_MAX ||
			 (f->sp & 7))) // at its top: the jump of whom nothing is left
		return 0;
	const struct candidate *c = stacks_met(f, top);
	if (!c)
		return walk_and_add(f, top, stacks_bucket(f->pc, depth));
	if (last)
		*last = (uint64_t)c;
	return c->stack;
}
