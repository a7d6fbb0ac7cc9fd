// SPDX-License-Identifier: MIT
//
// A coroutine suspends in two steps that remain in the code: it stores the state in which it will go on, and
// calls await_suspend. Where await_ready may say that it need not, a branch decides: one side leads to the
// store, the other to where the coroutine goes on. What is noted here is where symbols/suspension.c looks for
// these calls, and for what the compiler has inlined in their place.
// Invariant: a register is followed along code that runs in this order, never across a jump that comes in.
#include "frames/stores.h"

#include <string.h>

#include "base/grow.h"
#include "frames/x86.h"

enum { RSP = 4, STORES_MOST = 4096, BRANCHES_MOST = 4096, PATH_MOST = 24 };

struct stores_code {
	const uint8_t *b;
	size_t n;
	uint64_t at;
};

struct sweep {
	struct dispatch *d;
	bool known[MACHINE_REGISTERS]; // registers that hold a constant
	uint64_t v[MACHINE_REGISTERS];
	int64_t shift[MACHINE_REGISTERS]; // how far behind the frame's begin, if it leads there, a register
					  // does
	bool pushed;
	uint64_t pushed_v;
	struct dispatch_store *open; // what follows it without a jump is noted
	struct suspension_step last[SUSPENSION_BEFORE];
	unsigned nlast;
};

static void forget(struct sweep *s)
{
	memset(s->known, 0, sizeof(s->known));
}

static bool is_jump(const struct x86 *x)
{
	return x->map == X86_ONE_BYTE && !x->vex && (x->opcode == 0xe9 || x->opcode == 0xeb);
}

static bool is_branch(const struct x86 *x)
{
	return !x->vex && ((x->map == X86_ONE_BYTE && (x->opcode & 0xf0) == 0x70) ||
			   (x->map == X86_0F && (x->opcode & 0xf0) == 0x80));
}

static bool is_call(const struct x86 *x)
{
	return x->map == X86_ONE_BYTE && !x->vex &&
	       (x->opcode == 0xe8 || (x->opcode == 0xff && (x->reg % 8 == 2 || x->reg % 8 == 3)));
}

// A return, a jump to where a register says, a trap.
static bool is_end(const struct x86 *x)
{
	return (x->map == X86_ONE_BYTE && !x->vex &&
		(x->opcode == 0xc3 || x->opcode == 0xc2 ||
		 (x->opcode == 0xff && x->reg % 8 >= 4 && x->reg % 8 < 6))) ||
	       (x->map == X86_0F && x->opcode == 0x0b);
}

// Registers that lead to the frame may be moved on within it.
static void follow_shifts(struct sweep *s, const struct x86 *x)
{
	unsigned op = x->map == X86_ONE_BYTE && !x->vex ? x->opcode : 0x100;
	bool plain = x->memory && !x->rip && !x->segment && x->base != X86_NO_REGISTER &&
		     x->index == X86_NO_REGISTER && x->base != RSP;
	if (op == 0xe8 || (op == 0xff && x->reg % 8 == 2))
		return; // those that the callee keeps
	if (op == 0xe9 || op == 0xeb || op == 0xc3 || op == 0xff)
		memset(s->shift, 0, sizeof(s->shift));
	else if ((op == 0x81 || op == 0x83) && !x->memory && (x->reg % 8 == 0 || x->reg % 8 == 5))
		s->shift[x->rm] += x->reg % 8 ? -x->immediate : x->immediate;
	else if (op == 0x8d)
		s->shift[x->reg] = plain ? s->shift[x->base] + x->displacement : 0;
	else if ((op == 0x89 || op == 0x8b) && !x->memory)
		s->shift[op == 0x89 ? x->rm : x->reg] = s->shift[op == 0x89 ? x->reg : x->rm];
	else if (op == 0x8b)
		s->shift[x->reg] = 0;
}

// Does it write to memory only, or compare?
static bool writes_no_register(const struct x86 *x)
{
	unsigned op = x->opcode;
	if (x->map == X86_0F)
		return op == 0x1f || (op & 0xf0) == 0x80 || op == 0x11 || op == 0x29 || op == 0x7f ||
		       op == 0xd6;
	if (x->map != X86_ONE_BYTE || x->vex)
		return false;
	return (op >= 0x38 && op < 0x3c) || op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9 ||
	       (op & 0xf0) == 0x70 || (op >= 0x50 && op < 0x58) || op == 0x68 || op == 0x6a ||
	       (x->memory && (op == 0x88 || op == 0x89 || op == 0xc6 || op == 0xc7));
}

static void follow_constants(struct sweep *s, const struct x86 *x)
{
	unsigned op = x->map == X86_ONE_BYTE && !x->vex ? x->opcode : 0x100;
	bool was_pushed = s->pushed;
	s->pushed = op == 0x6a || op == 0x68;
	s->pushed_v = (uint64_t)x->immediate;
	if (writes_no_register(x))
		return;
	if ((op >= 0xb8 && op < 0xc0) || (op == 0xc7 && !x->memory)) {
		s->known[x->rm] = true;
		s->v[x->rm] = (uint64_t)x->immediate;
	} else if ((op == 0x31 || op == 0x33) && !x->memory && x->reg == x->rm) {
		s->known[x->rm] = true;
		s->v[x->rm] = 0;
	} else if (op >= 0x58 && op < 0x60) {
		s->known[x->rm] = was_pushed;
		s->v[x->rm] = s->pushed_v;
	} else if (op >= 0xb0 && op < 0xb8) {
		unsigned r = x->rm;
		s->known[r % 8 < 4 || x->rex ? r : r % 4] = r % 8 < 4 || x->rex;
		s->v[r] = (uint64_t)x->immediate & 0xff;
	} else if (op == 0xe8 || op == 0xff || op == 0xe9 || op == 0xeb || op == 0xc3) {
		forget(s);
	} else if (x->has_modrm) {
		s->known[x->reg] = false;
		if (!x->memory)
			s->known[x->rm] = false;
	} else {
		forget(s);
	}
}

// Does it store a known value to the field?
static bool stores_index(const struct sweep *s, const struct x86 *x, uint64_t *value, bool *alone)
{
	const struct machine_field f = s->d->index;
	if (x->map != X86_ONE_BYTE || x->vex || !x->memory || x->segment || x->rip ||
	    x->base == X86_NO_REGISTER || x->base == RSP || x->index != X86_NO_REGISTER)
		return false;
	unsigned bytes = x->opcode & 1 ? x->size : 1;
	bool immediate = (x->opcode == 0xc6 || x->opcode == 0xc7) && x->reg % 8 == 0;
	bool of_register = x->opcode == 0x89 || (x->opcode == 0x88 && (x->rex || x->reg < 4));
	int64_t at = x->displacement + s->shift[x->base];
	if ((!immediate && (!of_register || !s->known[x->reg])) || at < 0 || at > f.offset ||
	    at + bytes < f.offset + f.width)
		return false;
	uint64_t v = immediate ? (uint64_t)x->immediate : s->v[x->reg];
	v >>= 8 * (f.offset - (unsigned)at);
	*value = v & ((1ULL << 8 * f.width) - 1);
	*alone = at == f.offset && bytes == f.width;
	return true;
}


// Where the code from `to` on stores a state before it calls or decides anything. `s` is what is known there.
static bool leads_to_store(struct sweep s, const struct stores_code *c, uint64_t to, uint64_t *value)
{
	struct x86 x;
	bool alone;
	memset(s.shift, 0, sizeof(s.shift));
	for (unsigned i = 0; i < PATH_MOST; i++) {
		if (to < c->at || to - c->at >= c->n ||
		    !x86_decode(c->b + (to - c->at), c->n - (to - c->at), &x))
			return false;
		if (stores_index(&s, &x, value, &alone))
			return true;
		if (is_branch(&x) || is_call(&x) || is_end(&x))
			return false;
		to += x.length;
		if (is_jump(&x)) {
			to += (uint64_t)x.immediate;
			continue;
		}
		follow_constants(&s, &x);
		follow_shifts(&s, &x);
	}
	return false;
}

// The instructions behind the last store, and those before the next branch.
static void note_step(struct sweep *s, const struct x86 *x, uint64_t at)
{
	bool direct = is_call(x) && x->opcode == 0xe8;
	struct suspension_step step = {at, direct ? at + x->length + (uint64_t)x->immediate : 0};
	if (s->open && s->open->n < SUSPENSION_BEHIND)
		s->open->behind[s->open->n++] = step;
	if (s->nlast == SUSPENSION_BEFORE)
		memmove(s->last, s->last + 1, --s->nlast * sizeof(*s->last));
	s->last[s->nlast++] = step;
	if (is_jump(x) || is_end(x))
		s->open = NULL;
}

static int note_branch(struct sweep *s, const struct stores_code *c, const struct x86 *x, uint64_t at)
{
	uint64_t next = at + x->length, taken = next + (uint64_t)x->immediate, value;
	for (unsigned side = 0; side < 2; side++) {
		if (!leads_to_store(*s, c, side ? taken : next, &value) || s->d->nbranches == BRANCHES_MOST)
			continue;
		if (GROW(s->d->branches, s->d->nbranches, s->d->branches_room))
			return -ENOMEM;
		struct dispatch_branch *b = &s->d->branches[s->d->nbranches++];
		*b = (struct dispatch_branch){.value = value, .other = side ? next : taken, .n = s->nlast};
		memcpy(b->before, s->last, sizeof(b->before));
	}
	return 0;
}

static int note_store(struct sweep *s, const struct x86 *x, struct dispatch_store store)
{
	s->open = NULL;
	if (s->d->n == STORES_MOST)
		return 0;
	if (GROW(s->d->stores, s->d->n, s->d->room))
		return -ENOMEM;
	s->open = &s->d->stores[s->d->n++];
	*s->open = store;
	s->open->by_register = x->opcode == 0x88 || x->opcode == 0x89;
	return 0;
}

int stores_sweep(struct dispatch *d, const uint8_t *code, size_t n, uint64_t at, bool ramp)
{
	const struct stores_code c = {code, n, at};
	struct sweep s = {.d = d};
	struct x86 x;
	struct dispatch_store store = {.ramp = ramp};
	int e = 0;
	for (size_t i = 0; i < n && !e; i += x.length) {
		if (!x86_decode(code + i, n - i, &x))
			return 0;
		store.at = at + i;
		if (stores_index(&s, &x, &store.value, &store.alone))
			e = note_store(&s, &x, store);
		note_step(&s, &x, at + i);
		if (!e && is_branch(&x))
			e = note_branch(&s, &c, &x, at + i);
		if (is_branch(&x) || is_jump(&x) || is_end(&x))
			s.nlast = 0;
		follow_constants(&s, &x);
		follow_shifts(&s, &x);
	}
	return e;
}

bool stores_meet(const struct dispatch_code *code, uint64_t from, uint64_t to)
{
	uint8_t b[X86_LONGEST];
	struct x86 x;
	for (unsigned i = 0; i < PATH_MOST && from != to; i++) {
		if (!x86_decode(b, code->peek(code->ctx, from, b, sizeof(b)), &x) || is_branch(&x) ||
		    is_call(&x) || is_end(&x))
			return false;
		from += x.length + (is_jump(&x) ? (uint64_t)x.immediate : 0);
	}
	return from == to;
}
