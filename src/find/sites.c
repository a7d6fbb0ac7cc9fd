// SPDX-License-Identifier: MIT
//
// First all code is searched for loads of a stack pointer, then for calls of what lies just before
// one: if the simulation of the called function agrees, it is a switch. Exported functions of the C
// library are switches by their names. What only jumps to a switch is one too, so the search is
// repeated while such functions are found.
#include "find/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "find/code.h"

enum { IGNORED = UINT32_MAX - 1, ROUNDS = 4, GRANULE = 6, GRANULE_BITS = 1 << 16 };

// ------------------------------------------------------------------ functions

static void mark(struct sites *s, uint64_t lo, uint64_t hi)
{
	for (uint64_t g = lo >> GRANULE; g <= hi >> GRANULE; g++)
		s->granules[(g & (GRANULE_BITS - 1)) / 8] |= (uint8_t)(1u << (g & 7));
}

static bool marked(const struct sites *s, uint64_t addr)
{
	uint64_t g = addr >> GRANULE & (GRANULE_BITS - 1);
	return s->granules[g / 8] >> (g & 7) & 1;
}

static void set_function(struct sites *s, uint64_t addr, uint32_t engine)
{
	s->failed |= idmap_set(&s->functions, addr, engine) != 0;
	if (engine != IGNORED)
		mark(s, addr, addr);
}

static uint32_t add_engine(struct sites *s, struct site_engine e)
{
	if (GROW(s->engines, s->nengines, s->engines_capacity)) {
		s->failed = true;
		return IGNORED;
	}
	s->engines[s->nengines] = e;
	return (uint32_t)s->nengines++;
}

// The engine of the switch function at `addr`; IGNORED: it is none.
static uint32_t engine_at(struct sites *s, uint64_t addr)
{
	unsigned char code[RECIPE_CODE_MOST];
	struct site_engine e = {.kind = SITE_ASSEMBLY, .function = addr};
	uint32_t known = idmap_get(&s->functions, addr), got = IGNORED;
	if (known != IDMAP_NONE)
		return known;
	size_t i = FIRST_NOT(s->nloads, k, s->loads[k] < addr);
	if (i == s->nloads || s->loads[i] - addr >= RECIPE_CODE_MOST)
		return IGNORED;
	size_t n = code_peek(s->objects->image, addr, code, sizeof(code));
	if (recipe_learn(code, n, &e.recipe))
		got = add_engine(s, e);
	set_function(s, addr, got);
	return got;
}

static void add_named(struct sites *s)
{
	static const struct {
		const char *name;
		enum site_kind kind;
	} all[] = {{"swapcontext", SITE_SWAPCONTEXT}, {"getcontext", SITE_GETCONTEXT},
		   {"setjmp", SITE_SETJMP},           {"_setjmp", SITE_SETJMP},
		   {"__sigsetjmp", SITE_SETJMP},      {"sigsetjmp", SITE_SETJMP}};
	for (size_t k = 0; k < s->objects->n; k++)
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
			uint64_t at = objects_symbol(s->objects, &s->objects->v[k], all[i].name);
			if (at && idmap_get(&s->functions, at) == IDMAP_NONE)
				set_function(s, at,
					     add_engine(s, (struct site_engine){.kind = all[i].kind,
										.function = at}));
		}
}

static void add_leaves(struct sites *s)
{
	static const char *const all[] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};
	for (size_t k = 0; k < s->objects->n; k++)
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
			uint64_t at = objects_symbol(s->objects, &s->objects->v[k], all[i]);
			if (at)
				s->failed |= idmap_set(&s->leaves, at, 0) != 0;
		}
}

bool sites_is_leave(const struct sites *s, uint64_t function)
{
	return idmap_get(&s->leaves, function) != IDMAP_NONE;
}

// makecontext names the code to which a coroutine's function returns: by lea, within its own object.
static void add_starts(struct sites *s)
{
	unsigned char code[1024];
	for (size_t k = 0; k < s->objects->n; k++) {
		struct object *o = &s->objects->v[k];
		uint64_t at = objects_symbol(s->objects, o, "makecontext");
		struct span f;
		if (!at || !objects_function(s->objects, at, &f) || f.hi - at > sizeof(code) ||
		    !image_read(s->objects->image, at, code, f.hi - at))
			continue;
		for (size_t i = 0; i + 7 <= f.hi - at && s->nstarts < SITES_STARTS; i++) {
			int32_t off;
			memcpy(&off, code + i + 3, 4);
			uint64_t to = at + i + 7 + (uint64_t)(int64_t)off;
			if ((code[i] & 0xfb) == 0x48 && code[i + 1] == 0x8d && (code[i + 2] & 0xc7) == 5 &&
			    image_is_code(s->objects->image, to))
				s->starts[s->nstarts++] = to;
		}
	}
}

bool sites_is_start(const struct sites *s, uint64_t addr)
{
	for (size_t i = 0; i < s->nstarts; i++)
		if (s->starts[i] == addr)
			return true;
	return false;
}

// -------------------------------------------------------------------- the code

static void on_load(void *ctx, const struct code_hit *h)
{
	struct sites *s = ctx;
	if (GROW(s->loads, s->nloads, s->loads_capacity)) {
		s->failed = true;
		return;
	}
	s->loads[s->nloads++] = h->at;
	mark(s, h->at - RECIPE_CODE_MOST, h->at);
}

static void add_site(struct sites *s, uint64_t addr, uint32_t engine)
{
	if (GROW(s->v, s->n, s->capacity))
		s->failed = true;
	else
		s->v[s->n++] = (struct site){addr, engine};
}

// What jumps to a switch at its end: its callers are suspended behind their calls of it.
static void add_jumper(struct sites *s, uint64_t at, uint32_t engine)
{
	struct span f;
	if (!objects_function(s->objects, at, &f) || idmap_get(&s->functions, f.lo) != IDMAP_NONE)
		return;
	set_function(s, f.lo, engine);
	s->grown = true;
}

static void on_code(void *ctx, const struct code_hit *h)
{
	struct sites *s = ctx;
	if (!marked(s, h->target))
		return;
	uint32_t engine = engine_at(s, h->target);
	if (engine == IGNORED)
		return;
	if (h->kind == CODE_CALL)
		add_site(s, h->next, engine);
	else
		add_jumper(s, h->at, engine);
}

struct slots { // of one object
	struct sites *s;
	struct slot {
		struct code_hit hit;
		uint64_t value;
	} * v;
	size_t n, capacity;
};

static void on_slot(void *ctx, const struct code_hit *h)
{
	struct slots *t = ctx;
	const struct maps_line *m = h->target % 8 ? NULL : image_map(t->s->objects->image, h->target);
	if (!m || m->perms[2] == 'x')
		return;
	if (GROW(t->v, t->n, t->capacity))
		t->s->failed = true;
	else
		t->v[t->n++] = (struct slot){.hit = *h};
}

// A stub begins where the jump does, or a marker of 4 bytes before it, or that and a prefix.
static void add_stub(struct sites *s, uint64_t at, uint32_t engine)
{
	static const uint64_t before[] = {0, 4, 5, 1};
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		if ((at - before[i]) % 8 == 0 && idmap_get(&s->functions, at - before[i]) == IDMAP_NONE) {
			set_function(s, at - before[i], engine);
			s->grown = true;
		}
}

static int read_slots(struct slots *t)
{
	const struct image *im = t->s->objects->image;
	uint64_t *addrs = calloc(t->n + 1, sizeof(*addrs)), *values = calloc(t->n + 1, sizeof(*values));
	bool *got = calloc(t->n + 1, sizeof(*got));
	int e = addrs && values && got ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < t->n; i++)
		addrs[i] = t->v[i].hit.target;
	if (!e)
		image_read_many(im, addrs, t->n, sizeof(*values), values, got);
	for (size_t i = 0; !e && i < t->n; i++)
		t->v[i].value = got[i] ? values[i] : 0;
	free(addrs);
	free(values);
	free(got);
	return e;
}

static int scan_slots(struct sites *s, const struct object *o)
{
	struct slots t = {.s = s};
	const struct code_visitor v = {&t, 1u << CODE_CALL_SLOT | 1u << CODE_JUMP_SLOT, on_slot};
	int e = code_scan(s->objects->image, o, &v);
	if (!e)
		e = read_slots(&t);
	for (size_t i = 0; !e && i < t.n; i++) {
		uint64_t to = t.v[i].value;
		uint32_t engine = to && marked(s, to) ? engine_at(s, to) : IGNORED;
		if (engine == IGNORED)
			continue;
		if (t.v[i].hit.kind == CODE_CALL_SLOT)
			add_site(s, t.v[i].hit.next, engine);
		else
			add_stub(s, t.v[i].hit.at, engine);
	}
	free(t.v);
	return e;
}

static void on_label(void *ctx, const struct code_hit *h)
{
	struct sites *s = ctx;
	for (uint32_t i = 0; i < s->nengines; i++) {
		const struct site_engine *e = &s->engines[i];
		const struct recipe_place *pc = &e->recipe.regs[CTP_REG_PC];
		if (e->kind != SITE_ASSEMBLY || pc->where != RECIPE_STACK || pc->off != h->off ||
		    objects_at(s->objects, e->function) != objects_at(s->objects, h->at) ||
		    !image_is_code(s->objects->image, h->target))
			continue;
		if (GROW(s->labels, s->nlabels, s->labels_capacity))
			s->failed = true;
		else
			s->labels[s->nlabels++] = (struct site_label){h->target, i};
		return;
	}
}

// Labels are those of the objects in which an assembly switch lies.
static int find_labels(struct sites *s)
{
	const struct code_visitor v = {s, 1u << CODE_LABEL, on_label};
	const struct object *done = NULL;
	int e = 0;
	for (size_t i = 0; !e && i < s->nengines; i++) {
		const struct object *o = s->engines[i].kind == SITE_ASSEMBLY ?
						 objects_at(s->objects, s->engines[i].function) :
						 NULL;
		if (o && o != done)
			e = code_scan(s->objects->image, o, &v);
		done = o ? o : done;
	}
	return e;
}

// ------------------------------------------------------------------------ all

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int by_addr(const void *a, const void *b)
{
	const struct site *x = a, *y = b;
	return x->addr != y->addr ? (x->addr > y->addr ? 1 : -1) :
				    (x->engine > y->engine) - (x->engine < y->engine);
}

static int index_sites(struct sites *s)
{
	size_t kept = 0;
	int e = 0;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_addr);
	for (size_t i = 0; i < s->n; i++)
		if (!kept || s->v[kept - 1].addr != s->v[i].addr)
			s->v[kept++] = s->v[i];
	s->n = kept;
	for (size_t i = 0; !e && i < s->n; i++)
		e = idmap_set(&s->by_addr, s->v[i].addr, s->v[i].engine);
	for (size_t i = 0; !e && i < s->nlabels; i++)
		e = idmap_set(&s->labels_by_addr, s->labels[i].addr, s->labels[i].engine);
	return e;
}

static int each_object(struct sites *s, const struct code_visitor *v)
{
	int e = 0;
	for (size_t k = 0; !e && k < s->objects->n; k++)
		e = code_scan(s->objects->image, &s->objects->v[k], v);
	return e;
}

int sites_find(struct sites *s, const struct objects *o)
{
	*s = (struct sites){.objects = o, .granules = calloc(GRANULE_BITS / 8, 1)};
	const struct code_visitor loads = {s, 1u << CODE_STACK, on_load},
				  calls = {s, 1u << CODE_CALL | 1u << CODE_JUMP, on_code};
	int e = s->granules ? each_object(s, &loads) : -ENOMEM;
	if (s->nloads)
		qsort(s->loads, s->nloads, sizeof(*s->loads), by_number);
	add_named(s);
	add_leaves(s);
	add_starts(s);
	s->grown = s->nloads || s->functions.n;
	for (int round = 0; !e && s->grown && round < ROUNDS; round++) {
		s->grown = false;
		s->n = 0;
		for (size_t k = 0; !e && k < o->n; k++)
			e = scan_slots(s, &o->v[k]);
		if (!e)
			e = each_object(s, &calls);
	}
	if (!e)
		e = find_labels(s);
	if (!e)
		e = s->failed ? -ENOMEM : index_sites(s);
	if (e)
		sites_deinit(s);
	return e;
}

void sites_deinit(struct sites *s)
{
	free(s->engines);
	free(s->v);
	free(s->labels);
	free(s->loads);
	free(s->granules);
	idmap_deinit(&s->by_addr);
	idmap_deinit(&s->labels_by_addr);
	idmap_deinit(&s->functions);
	idmap_deinit(&s->leaves);
	*s = (struct sites){0};
}

const struct site_engine *sites_engine(const struct sites *s, uint64_t addr)
{
	uint32_t i = idmap_get(&s->by_addr, addr);
	return i == IDMAP_NONE ? NULL : &s->engines[i];
}
