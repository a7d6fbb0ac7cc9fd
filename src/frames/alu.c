// SPDX-License-Identifier: MIT
#include "frames/alu.h"

uint64_t alu_cut(uint64_t v, unsigned bytes)
{
	return bytes >= 8 ? v : v & ((1ULL << 8 * bytes) - 1);
}

uint64_t alu_extend(uint64_t v, unsigned bytes)
{
	unsigned up = 64 - 8 * bytes;
	return (uint64_t)((int64_t)(v << up) >> up);
}

struct machine_value alu_tinted(const struct machine_value *a, const struct machine_value *by)
{
	struct machine_value r = *a;
	r.mixed |= by->mixed;
	if (!by->of.width)
		return r;
	if (r.of.width && (r.of.offset != by->of.offset || r.of.width != by->of.width))
		r.mixed = true;
	r.of = by->of;
	return r;
}

struct machine_value alu_combine(const struct machine_value *a, const struct machine_value *b, uint64_t v)
{
	struct machine_value r = alu_tinted(a, b);
	r.known = a->known && b->known;
	r.v = v;
	return r;
}

static bool is_negative(uint64_t v, unsigned bytes)
{
	return v >> (8 * bytes - 1) & 1;
}

static uint64_t compute(enum alu what, uint64_t a, uint64_t b)
{
	switch (what) {
	case ALU_ADD:
		return a + b;
	case ALU_OR:
		return a | b;
	case ALU_AND:
		return a & b;
	case ALU_XOR:
		return a ^ b;
	default:
		return a - b;
	}
}

struct machine_value alu_two(enum alu what, const struct machine_value *a, const struct machine_value *b,
			     unsigned bytes, struct machine_flags *f)
{
	uint64_t x = alu_cut(a->v, bytes), y = alu_cut(b->v, bytes), v = alu_cut(compute(what, x, y), bytes);
	struct machine_value r = alu_combine(a, b, v);
	bool minus = what == ALU_SUB || what == ALU_CMP, zero_and = what == ALU_AND;
	if (what == ALU_ADC || what == ALU_SBB)
		r.known = false;
	if (zero_and && ((a->known && !x) || (b->known && !y))) {
		r.known = true; // whatever the other is
		r.v = 0;
	}
	*f = (struct machine_flags){.by = r, .all = true, .zero = !r.v, .sign = is_negative(r.v, bytes)};
	if (minus) {
		f->carry = x < y;
		f->overflow = is_negative((x ^ y) & (x ^ v), bytes);
	} else if (what == ALU_ADD) {
		f->carry = v < x;
		f->overflow = is_negative(~(x ^ y) & (x ^ v), bytes);
	}
	return r;
}

struct machine_value alu_shift(unsigned which, const struct machine_value *a,
			       const struct machine_value *count, unsigned bytes, struct machine_flags *f)
{
	unsigned by = (unsigned)(count->v & (bytes == 8 ? 63 : 31));
	uint64_t x = alu_cut(a->v, bytes);
	uint64_t v = which == 5 ? x >> by :
		     which == 7 ? (uint64_t)((int64_t)alu_extend(x, bytes) >> by) :
				  x << by;
	struct machine_value r = alu_combine(a, count, alu_cut(v, bytes));
	*f = (struct machine_flags){.by = r, .zero = !r.v, .sign = is_negative(r.v, bytes)};
	return r;
}

void alu_bit(const struct machine_value *a, const struct machine_value *bit, unsigned bytes,
	     struct machine_flags *f)
{
	struct machine_value r = alu_combine(a, bit, 0);
	*f = (struct machine_flags){
		.by = r, .carry_only = true, .carry = a->v >> (bit->v & (8 * bytes - 1)) & 1};
}

bool alu_condition(const struct machine_flags *f, unsigned condition, bool *holds)
{
	bool v = false, carry_too = false;
	switch (condition >> 1) {
	case 0:
		v = f->overflow;
		carry_too = true;
		break;
	case 1:
		v = f->carry;
		carry_too = true;
		break;
	case 2:
		v = f->zero;
		break;
	case 3:
		v = f->carry || f->zero;
		carry_too = true;
		break;
	case 4:
		v = f->sign;
		break;
	case 5:
		return false; // parity
	case 6:
		v = f->sign != f->overflow;
		carry_too = true;
		break;
	default:
		v = f->zero || f->sign != f->overflow;
		carry_too = true;
		break;
	}
	*holds = v != (condition & 1);
	if (f->carry_only)
		return f->by.known && condition >> 1 == 1;
	return f->by.known && (f->all || !carry_too);
}
