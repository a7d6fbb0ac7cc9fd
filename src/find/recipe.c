// SPDX-License-Identifier: MIT
//
// Switch functions are short and straight: they save registers, store the stack pointer, load
// another one, restore and leave. Few kinds of instructions occur; any other ends the simulation,
// and the function is none. Values are followed by where they came from, never by what they are.
#include "find/recipe.h"

#include <string.h>

enum { AX, CX, DX, BX, SP, BP, SI, DI, R8, R12 = 12, REGS = 16 };
enum { INSTRUCTIONS_MOST = 64, SAVED_MOST = 64 };

enum kind {
	UNKNOWN,
	INITIAL, // what the register `reg` held at the function's begin, or the load numbered REGS and on,
		 // plus `off`
	RETURN,  // the return address
	OTHER,   // the stack that was switched to
};

struct value {
	enum kind kind;
	int reg;
	int32_t off;
};

struct saved { // a store to memory: value at base + off
	struct value base, value;
};

struct machine {
	struct value regs[REGS];
	struct saved saved[SAVED_MOST];
	size_t nsaved;
	int loads; // whose values are known by their number alone
	bool switched;
	struct value left; // the stack pointer when it was switched
};

struct instruction {
	const unsigned char *at; // the opcode
	size_t length;
	bool wide;   // REX.W
	int b, x, r; // REX bits
	int mod, reg, rm;
	bool memory, plain; // plain: base and displacement only
	int base;           // -1: relative to the instruction
	int32_t disp;
};

static struct value unknown(void)
{
	return (struct value){UNKNOWN, 0, 0};
}

// ------------------------------------------------------------------ decoding

// What follows the opcode: false if it is cut off.
static bool read_modrm(struct instruction *i, const unsigned char *p, const unsigned char *end, size_t *used)
{
	const unsigned char *from = p;
	if (p >= end)
		return false;
	i->mod = *p >> 6;
	i->reg = (*p >> 3 & 7) | i->r << 3;
	i->rm = (*p & 7) | i->b << 3;
	int low = *p++ & 7;
	i->memory = i->mod != 3;
	i->plain = i->memory;
	i->base = i->rm;
	i->disp = 0;
	if (i->memory && low == 4) {
		if (p >= end)
			return false;
		i->plain = (*p >> 3 & 7) == 4 && !i->x;
		i->base = (*p & 7) | i->b << 3;
		if (!i->mod && (*p & 7) == 5)
			return false;
		p++;
	} else if (i->memory && !i->mod && low == 5) {
		i->base = -1;
	}
	size_t n = !i->memory ? 0 : i->mod == 1 ? 1 : i->mod == 2 || i->base < 0 ? 4 : 0;
	if ((size_t)(end - p) < n)
		return false;
	if (n == 1)
		i->disp = (signed char)*p;
	else if (n == 4)
		memcpy(&i->disp, p, 4);
	*used = (size_t)(p - from) + n;
	return true;
}

// Prefixes; *p moves behind them. A prefix 66, F2 or F3 tells nothing here but what it belongs to.
static void read_prefixes(struct instruction *i, const unsigned char **p, const unsigned char *end)
{
	while (*p < end && (**p == 0x66 || **p == 0xf2 || **p == 0xf3 || **p == 0x3e))
		++*p;
	if (*p < end && (**p & 0xf0) == 0x40) {
		i->wide = **p & 8;
		i->r = **p >> 2 & 1;
		i->x = **p >> 1 & 1;
		i->b = **p & 1;
		++*p;
	}
}

// ---------------------------------------------------------------- the machine

static struct value moved(struct value v, int32_t by)
{
	v.off += by;
	return v.kind == UNKNOWN ? unknown() : v;
}

static bool same(struct value a, struct value b)
{
	return a.kind == b.kind && a.reg == b.reg && a.off == b.off;
}

static void store(struct machine *m, struct value base, struct value v)
{
	if (m->nsaved < SAVED_MOST && base.kind != UNKNOWN)
		m->saved[m->nsaved++] = (struct saved){base, v};
}

static struct value load(struct machine *m, struct value base)
{
	for (size_t i = m->nsaved; i-- > 0;)
		if (same(m->saved[i].base, base))
			return m->saved[i].value;
	if (base.kind == INITIAL && base.reg == SP && base.off == 0)
		return (struct value){RETURN, 0, 0};
	return (struct value){INITIAL, REGS + m->loads++, 0};
}

static struct value place(const struct machine *m, const struct instruction *i)
{
	return i->plain && i->base >= 0 ? moved(m->regs[i->base], i->disp) : unknown();
}

// False: the stack pointer becomes what no switch makes it.
static bool set(struct machine *m, int reg, struct value v)
{
	if (reg != SP || (v.kind == INITIAL && v.reg == SP) || (m->switched && v.kind == OTHER)) {
		m->regs[reg] = v;
		return true;
	}
	if (m->switched || m->regs[SP].kind != INITIAL)
		return false;
	m->switched = true;
	m->left = m->regs[SP];
	m->regs[SP] = (struct value){OTHER, 0, 0};
	return true;
}

static void push(struct machine *m, struct value v)
{
	m->regs[SP] = moved(m->regs[SP], -8);
	store(m, m->regs[SP], v);
}

static struct value pop(struct machine *m)
{
	struct value v = load(m, m->regs[SP]);
	m->regs[SP] = moved(m->regs[SP], 8);
	return v;
}

enum step { STEP_ON, STEP_LEFT, STEP_STRANGE };

static enum step step_move(struct machine *m, const struct instruction *i, unsigned char op)
{
	struct value at = place(m, i), v;
	bool ok = true;
	switch (op) {
	case 0x89:
		if (i->memory)
			store(m, at, i->wide ? m->regs[i->reg] : unknown());
		else
			ok = set(m, i->rm, i->wide ? m->regs[i->reg] : unknown());
		break;
	case 0x8b:
		v = i->memory ? load(m, at) : m->regs[i->rm];
		ok = set(m, i->reg, i->wide ? v : unknown());
		break;
	case 0x8d:
		ok = i->memory && (i->reg != SP || at.kind != UNKNOWN) && set(m, i->reg, at);
		break;
	default: // 0x87
		v = i->memory ? load(m, at) : m->regs[i->rm];
		if (i->memory)
			store(m, at, m->regs[i->reg]);
		else
			ok = set(m, i->rm, m->regs[i->reg]);
		ok = ok && set(m, i->reg, v);
		break;
	}
	return ok ? STEP_ON : STEP_STRANGE;
}

// add, sub and their like with a number; other arithmetic makes the register unknown.
static enum step step_number(struct machine *m, const struct instruction *i, int32_t n)
{
	int what = i->reg & 7;
	if (i->memory)
		return STEP_ON;
	if (i->rm == SP && what != 0 && what != 5)
		return STEP_STRANGE;
	struct value v = what == 0 ? moved(m->regs[i->rm], n) :
			 what == 5 ? moved(m->regs[i->rm], -n) :
			 what == 7 ? m->regs[i->rm] :
				     unknown();
	m->regs[i->rm] = v;
	return STEP_ON;
}

static enum step step_two(struct instruction *i, const unsigned char *p, const unsigned char *end,
			  size_t *used)
{
	unsigned char op = p < end ? *p : 0;
	*used = 0;
	if (op == 0x1e || op == 0x1f || op == 0xae || op == 0x10 || op == 0x11 || op == 0x28 || op == 0x29 ||
	    op == 0x6f || op == 0x7f || op == 0x18) {
		if (!read_modrm(i, p + 1, end, used))
			return STEP_STRANGE;
		++*used;
		return STEP_ON;
	}
	return STEP_STRANGE;
}

static enum step step(struct machine *m, const unsigned char *p, const unsigned char *end, size_t *length)
{
	struct instruction i = {.at = p};
	const unsigned char *from = p;
	size_t used = 0;
	read_prefixes(&i, &p, end);
	if (p >= end)
		return STEP_STRANGE;
	unsigned char op = *p++;
	enum step s = STEP_ON;
	int32_t n = 0;
	if (op >= 0x50 && op <= 0x57) {
		push(m, m->regs[(op & 7) | i.b << 3]);
	} else if (op >= 0x58 && op <= 0x5f) {
		struct value v = pop(m);
		s = set(m, (op & 7) | i.b << 3, v) ? STEP_ON : STEP_STRANGE;
	} else if (op == 0x89 || op == 0x8b || op == 0x8d || op == 0x87) {
		s = read_modrm(&i, p, end, &used) ? step_move(m, &i, op) : STEP_STRANGE;
	} else if (op == 0x83 || op == 0x81) {
		size_t bytes = op == 0x83 ? 1 : 4;
		if (!read_modrm(&i, p, end, &used) || (size_t)(end - p) < used + bytes)
			return STEP_STRANGE;
		if (bytes == 1)
			n = (signed char)p[used];
		else
			memcpy(&n, p + used, 4);
		used += bytes;
		s = step_number(m, &i, n);
	} else if (op == 0x31 || op == 0x33 || op == 0x85) {
		s = read_modrm(&i, p, end, &used) && !i.memory ? STEP_ON : STEP_STRANGE;
		if (s == STEP_ON && op != 0x85 && (op == 0x31 ? i.rm : i.reg) == SP)
			s = STEP_STRANGE;
		else if (s == STEP_ON && op != 0x85)
			m->regs[op == 0x31 ? i.rm : i.reg] = unknown();
	} else if (op == 0xd9) { // of the floating-point unit: its control word
		s = read_modrm(&i, p, end, &used) && i.memory ? STEP_ON : STEP_STRANGE;
	} else if (op == 0x9c) {
		push(m, unknown());
	} else if (op == 0x9d) {
		pop(m);
	} else if (op == 0x0f) {
		s = step_two(&i, p, end, &used);
	} else if (op == 0xc7 && read_modrm(&i, p, end, &used) && i.memory) {
		used += 4;
	} else if (op == 0xc3 || op == 0xc2) {
		s = STEP_LEFT;
	} else if (op == 0xff) {
		s = read_modrm(&i, p, end, &used) && (i.reg & 7) == 4 ? STEP_LEFT : STEP_STRANGE;
	} else if (op != 0x90 && op != 0x9b && op != 0xfc) {
		s = STEP_STRANGE;
	}
	*length = (size_t)(p - from) + used;
	return (size_t)(end - from) < *length ? STEP_STRANGE : s;
}

// To the end of the function. False: it does what cannot be followed.
static bool leave(struct machine *m, const unsigned char *code, size_t bytes)
{
	const unsigned char *p = code, *end = code + bytes;
	for (int k = 0; k < INSTRUCTIONS_MOST; k++) {
		size_t length = 0;
		enum step s = step(m, p, end, &length);
		if (s != STEP_ON)
			return s == STEP_LEFT;
		p += length;
	}
	return false;
}

static bool is_other(const struct machine *m)
{
	return m->switched && m->regs[SP].kind == OTHER;
}

// ----------------------------------------------------------------- what it left

// The stack pointer that was kept: in memory, else in a register. The base of the block it was put into.
static bool kept_sp(const struct machine *m, int32_t *sp, struct value *block)
{
	*block = unknown();
	for (size_t i = 0; i < m->nsaved; i++) {
		const struct saved *s = &m->saved[i];
		bool elsewhere = s->base.kind == INITIAL && s->base.reg != SP;
		if (elsewhere && s->value.kind == INITIAL && s->value.reg == SP) {
			*sp = s->value.off;
			*block = s->base;
			return true;
		}
	}
	for (int r = 0; r < REGS; r++)
		if (r != SP && m->regs[r].kind == INITIAL && m->regs[r].reg == SP) {
			*sp = m->regs[r].off;
			return *sp == m->left.off;
		}
	return false;
}

// Where this value was saved, from the saved stack pointer or its word.
static struct recipe_place find(const struct machine *m, struct value v, int32_t sp, struct value block)
{
	for (size_t i = 0; i < m->nsaved; i++) {
		const struct saved *s = &m->saved[i];
		if (!same(s->value, v))
			continue;
		if (s->base.kind == INITIAL && s->base.reg == SP)
			return (struct recipe_place){RECIPE_STACK, s->base.off - sp};
		if (block.kind == INITIAL && s->base.kind == INITIAL && s->base.reg == block.reg)
			return (struct recipe_place){RECIPE_BLOCK, s->base.off - block.off};
	}
	return (struct recipe_place){RECIPE_NOWHERE, 0};
}

bool recipe_learn(const unsigned char *code, size_t bytes, struct recipe *out)
{
	static const int numbers[CTP_REGS] = {
		[CTP_REG_PC] = -1, [CTP_REG_SP] = SP, [CTP_REG_FP] = BP, [CTP_REG_S0] = BX,
		[CTP_REG_S1] = 12, [CTP_REG_S2] = 13, [CTP_REG_S3] = 14, [CTP_REG_S4] = 15};
	struct machine m = {.nsaved = 0};
	struct recipe got = {.sp = 0};
	struct value block;
	int32_t sp;
	for (int r = 0; r < REGS; r++)
		m.regs[r] = (struct value){INITIAL, r, 0};
	if (!leave(&m, code, bytes < RECIPE_CODE_MOST ? bytes : RECIPE_CODE_MOST) ||
	    !kept_sp(&m, &sp, &block))
		return false;
	if (!is_other(&m) && (m.switched || m.regs[SP].kind != INITIAL || m.regs[SP].off || block.reg != DI))
		return false;
	for (int r = CTP_REG_FP; r < CTP_REGS; r++) {
		got.regs[r] = find(&m, (struct value){INITIAL, numbers[r], 0}, sp, block);
		if (got.regs[r].where == RECIPE_NOWHERE)
			return false;
	}
	got.regs[CTP_REG_PC] = find(&m, (struct value){RETURN, 0, 0}, sp, block);
	if (!m.switched && got.regs[CTP_REG_PC].where != RECIPE_BLOCK)
		return false;
	if (got.regs[CTP_REG_PC].where == RECIPE_NOWHERE)
		got.regs[CTP_REG_PC] = (struct recipe_place){RECIPE_STACK, -sp};
	got.sp = 8 - sp;
	got.returns = !m.switched;
	*out = got;
	return true;
}

bool recipe_may_switch(const unsigned char *code, size_t bytes)
{
	struct machine m = {.nsaved = 0};
	size_t length = 0;
	for (int r = 0; r < REGS; r++)
		m.regs[r] = (struct value){INITIAL, r, 0};
	return step(&m, code, code + bytes, &length) == STEP_ON && m.switched &&
	       leave(&m, code + length, bytes - length) && is_other(&m);
}

// Leaves by the other stack, or does what cannot be followed: then true where `may` is.
static bool goes_on(struct machine *m, const unsigned char *p, const unsigned char *end, bool may)
{
	for (int k = 0; k < INSTRUCTIONS_MOST; k++) {
		size_t length = 0;
		enum step s = step(m, p, end, &length);
		if (s == STEP_LEFT)
			return m->regs[SP].kind == OTHER;
		if (s == STEP_STRANGE)
			return may;
		p += length;
	}
	return may;
}

bool recipe_switches(const unsigned char *code, size_t bytes)
{
	struct machine m = {.nsaved = 0};
	const unsigned char *p = code, *end = code + bytes;
	for (int r = 0; r < REGS; r++)
		m.regs[r] = (struct value){INITIAL, r, 0};
	for (int k = 0; k < INSTRUCTIONS_MOST && !m.switched; k++) {
		size_t length = 0;
		if (step(&m, p, end, &length) != STEP_ON)
			return false;
		p += length;
	}
	// a stack pointer in a register may be kept for many reasons: only a whole function says it
	bool stored = m.nsaved && m.saved[0].value.kind == INITIAL && m.saved[0].value.reg == SP;
	return m.switched && goes_on(&m, p, end, stored);
}
