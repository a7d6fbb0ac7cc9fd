// SPDX-License-Identifier: MIT
//
// Each instruction that may write the register is looked at, in no order: whatever way the code takes, only
// such values can be in it. An instruction that is not known to leave it alone ends the question.
#include "find/harmless.h"

#include "frames/x86.h"

enum { SP = 4, DI = 7, DEPTH_MOST = 4 };

struct function {
	const uint8_t *code;
	size_t bytes;
	bool argument;
};

static bool is_harmless(const struct function *f, unsigned number, unsigned depth);

// A register's value is copied.
static bool from(const struct function *f, unsigned source, unsigned number, unsigned depth)
{
	if (source == SP || source == number)
		return true;
	if (source == DI)
		return f->argument;
	bool kept = source == 3 || source == 5 || source >= 12; // that called functions preserve
	return kept && depth && is_harmless(f, source, depth - 1);
}

// Of the instructions that name it, those that only read it.
static bool only_reads(const struct x86 *i, unsigned number)
{
	unsigned op = i->opcode;
	if (i->map != X86_ONE_BYTE)
		return false;
	bool store = (op == 0x88 || op == 0x89) && (i->memory || i->rm != number);
	bool arithmetic = op < 0x40 && ((op & 7) == 0 || (op & 7) == 1) && (i->memory || i->rm != number);
	return store || arithmetic || (op & 0xfc) == 0x38 || op == 0x84 || op == 0x85 ||
	       (op == 0xff && ((i->reg & 7) == 2 || (i->reg & 7) == 4 || (i->reg & 7) == 6)) ||
	       ((op == 0x80 || op == 0x81 || op == 0x83) && (i->reg & 7) == 7) ||
	       ((op == 0xf6 || op == 0xf7) && (i->reg & 7) < 2);
}

static bool names(const struct x86 *i, unsigned number)
{
	return i->has_modrm && (i->reg == number || (!i->memory && i->rm == number));
}

static bool write_is_harmless(const struct function *f, const struct x86 *i, unsigned number, unsigned depth)
{
	unsigned op = i->opcode;
	if (i->size == 4 && i->map == X86_ONE_BYTE && op != 0x87)
		return true; // the upper half becomes 0
	if (i->map == X86_0F)
		return op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf || (op & 0xf0) == 0x90;
	if (i->map != X86_ONE_BYTE || i->vex)
		return false;
	switch (op) {
	case 0x8d:
		if (i->index != X86_NO_REGISTER && i->scale == 1 && i->base != SP)
			return false; // which of the two is the pointer?
		return i->rip || (i->base != X86_NO_REGISTER && from(f, i->base, number, depth));
	case 0x89:
		return from(f, i->reg, number, depth);
	case 0x8b:
		return !i->memory && from(f, i->rm, number, depth);
	case 0x63: // a number of 32 bits
	case 0xc7:
		return true;
	case 0x80:
	case 0x81:
	case 0x83:
	case 0xc1:
	case 0xd1:
		return true; // with a constant
	case 0xff:
		return (i->reg & 7) < 2; // inc, dec
	case 0x31:
	case 0x33:
		return !i->memory && i->reg == i->rm;
	case 0x29: // less a distance
		return true;
	default:
		return false;
	}
}

// A jump out of the function's own code, as to a part of it that is seldom run.
static bool leaves(const struct function *f, const struct x86 *i, size_t next)
{
	unsigned op = i->opcode;
	bool jump = i->map == X86_ONE_BYTE ?
			    (op & 0xf0) == 0x70 || op == 0xe9 || op == 0xeb || (op & 0xfc) == 0xe0 :
			    i->map == X86_0F && (op & 0xf0) == 0x80;
	return jump && (uint64_t)(i->immediate + (int64_t)next) >= f->bytes;
}

static bool is_harmless(const struct function *f, unsigned number, unsigned depth)
{
	struct x86 i;
	for (size_t at = 0; at < f->bytes; at += i.length) {
		if (!x86_decode(f->code + at, f->bytes - at, &i) || !i.length)
			return false;
		unsigned op = i.opcode;
		bool one = i.map == X86_ONE_BYTE;
		if ((i.map == X86_0F && (op == 0xa2 || op == 0xc7)) ||
		    (one && (op & 0xf8) == 0x90 && op != 0x90))
			return false; // cpuid, rdrand, xchg
		if (leaves(f, &i, at + i.length))
			return false; // other code may do it, and come back
		if (!names(&i, number) || i.vex || only_reads(&i, number))
			continue;
		bool source = one && (op == 0x8b || op == 0x8d || op == 0x63 || op == 0x03) &&
			      i.reg != number;
		bool group = one &&
			     (op == 0x80 || op == 0x81 || op == 0x83 || op == 0xc1 || op == 0xd1 ||
			      op == 0xff || op == 0xc7) &&
			     (i.memory || i.rm != number);
		if (source || group)
			continue;
		if (!write_is_harmless(f, &i, number, depth))
			return false;
	}
	return true;
}

bool harmless_register(const uint8_t *code, size_t bytes, unsigned number, bool argument)
{
	const struct function f = {code, bytes, argument};
	return is_harmless(&f, number, DEPTH_MOST);
}
