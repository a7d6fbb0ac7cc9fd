// SPDX-License-Identifier: MIT
//
// The stack pointer is followed from the function's begin along each way. Compilers bring it to the same
// place on all ways to an instruction; where code moves it by what is not a constant, nothing is known.
#include "find/height.h"

#include <stdbool.h>
#include <stdlib.h>

#include "frames/x86.h"

enum { SP = 4, WORD = 8, HEIGHT_MOST = 1 << 24 };

struct ways {
	const uint8_t *code;
	size_t bytes;
	uint32_t *heights; // by offset; 0: nobody came there yet
	size_t *todo, ntodo;
	bool failed;
};

static bool is_constant(const struct x86 *i)
{
	unsigned op = i->opcode;
	return (op == 0x81 || op == 0x83) && !i->memory && i->rm == SP && i->size == 8 &&
	       (i->reg % 8 == 0 || i->reg % 8 == 5);
}

// Instructions that may write the stack pointer, but those that are followed.
static bool is_strange(const struct x86 *i)
{
	unsigned op = i->opcode;
	bool to_reg = i->has_modrm && i->reg == SP, to_rm = i->has_modrm && !i->memory && i->rm == SP;
	if (i->map != X86_ONE_BYTE || i->vex)
		return false; // nobody does
	if (op == 0xc8)
		return true; // enter
	if (!i->has_modrm)
		return i->rm == SP && (op == 0x5c || op == 0xbc || op == 0x94);
	if (is_constant(i))
		return false;
	bool group = (op & 0xfc) == 0x80 || (op & 0xfe) == 0xf6 || op >= 0xfe || (op & 0xfe) == 0xc0 ||
		     (op & 0xfc) == 0xd0;
	bool compares = (op & 0xfc) == 0x38 || op == 0x84 || op == 0x85 ||
			((op == 0x81 || op == 0x83) && i->reg % 8 == 7);
	if (compares || (op == 0xff && i->reg % 8 == 6))
		return false;
	if (op == 0x89 || op == 0x87 || op == 0xc7 || op == 0x8f || group || (op < 0x38 && (op & 7) < 2))
		return to_rm || (op == 0x87 && to_reg);
	return to_reg && (op == 0x8b || op == 0x8d || op == 0x63 || op == 0x69 || op == 0x6b ||
			  (op < 0x38 && ((op & 7) == 2 || (op & 7) == 3)));
}

static int64_t growth(const struct x86 *i)
{
	unsigned op = i->opcode;
	if (i->map != X86_ONE_BYTE || i->vex)
		return 0;
	if (is_constant(i))
		return i->reg % 8 == 5 ? i->immediate : -i->immediate;
	if ((!i->has_modrm && (op & 0xf8) == 0x50) || op == 0x68 || op == 0x6a || op == 0x9c ||
	    (op == 0xff && i->reg % 8 == 6))
		return WORD;
	return (!i->has_modrm && (op & 0xf8) == 0x58) || op == 0x8f || op == 0x9d ? -WORD : 0;
}

static void go_to(struct ways *w, size_t at, int64_t height)
{
	if (at >= w->bytes)
		return; // another part of it
	if (height <= 0 || height > HEIGHT_MOST || (w->heights[at] && w->heights[at] != height)) {
		w->failed = true;
	} else if (!w->heights[at]) {
		w->heights[at] = (uint32_t)height;
		w->todo[w->ntodo++] = at;
	}
}

static bool ends(const struct x86 *i)
{
	unsigned op = i->opcode;
	if (i->map != X86_ONE_BYTE)
		return i->map == X86_0F && !i->vex && op == 0x0b;
	return !i->vex && (op == 0xc2 || op == 0xc3 || op == 0xc9 || op == 0xe9 || op == 0xeb || op == 0xf4 ||
			   op == 0xcc || (op == 0xff && (i->reg % 8 == 4 || i->reg % 8 == 5)));
}

static void look(struct ways *w, size_t at)
{
	struct x86 i;
	if (!x86_decode(w->code + at, w->bytes - at, &i) || !i.length) {
		w->failed = true;
		return;
	}
	unsigned op = i.opcode;
	int64_t height = w->heights[at] + growth(&i);
	bool one = i.map == X86_ONE_BYTE && !i.vex;
	bool jumps = one ? (op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0 || op == 0xe9 || op == 0xeb :
			   i.map == X86_0F && !i.vex && (op & 0xf0) == 0x80;
	if (jumps)
		go_to(w, (size_t)((int64_t)(at + i.length) + i.immediate), height);
	if (!ends(&i))
		go_to(w, at + i.length, height);
}

static bool any_strange(const uint8_t *code, size_t bytes)
{
	struct x86 i;
	for (size_t at = 0; at < bytes; at += i.length)
		if (!x86_decode(code + at, bytes - at, &i) || !i.length || is_strange(&i))
			return true;
	return false;
}

uint32_t height_at(const uint8_t *code, size_t bytes, size_t at)
{
	if (at >= bytes || any_strange(code, bytes))
		return 0;
	struct ways w = {.code = code,
			 .bytes = bytes,
			 .heights = calloc(bytes, sizeof(*w.heights)),
			 .todo = calloc(bytes, sizeof(*w.todo))};
	w.failed = !w.heights || !w.todo;
	if (!w.failed)
		go_to(&w, 0, WORD);
	while (!w.failed && w.ntodo)
		look(&w, w.todo[--w.ntodo]);
	uint32_t height = w.failed ? 0 : w.heights[at];
	free(w.heights);
	free(w.todo);
	return height;
}
