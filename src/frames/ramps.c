// SPDX-License-Identifier: MIT
//
// Follows, from one instruction to the next and over no branch, which registers hold the address of a
// function, and what is stored by way of which register. What is stored by way of one register belongs
// together until that register is written.
#include "frames/ramps.h"

#include <string.h>

#include "frames/x86.h"

enum {
	REGISTERS = 16,
	STORES_MOST = 8,
	RSP = 4,
	CALLER_SAVED = 0x0fc7
}; // rax, rcx, rdx, rsi, rdi, r8 to r11

struct store {
	int64_t at;
	uint64_t function;
};

struct by_register {
	uint64_t holds; // the function whose address it is; 0
	struct store stores[STORES_MOST];
	size_t nstores;
	int64_t zeros[RAMPS_ZEROS];
	size_t nzeros;
};

struct reading {
	const struct ramps *r;
	struct by_register v[REGISTERS];
	int end;
};

// It will lead elsewhere from here on: what was stored by way of it?
static void flush(struct reading *s, unsigned number)
{
	struct by_register *b = &s->v[number];
	for (size_t i = 0; i < b->nstores; i++)
		for (size_t k = 0; k < b->nstores && !s->end; k++) {
			if (b->stores[k].at != b->stores[i].at + 8)
				continue;
			struct ramps_object o = {b->stores[i].function, b->stores[k].function, {0}, 0};
			for (size_t z = 0; z < b->nzeros; z++)
				if (b->zeros[z] > b->stores[k].at)
					o.zeros[o.nzeros++] = (uint32_t)(b->zeros[z] - b->stores[i].at);
			s->end = s->r->found(s->r->ctx, &o);
		}
	*b = (struct by_register){.holds = 0};
}

static bool is_plain(const struct x86 *x)
{
	return x->memory && !x->rip && !x->segment && x->base != X86_NO_REGISTER &&
	       x->index == X86_NO_REGISTER && x->base != RSP && !x->vex;
}

static void note_store(struct reading *s, const struct x86 *x)
{
	struct by_register *b = &s->v[x->base];
	if (x->map != X86_ONE_BYTE)
		return;
	if (x->opcode == 0x89 && x->size == 8 && s->v[x->reg].holds && b->nstores < STORES_MOST)
		b->stores[b->nstores++] = (struct store){x->displacement, s->v[x->reg].holds};
	else if (x->opcode == 0xc6 && x->reg % 8 == 0 && !x->immediate && b->nzeros < RAMPS_ZEROS)
		b->zeros[b->nzeros++] = x->displacement;
}

// Does it only store, compare, push or jump?
static bool writes_none(const struct x86 *x)
{
	unsigned op = x->opcode;
	if (x->vex)
		return false;
	if (x->map == X86_0F)
		return op == 0x1f || op == 0x0b || (op & 0xf0) == 0x80 || op == 0x11 || op == 0x29 ||
		       op == 0x7f || op == 0xd6;
	return x->map == X86_ONE_BYTE &&
	       ((op >= 0x38 && op < 0x3e) || (op & 0xf0) == 0x70 || (op >= 0x50 && op < 0x58) || op == 0x68 ||
		op == 0x6a || op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9 || op == 0x90 ||
		op == 0xe9 || op == 0xeb || op == 0xc3 ||
		((op == 0x80 || op == 0x81 || op == 0x83) && x->reg % 8 == 7) ||
		(x->memory && (op == 0x88 || op == 0x89 || op == 0xc6 || op == 0xc7)));
}

static void forget(struct reading *s, unsigned mask)
{
	for (unsigned i = 0; i < REGISTERS && !s->end; i++)
		if (mask >> i & 1)
			flush(s, i);
}

static void step(struct reading *s, const struct x86 *x, uint64_t next)
{
	unsigned op = x->map == X86_ONE_BYTE && !x->vex ? x->opcode : 0x100;
	if (is_plain(x))
		note_store(s, x);
	if (writes_none(x))
		return;
	if (op == 0xe8 || (op == 0xff && x->reg % 8 == 2)) {
		forget(s, CALLER_SAVED);
	} else if (op == 0x8d || op == 0x8b || (op >= 0xb8 && op < 0xc0)) {
		unsigned to = op < 0x90 ? x->reg : x->rm;
		uint64_t at = next + (uint64_t)x->displacement;
		flush(s, to);
		if (op == 0x8d && x->rip && x->size == 8 && s->r->is_function(s->r->ctx, at))
			s->v[to].holds = at;
		else if (op >= 0xb8 && s->r->is_function(s->r->ctx, (uint64_t)x->immediate))
			s->v[to].holds = (uint64_t)x->immediate;
	} else if (x->has_modrm) {
		flush(s, x->reg);
		if (!x->memory)
			flush(s, x->rm);
	} else if (op >= 0x58 && op < 0x60) {
		flush(s, x->rm);
	} else {
		forget(s, 0xffff);
	}
}

int ramps_read(const struct ramps *r, const uint8_t *code, size_t bytes, uint64_t at)
{
	struct reading s = {.r = r};
	struct x86 x;
	for (size_t i = 0; i < bytes && !s.end && x86_decode(code + i, bytes - i, &x); i += x.length)
		step(&s, &x, at + i + x.length);
	forget(&s, 0xffff);
	return s.end;
}
