// SPDX-License-Identifier: MIT
//
// A frame begins with the functions that resume and destroy it; at the last suspension the first is 0. The
// same code of GCC's deletes a frame when its coroutine has ended and when it is destroyed, and whether that
// 0 was stored is then up to the optimizer. But its function that destroys makes the frame's state odd: the
// instructions that do tell where the state lies. Clang has code of its own for either; whoever reads the
// table knows it by its symbol.
#include "preload/process/destroyed.h"

#include <string.h>

#include "preload/guest/page.h"
#include "preload/patch/object.h"

enum {
	KINDS = 1024,
	PROBES = 8,
	OBJECTS = 256,
	CODE = 96 // of the function that destroys
};

// A coroutine function, by what resumes it. Entered once each.
static struct kind {
	uint64_t resume, destroy;
	uint32_t known;
	uint32_t state_at; // where the state lies in its frames; 0: not known
} kinds[KINDS];

// The code of objects that have coroutines. Written with the loader's lock held.
static struct {
	uint64_t lo, hi;
} objects[OBJECTS];
static uint32_t nobjects;

#if defined(__x86_64__)
enum { OR = 1, OPERAND_16 = 0x66, REX = 0x40, REX_MASK = 0xf0, IMM8 = 0x83, BYTE_IMM8 = 0x80, STORE = 0x89 };

// The displacement of [register + displacement], and where it ends; 0: it is something else, or negative.
static uint32_t displacement(const uint8_t *modrm, const uint8_t **end)
{
	int32_t far;
	unsigned mode = *modrm >> 6;
	if ((*modrm & 7) == 4 || (mode != 1 && mode != 2))
		return 0;
	memcpy(&far, modrm + 1, sizeof(far));
	*end = modrm + (mode == 1 ? 2 : 5);
	far = mode == 1 ? (int8_t)modrm[1] : far;
	return far > 0 ? (uint32_t)far : 0;
}

// or [state], 1 in one instruction, or in a load, an or, and a store.
static uint32_t odd_at(const uint8_t *code, size_t bytes)
{
	enum { LONGEST = 9 };
	bool odd = false;
	for (const uint8_t *p = code; p + LONGEST <= code + bytes; p++) {
		bool word = p[0] == OPERAND_16;
		const uint8_t *op = p + word, *end = p;
		op += (*op & REX_MASK) == REX;
		uint32_t at = displacement(op + 1, &end);
		bool is_or = (*op == IMM8 || *op == BYTE_IMM8) && (op[1] >> 3 & 7) == OR;
		if (is_or && op[1] >> 6 == 3 && op[2] == 1)
			odd = true;
		else if (is_or && at && *end == 1)
			return at;
		else if (odd && word && *op == STORE && at)
			return at;
	}
	return 0;
}
#else
static uint32_t odd_at(const uint8_t *code, size_t bytes)
{
	(void)code;
	(void)bytes;
	return 0;
}
#endif

void destroyed_watch(const struct object *o)
{
	uint8_t *lo, *hi;
	for (unsigned i = 0; object_code(o, &i, &lo, &hi);) {
		uint32_t k = 0;
		while (k < nobjects && objects[k].hi) // one has gone
			k++;
		if (k == OBJECTS)
			return;
		ctp_store64(&objects[k].hi, 0); // none, whatever lo is
		ctp_store64(&objects[k].lo, (uint64_t)lo);
		ctp_store64(&objects[k].hi, (uint64_t)hi);
		if (k == nobjects)
			ctp_store32(&nobjects, nobjects + 1);
	}
}

// How much of such code there is from here on; 0: it is none.
static uint64_t code_from(uint64_t at)
{
	uint32_t n = ctp_load32(&nobjects);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t hi = ctp_load64(&objects[i].hi);
		if (at < hi && at >= ctp_load64(&objects[i].lo))
			return hi - at;
	}
	return 0;
}

// Of what begins with these words; NULL: they are no coroutine's.
static const struct kind *kind_of(const uint64_t words[2])
{
	uint64_t resume = words[0], i = (resume * 0x9e3779b97f4a7c15ULL) >> 54, code;
	if (!code_from(resume) || !(code = code_from(words[1])))
		return NULL;
	for (unsigned n = 0; n < PROBES; n++, i = (i + 1) % KINDS) {
		struct kind *k = &kinds[i];
		if (!ctp_load64(&k->resume) && ctp_cas64(&k->resume, 0, resume)) {
			k->destroy = words[1];
			k->state_at = odd_at((const uint8_t *)words[1], code < CODE ? code : CODE);
			ctp_store32(&k->known, 1);
			return k;
		}
		if (ctp_load64(&k->resume) == resume)
			return ctp_load32(&k->known) && k->destroy == words[1] ? k : NULL;
	}
	return NULL;
}

// If it says so where its state is known to lie. What was taken for its place may be none, and beyond the
// frame.
static bool is_destroyed(const struct kind *k, uint64_t at)
{
	uint64_t state = at + k->state_at;
	if (!k->state_at)
		return true;
	if (state / PAGE_BYTES != at / PAGE_BYTES && !page_readable(state / PAGE_BYTES))
		return false;
	return *(const uint8_t *)state & 1;
}

// ------------------------------------------------------------------ the table

static bool enter(struct ctp_destroyed *d, const struct ctp_destroyed *key, const struct frame *f,
		  uint64_t now)
{
	struct thread_ctx *g = guest_enter();
	if (!g || !ctp_key_take_from(&d->resume, 0)) {
		if (g)
			guest_leave(g);
		return false;
	}
	d->destroy = key->destroy;
	d->pc = key->pc;
	d->count = 0;
	d->longest = 0;
	d->first = now;
	d->stack = key->stack;
	d->by = guest_stack(g, f);
	ctp_store64(&d->resume, key->resume);
	guest_leave(g);
	return true;
}

static struct ctp_destroyed *row_of(const struct ctp_destroyed *key, const struct frame *f, uint64_t now)
{
	struct ctp_region *r = &ctp_tracer->region;
	uint64_t h = (key->resume + key->pc * 3 + key->stack) * 0x9e3779b97f4a7c15ULL >> 32;
	for (unsigned n = 0; n < PROBES && r->destroyed_max; n++) {
		struct ctp_destroyed *d = &r->destroyed[(h + n) % r->destroyed_max];
		if (!ctp_load64(&d->resume) && enter(d, key, f, now))
			return d;
		if (ctp_load64(&d->resume) == key->resume && d->pc == key->pc && d->stack == key->stack)
			return d;
	}
	return NULL;
}

void destroyed_note(const struct ctp_birth *b, uint64_t at, const struct frame *f)
{
	const uint64_t *words = (const uint64_t *)at;
	const struct kind *k = words[0] ? kind_of(words) : NULL;
	if (!k || !is_destroyed(k, at))
		return;
	uint64_t now = guest_now(), age = now > b->created ? now - b->created : 0;
	struct ctp_destroyed *d = row_of(
		&(struct ctp_destroyed){
			.resume = words[0], .destroy = words[1], .pc = f->pc, .stack = b->stack},
		f, now);
	if (!d) {
		ctp_add32(&ctp_tracer->region.ext->destroyed, 1);
		return;
	}
	ctp_add64(&d->count, 1);
	if (age > ctp_load64(&d->longest))
		ctp_store64(&d->longest, age);
}

// Others may come to lie there, with other functions at the same addresses.
void destroyed_gone(uint64_t lo, uint64_t hi)
{
	struct ctp_region *r = &ctp_tracer->region;
	for (uint32_t i = 0; i < nobjects; i++)
		if (objects[i].lo - lo < hi - lo)
			ctp_store64(&objects[i].hi, 0);
	for (unsigned i = 0; i < KINDS; i++)
		if (ctp_load64(&kinds[i].resume) - lo < hi - lo)
			kinds[i] = (struct kind){0};
	for (unsigned i = 0; i < r->destroyed_max; i++)
		if (ctp_load64(&r->destroyed[i].resume) - lo < hi - lo)
			ctp_store64(&r->destroyed[i].resume, 0);
}
