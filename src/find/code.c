// SPDX-License-Identifier: MIT
//
// Code is not decoded from end to end: every byte may begin an instruction. What looks like a call
// and is none is told by its target, which hardly ever is a switch function then.
#include "find/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "find/recipe.h"

enum { PIECE = 1 << 20, BEHIND = RECIPE_CODE_MOST + 16 };

static int32_t number(const unsigned char *p)
{
	int32_t n;
	memcpy(&n, p, sizeof(n));
	return n;
}

// mov %rsp from a register or from memory, or an exchange with it.
static bool loads_stack(const unsigned char *p)
{
	unsigned char mod = p[2] >> 6, reg = p[2] >> 3 & 7, rm = p[2] & 7;
	bool to_rm = mod == 3 && rm == 4 && !(p[0] & 1), to_reg = reg == 4 && !(p[0] & 4);
	if ((p[0] & 0xf8) != 0x48)
		return false;
	return (p[1] == 0x89 && to_rm) || (p[1] == 0x8b && to_reg) || (p[1] == 0x87 && (to_rm || to_reg));
}

// lea target(%rip), %reg, and soon after it mov %reg, off(%other).
static bool stores_label(const unsigned char *p, uint64_t at, struct code_hit *h)
{
	if ((p[0] & 0xfb) != 0x48 || p[1] != 0x8d || (p[2] & 0xc7) != 0x05)
		return false;
	unsigned char reg = p[2] >> 3 & 7, rex = p[0] & 4;
	for (int k = 7; k < 40; k++) {
		const unsigned char *q = p + k;
		unsigned char mod = q[2] >> 6;
		if ((q[0] & 0xfa) != 0x48 || (q[0] & 4) != rex || q[1] != 0x89 || (q[2] >> 3 & 7) != reg ||
		    (q[2] & 7) == 4 || mod == 0 || mod == 3)
			continue;
		*h = (struct code_hit){CODE_LABEL, at, at + 7, at + 7 + (uint64_t)(int64_t)number(p + 3),
				       mod == 1 ? (signed char)q[3] : number(q + 3)};
		return true;
	}
	return false;
}

static void visit(const struct code_visitor *v, const unsigned char *p, uint64_t at)
{
	struct code_hit h = {.at = at};
	if (p[0] == 0xe8 || p[0] == 0xe9) {
		h.kind = p[0] == 0xe8 ? CODE_CALL : CODE_JUMP;
		h.next = at + 5;
		h.target = h.next + (uint64_t)(int64_t)number(p + 1);
	} else if (p[0] == 0xff && (p[1] == 0x15 || p[1] == 0x25)) {
		h.kind = p[1] == 0x15 ? CODE_CALL_SLOT : CODE_JUMP_SLOT;
		h.next = at + 6;
		h.target = h.next + (uint64_t)(int64_t)number(p + 2);
	} else if ((p[0] & 0xf8) == 0x48) {
		if ((v->wanted & 1u << CODE_STACK) && loads_stack(p) &&
		    recipe_may_switch(p, RECIPE_CODE_MOST))
			h.kind = CODE_STACK;
		else if (!(v->wanted & 1u << CODE_LABEL) || !stores_label(p, at, &h))
			return;
	} else {
		return;
	}
	if (v->wanted & 1u << h.kind)
		v->hit(v->ctx, &h);
}

static void scan_map(const struct image *im, const struct maps_line *m, const struct code_visitor *v,
		     unsigned char *buffer)
{
	for (uint64_t at = m->lo; at < m->hi; at += PIECE) {
		uint64_t left = m->hi - at;
		size_t want = left < PIECE + BEHIND ? (size_t)left : PIECE + BEHIND;
		size_t got = image_peek(im, at, buffer, want);
		memset(buffer + got, 0, PIECE + 2 * BEHIND - got);
		for (size_t i = 0; i < got && i < PIECE; i++)
			visit(v, buffer + i, at + i);
	}
}

int code_scan(const struct image *im, const struct object *o, const struct code_visitor *v)
{
	unsigned char *buffer = malloc(PIECE + 2 * BEHIND);
	if (!buffer)
		return -ENOMEM;
	for (size_t i = 0; i < im->nmaps; i++) {
		const struct maps_line *m = &im->maps[i];
		if (m->lo >= o->lo && m->hi <= o->hi && m->perms[2] == 'x' && m->perms[0] == 'r')
			scan_map(im, m, v, buffer);
	}
	free(buffer);
	return 0;
}

// movabs $instance, %rax; jmp *(%rax): where the instance is.
static bool leads_to_instance(const unsigned char *p, uint64_t *instance)
{
	memcpy(instance, p + 2, sizeof(*instance));
	return p[0] == 0x48 && p[1] == 0xb8 && p[10] == 0xff && p[11] == 0x20;
}

// What an instance names as the function behind the entry (SWITCHER_REAL in preload/guest/switcher.h): the
// instructions that the entry displaced, and a jump to the next one.
static size_t displaced(const struct image *im, uint64_t instance, uint64_t addr, unsigned char *to)
{
	static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
	unsigned char piece[32];
	uint64_t real, back;
	if (!image_word(im, instance + 8, &real) || !image_read(im, real, piece, sizeof(piece)))
		return 0;
	for (size_t n = 5; n + sizeof(jump) + sizeof(back) <= sizeof(piece); n++) {
		memcpy(&back, piece + n + sizeof(jump), sizeof(back));
		if (memcmp(piece + n, jump, sizeof(jump)) || back != addr + n)
			continue;
		memcpy(to, piece, n);
		return n;
	}
	return 0;
}

size_t code_peek(const struct image *im, uint64_t addr, unsigned char *to, size_t bytes)
{
	static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t n = image_peek(im, addr, to, bytes), pad = n > 32 && !memcmp(to, endbr, sizeof(endbr)) ? 4 : 0;
	uint64_t instance;
	if (n <= 32)
		return n;
	if (leads_to_instance(to + pad, &instance)) {
		displaced(im, instance, addr + pad, to + pad);
		return n;
	}
	static const size_t jumps[] = {0, 3}; // under running threads: to such code
	for (size_t k = 0; k < sizeof(jumps) / sizeof(*jumps); k++) {
		unsigned char stub[12];
		size_t i = pad + jumps[k];
		uint64_t at = addr + i + 5 + (uint64_t)(int64_t)number(to + i + 1);
		if (to[i] == 0xe9 && image_read(im, at, stub, sizeof(stub)) &&
		    leads_to_instance(stub, &instance) && displaced(im, instance, addr + pad, to + pad))
			return n;
	}
	return n;
}

uint64_t code_through_stub(const struct image *im, uint64_t addr)
{
	static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	unsigned char p[16];
	uint64_t to;
	size_t i = 0;
	if (!image_read(im, addr, p, sizeof(p)))
		return addr;
	if (!memcmp(p, endbr, sizeof(endbr)))
		i += sizeof(endbr);
	i += p[i] == 0xf2;
	if (p[i] != 0xff || p[i + 1] != 0x25 ||
	    !image_word(im, addr + i + 6 + (uint64_t)(int64_t)number(p + i + 2), &to))
		return addr;
	return to;
}

bool code_call_before(const struct image *im, uint64_t return_address, uint64_t *target)
{
	unsigned char p[8] = {0};
	*target = 0;
	if (!image_read(im, return_address - 7, p, 7))
		return false;
	if (p[2] == 0xe8) {
		*target = return_address + (uint64_t)(int64_t)number(p + 3);
		if (image_is_code(im, *target))
			return true;
	}
	*target = 0;
	if (p[1] == 0xff && p[2] == 0x15 &&
	    image_word(im, return_address + (uint64_t)(int64_t)number(p + 3), target))
		return true;
	// call *reg, *(reg), *off(reg), with an index or without: by where ModRM would be
	for (int k = 0; k < 6; k++) {
		unsigned mod = p[k + 1] >> 6, rm = p[k + 1] & 7, what = p[k + 1] >> 3 & 7;
		int length =
			2 + (mod != 3 && rm == 4) + (mod == 1) + (mod == 2 || (mod == 0 && rm == 5) ? 4 : 0);
		if (p[k] == 0xff && what == 2 && k + length == 7)
			return true;
	}
	return false;
}
