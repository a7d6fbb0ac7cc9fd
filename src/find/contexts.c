// SPDX-License-Identifier: MIT
//
// Shapes become contexts if they are fresh: what they say must still stand on their stack. A
// process is not stopped meanwhile, so each is read before and after its stack is walked; one that
// has changed is tried again, and left out as unsettled if it never stands still.
#include "find/contexts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "find/bounds.h"
#include "find/code.h"
#include "find/touched.h"
#include "search/heap/malloc_free.h"
#include "search/mark/scan.h"
#include "search/stacks/thread_stack.h"
#include "unwind/unwind.h"

enum { AT_ONCE = 256, TRIES = 3, FRAMES_MOST = 128 };

struct batch {
	struct shape *shapes[AT_ONCE];
	struct shape before[AT_ONCE];
	struct ctp_state states[AT_ONCE];
	struct unwind_near near[AT_ONCE], again[AT_ONCE];
	uint64_t addrs[AT_ONCE];
	uint64_t tops[AT_ONCE][2]; // the words at sp - 8 and sp
	bool got[AT_ONCE];
	uint64_t kept[AT_ONCE][2]; // where it was saved, read once more: the words that say where it goes on
	bool kept_got[AT_ONCE];
	uint64_t pcs[FRAMES_MOST];
};

struct finder {
	struct contexts *c;
	struct unwind *unwind;
	struct chain chain;
	struct shapes shapes;
	struct span_list natives;
	struct batch *b;
};

static size_t peek(void *ctx, uint64_t addr, void *to, size_t bytes)
{
	return image_peek(ctx, addr, to, bytes);
}

static bool is_freed(const struct contexts *c, uint64_t addr)
{
	return scan_find(c->free.v, c->free.n, addr) < c->free.n;
}

// Does what is said there make sense at all?
static bool plausible(struct finder *f, const struct shape *s)
{
	const struct maps_line *m = image_map(f->c->image, s->regs[CTP_REG_SP] - 8);
	if (!m || m->perms[1] != 'w' || s->regs[CTP_REG_SP] % 8)
		return false;
	return image_is_code(f->c->image, s->regs[CTP_REG_PC]) && strcmp(m->path, "[stack]") &&
	       scan_find(f->natives.v, f->natives.n, s->regs[CTP_REG_SP] - 8) == f->natives.n;
}

// The stacks that threads were born with, as far as a thread is on its own.
static void find_natives(struct finder *f)
{
	const struct image *im = f->c->image;
	struct span own;
	uint64_t says;
	for (size_t i = 0; i < im->nthreads; i++)
		if (im->threads[i].placed && thread_stack_find(&im->memory, im->threads[i].tid,
							       im->threads[i].regs[CTP_REG_SP], &own, &says))
			span_add(&f->natives, own.lo, own.hi);
	f->natives.n = spans_tidy(f->natives.v, f->natives.n);
}

// ----------------------------------------------------------------------- fresh

static bool in_function_of(const struct objects *o, uint64_t pc, uint64_t addr)
{
	struct span f;
	return objects_function(o, pc, &f) && addr > f.lo && addr < f.hi;
}

// Behind a call by a pointer, or of what jumps by one: it may have been a switch.
static bool may_be_switch(struct finder *f, uint64_t pc)
{
	uint64_t target;
	if (!code_call_before(f->c->image, pc, &target))
		return false;
	return !target || chain_jumps_on(&f->chain, code_through_stub(f->c->image, target));
}

// After setjmp has returned, its caller has called longjmp, or what calls it; nothing else may have run at
// that depth.
static bool left_from(const struct contexts *c, uint64_t pc, uint64_t top)
{
	uint64_t target;
	if (top == pc || in_function_of(&c->objects, pc, top))
		return true;
	return image_is_code(c->image, top) && code_call_before(c->image, top, &target) && target &&
	       sites_is_leave(&c->sites, code_through_stub(c->image, target));
}

// The evidence; 0: it is stale, or none at all. top: the words at sp - 8 and at sp.
static unsigned fresh(struct finder *f, struct shape *s, const uint64_t top[2])
{
	const struct contexts *c = f->c;
	uint64_t pc = s->regs[CTP_REG_PC];
	const struct site_engine *e = sites_engine(&c->sites, pc);
	unsigned declared = s->stack_hi ? CONTEXT_DECLARED : 0;
	switch (s->kind) {
	case SHAPE_UCONTEXT:
		if (sites_is_start(&c->sites, top[1]) && !e) {
			s->created = true;
			return CONTEXT_NEVER_RAN | CONTEXT_BEGINS | declared;
		}
		if (e && e->kind == SITE_GETCONTEXT && in_function_of(&c->objects, pc, top[0]))
			return CONTEXT_BEHIND_SWITCH | declared;
		if (top[0] != pc || (!e && !may_be_switch(f, pc)))
			return 0;
		return (e ? CONTEXT_BEHIND_SWITCH : 0) | CONTEXT_TOP_HOLDS | declared;
	case SHAPE_JMPBUF:
		return left_from(c, pc, top[0]) ?
			       CONTEXT_BEHIND_SWITCH | (top[0] == pc ? CONTEXT_TOP_HOLDS : 0) :
			       0;
	default:
		if (s->created)
			return s->nholders ? CONTEXT_NEVER_RAN | CONTEXT_HELD : 0;
		if (s->block && c->sites.engines[s->engine].recipe.returns)
			return top[0] == pc || in_function_of(&c->objects, pc, top[0]) ?
				       CONTEXT_BEHIND_SWITCH | (top[0] == pc ? CONTEXT_TOP_HOLDS : 0) :
				       0;
		if (s->block) // what is not on the stack may be stale
			return top[0] == pc ? CONTEXT_BEHIND_SWITCH | CONTEXT_TOP_HOLDS : 0;
		return s->nholders ? CONTEXT_BEHIND_SWITCH | CONTEXT_TOP_HOLDS | CONTEXT_HELD : 0;
	}
}

// The same place, and nothing of it has changed?
static bool same(const struct shape *a, const struct shape *b)
{
	return a->block == b->block && a->saved == b->saved && !memcmp(a->regs, b->regs, sizeof(a->regs));
}

// ----------------------------------------------------------------------- walks

static int keep_walk(struct contexts *c, struct context *x, const uint64_t *pcs, size_t n)
{
	x->pcs = c->npcs;
	x->npcs = n;
	for (size_t i = 0; i < n; i++) {
		if (GROW(c->pcs, c->npcs, c->pcs_capacity))
			return -ENOMEM;
		c->pcs[c->npcs++] = pcs[i];
	}
	return 0;
}

static uint64_t first_function(const struct contexts *c, const uint64_t *pcs, size_t n)
{
	struct span f;
	size_t i = n;
	uint64_t pc = pcs[i - 1];
	return objects_function(&c->objects, i > 1 ? pc - 1 : pc, &f) ? f.lo : pc;
}

static int take(struct finder *f, const struct shape *s, unsigned evidence, enum chain_end end, size_t n)
{
	struct contexts *c = f->c;
	const uint64_t *pcs = f->b->pcs;
	struct context x = {.kind = s->kind,
			    .state = s->created ? CONTEXT_CREATED : CONTEXT_SUSPENDED,
			    .shape = *s,
			    .lo = s->stack_lo,
			    .hi = s->stack_hi,
			    .evidence = evidence};
	const struct site_engine *e = sites_engine(&c->sites, s->regs[CTP_REG_PC]);
	x.how = e ? e->kind : s->kind == SHAPE_UCONTEXT ? SITE_SWAPCONTEXT : SITE_ASSEMBLY;
	x.engine = e ? (uint32_t)(e - c->sites.engines) : s->kind == SHAPE_ASSEMBLY ? s->engine : UINT32_MAX;
	if (s->created && s->kind == SHAPE_UCONTEXT)
		n = 1, f->b->pcs[0] = s->regs[CTP_REG_PC];
	x.id = s->block ? s->block : s->nholders ? s->holders[0] : s->saved;
	x.function = e ? e->function : s->kind == SHAPE_ASSEMBLY ? c->sites.engines[s->engine].function : 0;
	memcpy(x.regs, s->regs, sizeof(x.regs));
	if (!s->created)
		x.evidence |= CONTEXT_CHAIN_HOLDS | (end == CHAIN_START ? CONTEXT_BEGINS : 0);
	x.entry = s->created && s->kind == SHAPE_ASSEMBLY ? 0 : first_function(c, pcs, n);
	int ret = GROW(c->v, c->n, c->capacity);
	if (!ret)
		ret = keep_walk(c, &x, pcs, n);
	if (!ret)
		c->v[c->n++] = x;
	return ret;
}

// Does its stack begin as such a stack must?
static bool is_whole(const struct contexts *c, const struct shape *s, enum chain_end end)
{
	if (end == CHAIN_START || end == CHAIN_MADE)
		return true;
	return (end == CHAIN_OPEN || end == CHAIN_WEAK) &&
	       (s->kind != SHAPE_UCONTEXT || s->stack_hi || !c->sites.nstarts);
}

// One whose stack was read twice, and is the same.
static int judge(struct finder *f, size_t i)
{
	struct batch *b = f->b;
	struct shape *s = b->shapes[i];
	const uint64_t none[2] = {0, 0};
	unsigned evidence = fresh(f, s, b->got[i] ? b->tops[i] : none);
	bool guessed = false;
	if (!evidence)
		return 0;
	if (s->created)
		return take(f, s, evidence, CHAIN_OPEN, 0);
	size_t n = unwind_walk(f->unwind, &b->states[i], &b->near[i], b->pcs, FRAMES_MOST, &guessed);
	enum chain_end end = chain_check(&f->chain, b->pcs, &n);
	if (end == CHAIN_OPEN && !unwind_ended(f->unwind) && !guessed && n < FRAMES_MOST)
		return 0; // its last frame returns to nowhere
	f->c->finished += end == CHAIN_ENDED;
	if (!is_whole(f->c, s, end))
		return 0;
	if (end == CHAIN_WEAK || (end == CHAIN_OPEN && unwind_ended(f->unwind) == UNWIND_BY_ZERO))
		evidence |= CONTEXT_WEAK;
	return take(f, s, evidence | (guessed ? CONTEXT_GUESSED : 0), end, n);
}

static void read_tops(struct finder *f, size_t n)
{
	struct batch *b = f->b;
	for (size_t i = 0; i < n; i++)
		b->addrs[i] = b->states[i].hi - b->states[i].regs[CTP_REG_SP] <
					      8 ? // what is behind its end is another's
				      0 :
				      b->states[i].regs[CTP_REG_SP] - 8;
	image_read_many(f->c->image, b->addrs, n, sizeof(*b->tops), b->tops, b->got);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = b->states[i].regs[CTP_REG_SP] - 8;
		if (!b->got[i]) { // a stack's very end
			b->tops[i][0] = b->tops[i][1] = 0;
			b->got[i] = image_word(f->c->image, at, &b->tops[i][0]);
		}
	}
}

static bool unchanged(struct finder *f, size_t i)
{
	const struct batch *b = f->b;
	struct shape now = *b->shapes[i];
	bool same_stack = b->near[i].have == b->again[i].have &&
			  !memcmp(b->near[i].bytes, b->again[i].bytes, b->near[i].have);
	if (f->c->image->memory.core)
		return true;
	if (same_stack && b->kept_got[i] && shapes_keeps(b->shapes[i], f->c->image, b->kept[i]))
		return true;
	return same_stack && shapes_again(&now, f->c->image, &f->c->sites) && same(&now, b->shapes[i]);
}

// Looks at n of them; those that have changed meanwhile come to the front: how many. -errno.
static int look(struct finder *f, size_t n)
{
	struct batch *b = f->b;
	int moved = 0;
	for (size_t i = 0; i < n; i++) {
		const struct shape *s = b->shapes[i];
		b->states[i] = (struct ctp_state){.lo = s->stack_hi ? s->stack_lo : s->run.lo,
						  .hi = s->stack_hi ? s->stack_hi : s->run.hi};
		memcpy(b->states[i].regs, b->shapes[i]->regs, sizeof(b->states[i].regs));
	}
	unwind_fetch(f->unwind, b->states, n, b->near);
	read_tops(f, n);
	if (!f->c->image->memory.core) {
		unwind_fetch(f->unwind, b->states, n, b->again);
		for (size_t i = 0; i < n; i++)
			b->addrs[i] = shapes_where(b->shapes[i]);
		image_read_many(f->c->image, b->addrs, n, sizeof(*b->kept), b->kept, b->kept_got);
	}
	for (size_t i = 0; i < n; i++) {
		int e = 0;
		if (unchanged(f, i))
			e = judge(f, i);
		else
			b->shapes[moved++] = b->shapes[i];
		if (e)
			return e;
	}
	return moved;
}

static int settle(struct finder *f, size_t n)
{
	struct contexts *c = f->c;
	for (int try = 0; n && try < TRIES; try++) {
		int left = look(f, n);
		if (left < 0)
			return left;
		n = 0;
		for (int i = 0; i < left; i++) {
			struct shape *s = f->b->shapes[i];
			if (shapes_again(s, c->image, &c->sites) && plausible(f, s))
				f->b->shapes[n++] = s;
		}
	}
	c->unsettled += n;
	return 0;
}

// Where most stacks of an engine begin as they must, one that begins at a zero, or at a function's first
// byte, is a stale one.
static void drop_weak(struct contexts *c)
{
	size_t kept = 0;
	for (uint32_t engine = 0; engine < c->sites.nengines; engine++) {
		size_t weak = 0, others = 0;
		kept = 0;
		for (size_t i = 0; i < c->n; i++) {
			bool mine = c->v[i].engine == engine && c->v[i].state == CONTEXT_SUSPENDED;
			weak += mine && (c->v[i].evidence & CONTEXT_WEAK);
			others += mine && !(c->v[i].evidence & CONTEXT_WEAK);
		}
		for (size_t i = 0; i < c->n; i++)
			if (c->v[i].engine != engine || !(c->v[i].evidence & CONTEXT_WEAK) || weak > others)
				c->v[kept++] = c->v[i];
		c->finished += c->n - kept;
		c->n = kept;
	}
}

static int by_sp(const void *a, const void *b)
{
	const struct shape *x = a, *y = b;
	return (x->regs[CTP_REG_SP] > y->regs[CTP_REG_SP]) - (x->regs[CTP_REG_SP] < y->regs[CTP_REG_SP]);
}

static int judge_all(struct finder *f)
{
	struct contexts *c = f->c;
	size_t n = 0;
	int e = 0;
	struct touched t = {.n = 0};
	qsort(f->shapes.v, f->shapes.n, sizeof(*f->shapes.v), by_sp);
	for (size_t i = 0; !e && i < f->shapes.n; i++) {
		struct shape *s = &f->shapes.v[i];
		if (!plausible(f, s))
			continue;
		s->run = touched_run(&t, c->image, s->regs[CTP_REG_SP] - 8);
		if ((s->block && is_freed(c, s->block)) || is_freed(c, s->regs[CTP_REG_SP])) {
			c->freed++;
			continue;
		}
		f->b->shapes[n++] = s;
		if (n < AT_ONCE)
			continue;
		e = settle(f, n);
		n = 0;
		if (!e && memory_late(&c->image->memory)) {
			snprintf(c->partial, sizeof(c->partial), "no time to look at all that was found");
			break;
		}
	}
	touched_deinit(&t);
	return e ? e : settle(f, n);
}

static int by_id(const void *a, const void *b)
{
	const struct context *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

int contexts_find(struct contexts *c, struct image *im)
{
	const struct unwind_reader reader = {im, peek};
	struct finder f = {.c = c, .b = malloc(sizeof(*f.b))};
	*c = (struct contexts){.image = im};
	int e = f.b ? objects_read(&c->objects, im) : -ENOMEM;
	if (!e)
		e = sites_find(&c->sites, &c->objects);
	if (!e)
		e = shapes_find(&f.shapes, im, &c->sites);
	f.chain = (struct chain){.objects = &c->objects, .sites = &c->sites};
	if (!e && f.shapes.n) {
		c->bytes = f.shapes.bytes;
		memcpy(c->partial, f.shapes.partial, sizeof(c->partial));
		malloc_free_find(&im->memory, &c->free);
		find_natives(&f);
		e = im->memory.core ? unwind_new_of(&f.unwind, &reader, im->maps, im->nmaps) :
				      unwind_new(&f.unwind, im->pid);
		if (!e)
			e = judge_all(&f);
		if (!e)
			drop_weak(c);
		if (!e)
			e = bounds_find(c, &f.shapes, f.unwind);
	}
	if (im->core.cut && !*c->partial)
		snprintf(c->partial, sizeof(c->partial),
			 "the core is cut off: some of its memory is missing");
	for (size_t i = 0; i < im->nthreads; i++)
		c->on_cpu += im->threads[i].on_cpu;
	if (!e && c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_id);
	unwind_free(f.unwind);
	chain_deinit(&f.chain);
	shapes_deinit(&f.shapes);
	free(f.natives.v);
	free(f.b);
	if (e)
		contexts_deinit(c);
	return e;
}

void contexts_deinit(struct contexts *c)
{
	objects_deinit(&c->objects);
	sites_deinit(&c->sites);
	free(c->v);
	free(c->pcs);
	free(c->free.v);
	*c = (struct contexts){0};
}
