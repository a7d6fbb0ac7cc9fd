// SPDX-License-Identifier: MIT
//
// The length of every instruction is known from two tables of what follows an opcode; what the
// instruction does is known to dispatch.c, and only of few.
#include "frames/x86.h"

#include <string.h>

// What follows an opcode: m ModRM; b ModRM and imm8; z ModRM and imm16/32; 1 imm8; 2 imm16; 4 imm16/32;
// V imm16/32/64; o address of 8 bytes; e imm16 and imm8; g ModRM, and imm8 or imm16/32 in two of its group;
// x no instruction; . nothing. Prefixes and escapes never get here.
static const char one_byte[257] = "mmmm14xxmmmm14x."
				  "mmmm14xxmmmm14xx"
				  "mmmm14.xmmmm14.x"
				  "mmmm14.xmmmm14.x"
				  "................"
				  "................"
				  "xxxm....4z1b...."
				  "1111111111111111"
				  "bzxbmmmmmmmmmmmm"
				  "..........x....."
				  "oooo....14......"
				  "11111111VVVVVVVV"
				  "bb2...bze.2..1x."
				  "mmmmxxx.mmmmmmmm"
				  "1111111144x1...."
				  "......gg......mm";
static const char two_byte[257] = "mmmmx.....x.xm.b"
				  "mmmmmmmmmmmmmmmm"
				  "mmmmxxxxmmmmmmmm"
				  "........x.xxxxxx"
				  "mmmmmmmmmmmmmmmm"
				  "mmmmmmmmmmmmmmmm"
				  "mmmmmmmmmmmmmmmm"
				  "bbbbmmm.mmxxmmmm"
				  "4444444444444444"
				  "mmmmmmmmmmmmmmmm"
				  "...mbmxx...mbmmm"
				  "mmmmmmmmmmbmmmmm"
				  "mmbmbbbm........"
				  "mmmmmmmmmmmmmmmm"
				  "mmmmmmmmmmmmmmmm"
				  "mmmmmmmmmmmmmmmm";

struct cursor {
	const uint8_t *b;
	size_t n, at;
	bool operand16, wide, r, x, b_bit;
};

static bool take(struct cursor *c, void *to, size_t bytes)
{
	if (c->n - c->at < bytes)
		return false;
	memcpy(to, c->b + c->at, bytes);
	c->at += bytes;
	return true;
}

// A signed number of 1, 2, 4 or 8 bytes.
static bool number(struct cursor *c, unsigned bytes, int64_t *out)
{
	int8_t one;
	int16_t two;
	int32_t four;
	if (bytes == 8)
		return take(c, out, 8);
	if (bytes == 4)
		return take(c, &four, 4) && (*out = four, true);
	if (bytes == 2)
		return take(c, &two, 2) && (*out = two, true);
	return take(c, &one, 1) && (*out = one, true);
}

static bool prefixes(struct cursor *c, struct x86 *o)
{
	for (; c->at < c->n; c->at++) {
		uint8_t p = c->b[c->at];
		if (p == 0x66)
			c->operand16 = true;
		else if (p == 0xf2 || p == 0xf3)
			o->repeat = p;
		else if (p == 0x64 || p == 0x65)
			o->segment = true;
		else if (p == 0x67)
			return false; // 32-bit addresses: nobody writes them
		else if (p != 0x2e && p != 0x36 && p != 0x3e && p != 0x26 && p != 0xf0)
			break;
	}
	if (c->at < c->n && (c->b[c->at] & 0xf0) == 0x40) {
		uint8_t rex = c->b[c->at++];
		o->rex = true;
		c->wide = rex & 8;
		c->r = rex & 4;
		c->x = rex & 2;
		c->b_bit = rex & 1;
	}
	return c->at < c->n;
}

// VEX and EVEX: the bits of REX, inverted, and the map. False: another encoding.
static bool vex(struct cursor *c, struct x86 *o, uint8_t first)
{
	uint8_t p[3] = {0};
	size_t n = first == 0xc5 ? 1 : first == 0xc4 ? 2 : 3;
	unsigned map = 1;
	if (!take(c, p, n))
		return false;
	c->r = !(p[0] & 0x80);
	if (n > 1) {
		c->x = !(p[0] & 0x40);
		c->b_bit = !(p[0] & 0x20);
		c->wide = p[1] & 0x80;
		map = p[0] & (n == 3 ? 7 : 0x1f);
	}
	o->vex = true;
	o->map = (uint8_t)map;
	return map >= X86_0F && map <= X86_0F3A && take(c, &o->opcode, 1);
}

static bool opcode(struct cursor *c, struct x86 *o)
{
	uint8_t b;
	if (!take(c, &b, 1))
		return false;
	if (b == 0xc4 || b == 0xc5 || b == 0x62)
		return vex(c, o, b);
	if (b == 0x0f) {
		if (!take(c, &b, 1))
			return false;
		o->map = b == 0x38 ? X86_0F38 : b == 0x3a ? X86_0F3A : X86_0F;
		if (o->map != X86_0F && !take(c, &b, 1))
			return false;
	}
	o->opcode = b;
	return true;
}

static uint8_t with_bit(unsigned number, bool bit)
{
	return (uint8_t)(number | (bit ? 8u : 0u));
}

static bool sib(struct cursor *c, struct x86 *o, unsigned mod, unsigned *displacement)
{
	uint8_t b;
	if (!take(c, &b, 1))
		return false;
	o->scale = (uint8_t)(1u << (b >> 6));
	uint8_t index = with_bit(b >> 3 & 7, c->x);
	o->index = index == 4 ? X86_NO_REGISTER : index;
	if ((b & 7) == 5 && mod == 0) {
		o->base = X86_NO_REGISTER;
		*displacement = 4;
	} else {
		o->base = with_bit(b & 7, c->b_bit);
	}
	return true;
}

static bool modrm(struct cursor *c, struct x86 *o)
{
	uint8_t b;
	if (!take(c, &b, 1))
		return false;
	unsigned mod = b >> 6, rm = b & 7, displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	o->has_modrm = true;
	o->reg = with_bit(b >> 3 & 7, c->r);
	o->rm = with_bit(rm, c->b_bit);
	if (mod == 3)
		return true;
	o->memory = true;
	if (rm == 4) {
		if (!sib(c, o, mod, &displacement))
			return false;
	} else if (rm == 5 && mod == 0) {
		o->rip = true;
		displacement = 4;
	} else {
		o->base = o->rm;
	}
	return !displacement || number(c, displacement, &o->displacement);
}

static char follows(const struct x86 *o)
{
	switch (o->map) {
	case X86_ONE_BYTE:
		return one_byte[o->opcode];
	case X86_0F:
		return two_byte[o->opcode];
	default:
		return o->map == X86_0F38 ? 'm' : 'b';
	}
}

static unsigned immediate_bytes(const struct cursor *c, const struct x86 *o, char what)
{
	unsigned z = c->operand16 && what != 'x' ? 2 : 4;
	bool jump = (o->map == X86_ONE_BYTE && (o->opcode == 0xe8 || o->opcode == 0xe9)) ||
		    (o->map == X86_0F && (o->opcode & 0xf0) == 0x80 && !o->vex);
	switch (what) {
	case 'b':
	case '1':
		return 1;
	case '2':
		return 2;
	case 'z':
	case '4':
		return jump ? 4 : z;
	case 'V':
		return c->wide ? 8 : z;
	case 'o':
		return 8;
	case 'e':
		return 3;
	case 'g':
		return o->reg % 8 > 1 ? 0 : o->opcode & 1 ? z : 1;
	default:
		return 0;
	}
}

bool x86_decode(const uint8_t *bytes, size_t n, struct x86 *out)
{
	struct cursor c = {.b = bytes, .n = n < X86_LONGEST ? n : X86_LONGEST};
	struct x86 o = {.base = X86_NO_REGISTER, .index = X86_NO_REGISTER};
	if (!prefixes(&c, &o) || !opcode(&c, &o))
		return false;
	char what = follows(&o);
	bool has_modrm = what == 'm' || what == 'b' || what == 'z' || what == 'g';
	if (what == 'x' || (has_modrm && !modrm(&c, &o)))
		return false;
	if (!has_modrm)
		o.rm = with_bit(o.opcode & 7, c.b_bit); // of push, pop and mov with an immediate
	o.size = c.wide ? 8 : c.operand16 ? 2 : 4;
	o.immediate_bytes = (uint8_t)immediate_bytes(&c, &o, what);
	if (o.immediate_bytes == 3)
		c.at += 3; // enter: nobody asks what it says
	else if (o.immediate_bytes && !number(&c, o.immediate_bytes, &o.immediate))
		return false;
	if (c.at > c.n)
		return false;
	o.length = (uint8_t)c.at;
	*out = o;
	return true;
}
