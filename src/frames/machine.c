// SPDX-License-Identifier: MIT
//
// A value is known, or it is not; both remember the field of the frame that they were made of. What an
// instruction does that is not known here ends the run: nothing is guessed. Vector instructions do not touch
// what decides, but for those that write to a general register, which are not known.
#include "frames/machine.h"

#include <string.h>

#include "frames/alu.h"

enum { RSP = 4, RDI = 7 };

static const struct machine_value unknown = {0};

static struct machine_value constant(uint64_t v)
{
	return (struct machine_value){.known = true, .v = v};
}

void machine_begin(struct machine *m, uint64_t at)
{
	memset(m->r, 0, sizeof(m->r));
	m->r[RSP] = constant(MACHINE_STACK);
	m->r[RDI] = constant(MACHINE_FRAME);
	m->flags = (struct machine_flags){0};
	m->nstores = 0;
	m->code_bytes = 0;
	m->pc = at;
}

static bool fetch(struct machine *m, struct x86 *x)
{
	uint64_t in = m->pc - m->code_at;
	if (m->pc < m->code_at || in + X86_LONGEST > m->code_bytes) {
		m->code_at = m->pc;
		m->code_bytes = m->peek(m->ctx, m->pc, m->code, sizeof(m->code));
		in = 0;
	}
	return in < m->code_bytes && x86_decode(m->code + in, m->code_bytes - in, x);
}

// --------------------------------------------------------------------- memory

static struct machine_value address(const struct machine *m, const struct x86 *x)
{
	struct machine_value a = constant((uint64_t)x->displacement);
	if (x->segment)
		return unknown;
	if (x->rip)
		a.v += m->pc + x->length;
	if (x->base != X86_NO_REGISTER)
		a = alu_combine(&a, &m->r[x->base], a.v + m->r[x->base].v);
	if (x->index != X86_NO_REGISTER)
		a = alu_combine(&a, &m->r[x->index], a.v + m->r[x->index].v * x->scale);
	return a;
}

static bool in_frame(uint64_t at, unsigned bytes)
{
	return at >= MACHINE_FRAME && at + bytes <= MACHINE_FRAME + MACHINE_FRAME_BYTES;
}

// What the frame holds there: the field that is known, or one that is not.
static struct machine_value frame_field(const struct machine *m, uint32_t offset, unsigned bytes)
{
	const struct machine_field f = m->field;
	struct machine_value v = {.of = {offset, bytes}};
	if (f.width && offset == f.offset && bytes > f.width)
		bytes = f.width; // what is beside it in the register is of no use to a dispatch
	if (!f.width || offset < f.offset || offset + bytes > f.offset + f.width)
		return v;
	v.known = true;
	v.of = f;
	v.v = alu_cut(m->value >> 8 * (offset - f.offset), bytes);
	return v;
}

static struct machine_value load(struct machine *m, const struct machine_value *at, unsigned bytes)
{
	struct machine_value v = unknown;
	v.of = at->of;
	v.mixed = at->mixed;
	if (!at->known)
		return v;
	for (size_t i = m->nstores; i-- > 0;) {
		const struct machine_store *s = &m->stores[i];
		if (at->v == s->at && bytes <= s->bytes) {
			v = s->value;
			v.v = alu_cut(v.v, bytes);
			return v;
		}
		if (at->v < s->at + s->bytes && s->at < at->v + bytes)
			return v; // another part of it
	}
	if (in_frame(at->v, bytes))
		return frame_field(m, (uint32_t)(at->v - MACHINE_FRAME), bytes);
	if (at->v < MACHINE_FRAME || at->v >= MACHINE_STACK + MACHINE_FRAME_BYTES)
		v.known = m->peek(m->ctx, at->v, &v.v, bytes) == bytes;
	return v;
}

// False: there is no room, or nobody knows where it goes.
static bool store(struct machine *m, const struct machine_value *at, unsigned bytes, struct machine_value v)
{
	if (!at->known)
		return true; // into the heap or static storage: of no use to the dispatch
	if (m->nstores == MACHINE_STORES)
		return false;
	v.v = alu_cut(v.v, bytes);
	m->stores[m->nstores++] = (struct machine_store){at->v, bytes, v};
	return true;
}

// ------------------------------------------------------------------- operands

static struct machine_value get_register(const struct machine *m, const struct x86 *x, unsigned n,
					 unsigned bytes)
{
	bool high = bytes == 1 && !x->rex && n >= 4 && n < 8;
	struct machine_value v = m->r[high ? n - 4 : n];
	v.v = alu_cut(high ? v.v >> 8 : v.v, bytes);
	return v;
}

static void set_register(struct machine *m, const struct x86 *x, unsigned n, unsigned bytes,
			 struct machine_value v)
{
	bool high = bytes == 1 && !x->rex && n >= 4 && n < 8;
	struct machine_value *r = &m->r[high ? n - 4 : n];
	v.v = alu_cut(v.v, bytes);
	if (bytes >= 4) {
		*r = v;
		return;
	}
	uint64_t mask = (bytes == 1 ? 0xffULL : 0xffffULL) << (high ? 8 : 0);
	// The upper part stays; while it is not known, the lower one is what anybody will ask for.
	struct machine_value both = v;
	both.v = (r->known ? r->v & ~mask : 0) | (high ? v.v << 8 : v.v);
	if (high)
		both.known = v.known && r->known;
	*r = both;
}

static struct machine_value get_rm(struct machine *m, const struct x86 *x, unsigned bytes)
{
	if (!x->memory)
		return get_register(m, x, x->rm, bytes);
	struct machine_value at = address(m, x);
	return load(m, &at, bytes);
}

static bool set_rm(struct machine *m, const struct x86 *x, unsigned bytes, struct machine_value v)
{
	if (!x->memory) {
		set_register(m, x, x->rm, bytes, v);
		return true;
	}
	struct machine_value at = address(m, x);
	return store(m, &at, bytes, v);
}

static unsigned size_of(const struct x86 *x)
{
	return x->opcode & 1 ? x->size : 1;
}

static bool push(struct machine *m, struct machine_value v)
{
	if (!m->r[RSP].known)
		return false;
	m->r[RSP].v -= 8;
	return store(m, &m->r[RSP], 8, v);
}

static struct machine_value pop(struct machine *m)
{
	struct machine_value v = load(m, &m->r[RSP], 8);
	m->r[RSP].v += 8;
	return v;
}

// --------------------------------------------------------------- instructions

static enum machine_step known_if(bool done)
{
	return done ? MACHINE_ON : MACHINE_UNKNOWN;
}

// add or adc sbb and sub xor cmp, in their six forms.
static enum machine_step arithmetic(struct machine *m, const struct x86 *x, enum alu what, bool immediate)
{
	unsigned bytes = immediate && x->opcode == 0x83 ? x->size : size_of(x);
	bool accumulator = !immediate && (x->opcode & 7) >= 4,
	     from_rm = !immediate && (x->opcode & 2) && !accumulator;
	struct machine_value a, b, result;
	if (accumulator) {
		a = get_register(m, x, 0, bytes);
		b = constant((uint64_t)x->immediate);
	} else {
		a = from_rm ? get_register(m, x, x->reg, bytes) : get_rm(m, x, bytes);
		b = immediate ? constant((uint64_t)x->immediate) :
		    from_rm   ? get_rm(m, x, bytes) :
				get_register(m, x, x->reg, bytes);
	}
	bool zeroes = (what == ALU_XOR || what == ALU_SUB) && !x->memory && x->reg == x->rm && !accumulator &&
		      !immediate;
	if (zeroes)
		a = b = constant(0);
	result = alu_two(what, &a, &b, bytes, &m->flags);
	if (what == ALU_CMP)
		return MACHINE_ON;
	if (accumulator || from_rm) {
		set_register(m, x, accumulator ? 0 : x->reg, bytes, result);
		return MACHINE_ON;
	}
	return known_if(set_rm(m, x, bytes, result));
}

static enum machine_step shift(struct machine *m, const struct x86 *x)
{
	unsigned bytes = size_of(x);
	struct machine_value a = get_rm(m, x, bytes), count = constant(1);
	if (x->opcode <= 0xc1)
		count = constant((uint64_t)x->immediate);
	else if (x->opcode >= 0xd2)
		count = get_register(m, x, 1, 1);
	if (x->reg % 8 < 4)
		return MACHINE_UNKNOWN; // rotations
	return known_if(set_rm(m, x, bytes, alu_shift(x->reg % 8, &a, &count, bytes, &m->flags)));
}

// test, not, neg; the multiplications are not known.
static enum machine_step unary(struct machine *m, const struct x86 *x)
{
	unsigned bytes = size_of(x);
	struct machine_value a = get_rm(m, x, bytes), zero = constant(0),
			     b = constant((uint64_t)x->immediate);
	switch (x->reg % 8) {
	case 0:
	case 1:
		alu_two(ALU_AND, &a, &b, bytes, &m->flags);
		return MACHINE_ON;
	case 2:
		a.v = ~a.v;
		return known_if(set_rm(m, x, bytes, a));
	case 3:
		return known_if(set_rm(m, x, bytes, alu_two(ALU_SUB, &zero, &a, bytes, &m->flags)));
	default:
		return MACHINE_UNKNOWN;
	}
}

static enum machine_step jump_to(struct machine *m, const struct x86 *x, struct machine_value *by)
{
	*by = get_rm(m, x, 8);
	if (!by->known)
		return MACHINE_UNDECIDED;
	m->pc = by->v;
	return MACHINE_BRANCHED;
}

static enum machine_step group_ff(struct machine *m, const struct x86 *x, struct machine_value *by)
{
	unsigned bytes = size_of(x);
	struct machine_value a, one = constant(1);
	switch (x->reg % 8) {
	case 0:
	case 1:
		a = get_rm(m, x, bytes);
		return known_if(set_rm(m, x, bytes,
				       alu_two(x->reg % 8 ? ALU_SUB : ALU_ADD, &a, &one, bytes, &m->flags)));
	case 4:
		return bytes == 1 ? MACHINE_UNKNOWN : jump_to(m, x, by);
	case 6:
		return known_if(push(m, get_rm(m, x, 8)));
	default:
		return MACHINE_ENDS;
	}
}

static enum machine_step branch(struct machine *m, const struct x86 *x, struct machine_value *by)
{
	bool taken;
	*by = m->flags.by;
	by->known = alu_condition(&m->flags, x->opcode & 15, &taken);
	if (!by->known)
		return MACHINE_UNDECIDED;
	m->pc += x->length + (taken ? (uint64_t)x->immediate : 0);
	return MACHINE_BRANCHED;
}

static enum machine_step test(struct machine *m, const struct x86 *x, struct machine_value a,
			      struct machine_value b)
{
	alu_two(ALU_AND, &a, &b, size_of(x), &m->flags);
	return MACHINE_ON;
}

// Sign extension, of another register or of the accumulator.
static enum machine_step extend_signed(struct machine *m, const struct x86 *x)
{
	struct machine_value v;
	if (x->opcode == 0x63) { // movslq
		v = get_rm(m, x, 4);
		v.v = alu_extend(v.v, 4);
		set_register(m, x, x->reg, x->size, v);
		return MACHINE_ON;
	}
	v = get_register(m, x, 0, x->size / 2); // cltq, cwtl, cbtw
	v.v = alu_extend(v.v, x->size / 2);
	set_register(m, x, 0, x->size, v);
	return MACHINE_ON;
}

// What leaves the straight line, or may.
static enum machine_step one_byte_flow(struct machine *m, const struct x86 *x, struct machine_value *by)
{
	switch (x->opcode) {
	case 0xe9:
	case 0xeb:
		m->pc += (uint64_t)x->immediate + x->length;
		return MACHINE_BRANCHED;
	case 0xc3:
	case 0xe8:
	case 0xcc:
		return MACHINE_ENDS;
	case 0xfe:
	case 0xff:
		return group_ff(m, x, by);
	default:
		return MACHINE_UNKNOWN;
	}
}

static enum machine_step one_byte_rest(struct machine *m, const struct x86 *x, struct machine_value *by)
{
	switch (x->opcode) {
	case 0x63:
	case 0x98:
		return extend_signed(m, x);
	case 0x68:
	case 0x6a:
		return known_if(push(m, constant((uint64_t)x->immediate)));
	case 0x84:
	case 0x85:
		return test(m, x, get_rm(m, x, size_of(x)), get_register(m, x, x->reg, size_of(x)));
	case 0x88:
	case 0x89:
		return known_if(set_rm(m, x, size_of(x), get_register(m, x, x->reg, size_of(x))));
	case 0x8a:
	case 0x8b:
		set_register(m, x, x->reg, size_of(x), get_rm(m, x, size_of(x)));
		return MACHINE_ON;
	case 0x8d:
		set_register(m, x, x->reg, x->size, address(m, x));
		return MACHINE_ON;
	case 0x90:
		return MACHINE_ON;
	case 0x99:
		set_register(m, x, 2, x->size, unknown);
		return MACHINE_ON;
	case 0xa8:
	case 0xa9:
		return test(m, x, get_register(m, x, 0, size_of(x)), constant((uint64_t)x->immediate));
	case 0xc6:
	case 0xc7:
		return known_if(set_rm(m, x, size_of(x), constant((uint64_t)x->immediate)));
	case 0xc9: // leave
		m->r[RSP] = m->r[5];
		m->r[5] = pop(m);
		return MACHINE_ON;
	case 0xf6:
	case 0xf7:
		return unary(m, x);
	default:
		return one_byte_flow(m, x, by);
	}
}

static enum machine_step one_byte(struct machine *m, const struct x86 *x, struct machine_value *by)
{
	unsigned op = x->opcode;
	if (op < 0x40)
		return arithmetic(m, x, op >> 3 & 7, false);
	if (op >= 0x50 && op < 0x58)
		return known_if(push(m, m->r[x->rm]));
	if (op >= 0x58 && op < 0x60) {
		m->r[x->rm] = pop(m);
		return MACHINE_ON;
	}
	if (op >= 0x70 && op < 0x80)
		return branch(m, x, by);
	if (op >= 0x80 && op <= 0x83)
		return arithmetic(m, x, x->reg & 7, true);
	if (op >= 0xb0 && op < 0xc0) {
		set_register(m, x, x->rm, op < 0xb8 ? 1 : x->size, constant((uint64_t)x->immediate));
		return MACHINE_ON;
	}
	if (op == 0xc0 || op == 0xc1 || (op >= 0xd0 && op <= 0xd3))
		return shift(m, x);
	return one_byte_rest(m, x, by);
}

static enum machine_step extend(struct machine *m, const struct x86 *x, bool is_signed)
{
	unsigned from = x->opcode & 1 ? 2 : 1;
	struct machine_value v = get_rm(m, x, from);
	if (is_signed)
		v.v = alu_extend(v.v, from);
	set_register(m, x, x->reg, x->size, v);
	return MACHINE_ON;
}

// Vector instructions, but for those that write to general registers or to memory that is not the stack's.
static bool is_vector(const struct x86 *x)
{
	unsigned op = x->opcode;
	if (x->map != X86_0F)
		return false;
	return (op >= 0x10 && op <= 0x17) || op == 0x28 || op == 0x29 || (op >= 0x51 && op <= 0x6f) ||
	       op == 0x7f || op == 0xd6 || op == 0xef;
}

static enum machine_step two_byte(struct machine *m, const struct x86 *x, struct machine_value *by)
{
	unsigned op = x->opcode;
	bool taken;
	struct machine_value v = m->flags.by, other;
	if ((op & 0xf0) == 0x80)
		return branch(m, x, by);
	if ((op & 0xf0) == 0x90) {
		v.known = alu_condition(&m->flags, op & 15, &taken);
		v.v = v.known && taken;
		return known_if(set_rm(m, x, 1, v));
	}
	if ((op & 0xf0) == 0x40) {
		other = get_rm(m, x, x->size);
		struct machine_value mine = get_register(m, x, x->reg, x->size), chosen;
		bool known = alu_condition(&m->flags, op & 15, &taken);
		chosen = alu_combine(&mine, &other, taken ? other.v : mine.v);
		if (known)
			chosen.known = taken ? other.known : mine.known;
		else
			chosen.known = false;
		set_register(m, x, x->reg, x->size, alu_tinted(&chosen, &v));
		return MACHINE_ON;
	}
	switch (op) {
	case 0x0b:
		return MACHINE_ENDS;
	case 0x1e: // endbr64
	case 0x1f:
		return MACHINE_ON;
	case 0xa3:
		v = get_rm(m, x, x->size);
		other = get_register(m, x, x->reg, x->size);
		alu_bit(&v, &other, x->size, &m->flags);
		return x->memory ? MACHINE_UNKNOWN : MACHINE_ON;
	case 0xba:
		v = get_rm(m, x, x->size);
		other = constant((uint64_t)x->immediate);
		alu_bit(&v, &other, x->size, &m->flags);
		return x->reg % 8 == 4 ? MACHINE_ON : MACHINE_UNKNOWN;
	case 0xb6:
	case 0xb7:
		return extend(m, x, false);
	case 0xbe:
	case 0xbf:
		return extend(m, x, true);
	default:
		return is_vector(x) ? MACHINE_ON : MACHINE_UNKNOWN;
	}
}

enum machine_step machine_step(struct machine *m, struct machine_value *by)
{
	struct x86 x;
	*by = unknown;
	if (!fetch(m, &x))
		return MACHINE_UNKNOWN;
	uint64_t before = m->pc;
	enum machine_step s = x.vex                 ? known_if(is_vector(&x)) :
			      x.map == X86_ONE_BYTE ? one_byte(m, &x, by) :
			      x.map == X86_0F       ? two_byte(m, &x, by) :
						      MACHINE_UNKNOWN;
	if (s == MACHINE_ON)
		m->pc = before + x.length;
	return s;
}
