// SPDX-License-Identifier: MIT
//
// Each instruction that may come next is looked at once. One that names the register, and is not known to
// overwrite it or to compare it only, uses it; so does what is not known.
#include "find/liveness.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "frames/x86.h"

enum { LOOKED_MOST = 1 << 14, BX = 3, BP = 5, BH = 7 };

struct walk {
	const struct liveness_reader *reader;
	unsigned number;
	struct idmap seen;
	uint64_t *todo;
	size_t ntodo, capacity;
	bool failed; // it is used, or that is not known
};

static bool in_address(const struct x86 *i, unsigned number)
{
	return i->memory && (i->base == number || i->index == number);
}

// Its ModRM.reg is part of the opcode.
static bool is_group(const struct x86 *i)
{
	unsigned op = i->opcode;
	if (i->map == X86_0F)
		return (op & 0xf0) == 0x90 || op == 0xba;
	return i->map == X86_ONE_BYTE &&
	       ((op & 0xfc) == 0x80 || (op & 0xfe) == 0xc0 || (op & 0xfe) == 0xc6 || (op & 0xfc) == 0xd0 ||
		(op & 0xfe) == 0xf6 || op >= 0xfe || op == 0x8f);
}

// The register stands in the opcode itself: push, pop, xchg, mov with a constant, bswap.
static bool in_opcode(const struct x86 *i, unsigned number)
{
	unsigned op = i->opcode;
	if (i->has_modrm || i->vex || i->rm != number)
		return false;
	return i->map == X86_ONE_BYTE ? (op & 0xf0) == 0x50 || (op & 0xf8) == 0x90 || (op & 0xf8) == 0xb8 :
					i->map == X86_0F && (op & 0xf8) == 0xc8;
}

// enter, leave, xlat, int, cpuid, cmpxchg16b name none of theirs.
static bool in_secret(const struct x86 *i, unsigned number)
{
	unsigned op = i->opcode;
	if (i->map == X86_0F)
		return !i->vex && (op == 0xa2 || op == 0xc7);
	return i->map == X86_ONE_BYTE &&
	       (((op == 0xc8 || op == 0xc9) && number == BP) || op == 0xcd || op == 0xd7);
}

// The second byte of rbx, which only instructions without REX can name.
static bool is_high_byte(const struct x86 *i, unsigned number)
{
	unsigned op = i->opcode;
	bool bytes = i->map == X86_ONE_BYTE ? !(op & 1) :
					      (op & 0xf7) == 0xb6 || (op & 0xf0) == 0x90 || op == 0xb0;
	return number == BX && bytes && i->has_modrm && !i->rex && !i->vex &&
	       ((!is_group(i) && i->reg == BH) || (!i->memory && i->rm == BH));
}

static bool names(const struct x86 *i, unsigned number)
{
	bool by_vector_code = i->vex && i->map != X86_0F; // of some, an operand stands in the prefix
	return in_address(i, number) || in_opcode(i, number) || in_secret(i, number) ||
	       is_high_byte(i, number) || by_vector_code ||
	       (i->has_modrm && ((!is_group(i) && i->reg == number) || (!i->memory && i->rm == number)));
}

static bool overwrites(const struct x86 *i, unsigned number)
{
	unsigned op = i->opcode;
	bool to_reg = i->has_modrm && i->reg == number && (i->memory || i->rm != number);
	bool to_rm = i->has_modrm && !i->memory && i->rm == number;
	if (i->vex || i->size < 4 || in_address(i, number))
		return false;
	if (i->map == X86_0F)
		return to_reg && (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf);
	if (i->map != X86_ONE_BYTE)
		return false;
	if (!i->has_modrm)
		return i->rm == number && ((op & 0xf8) == 0x58 || (op & 0xf8) == 0xb8);
	if (op == 0x31 || op == 0x33 || op == 0x29 || op == 0x2b)
		return to_rm && i->reg == number; // from itself
	return (to_reg && (op == 0x8b || op == 0x8d || op == 0x63)) ||
	       (to_rm && i->reg != number && op == 0x89) || (to_rm && op == 0xc7);
}

static bool only_compares(const struct x86 *i, unsigned number)
{
	unsigned op = i->opcode, which = i->reg & 7;
	if (i->map != X86_ONE_BYTE || in_address(i, number))
		return false;
	return (op < 0x40 && (op & 0x3c) == 0x38) || op == 0x84 || op == 0x85 ||
	       ((op == 0x80 || op == 0x81 || op == 0x83) && which == 7) || ((op & 0xfe) == 0xf6 && which < 2);
}

static void go_to(struct walk *w, uint64_t addr)
{
	if (idmap_get(&w->seen, addr) != IDMAP_NONE)
		return;
	if (w->seen.n >= LOOKED_MOST || idmap_set(&w->seen, addr, 0) || GROW(w->todo, w->ntodo, w->capacity))
		w->failed = true;
	else
		w->todo[w->ntodo++] = addr;
}

static void go_to_pads(struct walk *w, const struct liveness_code *c)
{
	for (size_t k = 0; k < c->npads; k++)
		go_to(w, c->pads[k]);
}

enum way { ON, CALL, JUMP, BRANCH, END, UNKNOWN };

static enum way way_of(const struct x86 *i)
{
	unsigned op = i->opcode, which = i->reg & 7;
	if (i->map == X86_0F && !i->vex)
		return (op & 0xf0) == 0x80 ? BRANCH : op == 0x0b || op == 0xb9 ? END : ON;
	if (i->map != X86_ONE_BYTE || i->vex)
		return ON;
	if ((op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0)
		return BRANCH;
	if (op == 0xe9 || op == 0xeb)
		return JUMP;
	if (op == 0xe8 || (op == 0xff && which == 2))
		return CALL;
	if (op == 0xcc || op == 0xf4)
		return END;
	bool returns = op == 0xc2 || op == 0xc3 || op == 0xca || op == 0xcb || op == 0xcf;
	return returns || (op == 0xff && which >= 3 && which <= 5) ? UNKNOWN : ON;
}

// Behind its last instruction, a call, a function does not go on: that one does not return.
static void step(struct walk *w, const struct liveness_code *c, const struct x86 *i, uint64_t at)
{
	uint64_t next = at + i->length;
	enum way way = way_of(i);
	if (way == JUMP || way == BRANCH)
		go_to(w, next + (uint64_t)i->immediate);
	if (way == CALL)
		go_to_pads(w, c);
	if (way == UNKNOWN || ((way == ON || way == BRANCH) && next >= c->lo + c->n))
		w->failed = true;
	else if (way != JUMP && way != END && next < c->lo + c->n)
		go_to(w, next);
}

static void look(struct walk *w, uint64_t at)
{
	struct x86 i;
	const struct liveness_code *c = w->reader->at(w->reader->ctx, at);
	if (!c || !x86_decode(c->bytes + (at - c->lo), c->n - (at - c->lo), &i) || !i.length)
		w->failed = true;
	else if (overwrites(&i, w->number))
		return;
	else if (names(&i, w->number) && !only_compares(&i, w->number))
		w->failed = true;
	else
		step(w, c, &i, at);
}

bool liveness_is_dead(const struct liveness_reader *r, uint64_t at, unsigned number)
{
	struct walk w = {.reader = r, .number = number};
	const struct liveness_code *c = r->at(r->ctx, at);
	if (!c)
		return false;
	go_to(&w, at);
	go_to_pads(&w, c); // a call that is cancelled goes on there
	while (!w.failed && w.ntodo)
		look(&w, w.todo[--w.ntodo]);
	free(w.todo);
	idmap_deinit(&w.seen);
	return !w.failed;
}
