// SPDX-License-Identifier: MIT
//
// A call may lead to a function that only jumps on (three of them in a row at most), or be an indirect
// one, of which nothing is known. Functions without unwind information are believed.
#include "find/chain.h"

#include <stdlib.h>
#include <string.h>

#include "find/code.h"

enum { JUMPS_MOST = 3, FUNCTION_MOST = 1 << 16, LINK_NO = 0, LINK_YES = 1 };

static bool same_function(const struct objects *o, uint64_t target, const struct span *inner)
{
	struct span f;
	return target == inner->lo || (objects_function(o, target, &f) && f.lo == inner->lo);
}

static int32_t number(const unsigned char *p)
{
	int32_t n;
	memcpy(&n, p, sizeof(n));
	return n;
}

// Where the instruction at p jumps to, if it does; 0.
static uint64_t jump(const struct image *im, const unsigned char *p, uint64_t at)
{
	uint64_t to = 0;
	if (p[0] == 0xe9)
		return at + 5 + (uint64_t)(int64_t)number(p + 1);
	if (p[0] == 0x0f && (p[1] & 0xf0) == 0x80)
		return at + 6 + (uint64_t)(int64_t)number(p + 2);
	if (p[0] == 0xff && p[1] == 0x25)
		return image_word(im, at + 6 + (uint64_t)(int64_t)number(p + 2), &to) ? to : 0;
	return 0;
}

// Does the function at `target` reach `inner` by jumps alone?
static bool jumps_to(const struct objects *o, uint64_t target, const struct span *inner, int left)
{
	struct span f;
	if (!left || !objects_function(o, target, &f) || f.hi - f.lo > FUNCTION_MOST)
		return false;
	size_t n = f.hi - f.lo;
	unsigned char *code = calloc(n + 8, 1);
	bool found = false, any = false;
	if (!code || !image_read(o->image, f.lo, code, n)) {
		free(code);
		return false;
	}
	for (size_t i = 0; !found && i < n; i++) {
		uint64_t to = jump(o->image, code + i, f.lo + i);
		if (!to || (to >= f.lo && to < f.hi))
			continue;
		to = code_through_stub(o->image, to);
		found = same_function(o, to, inner) || jumps_to(o, to, inner, left - 1);
		// jmp *%reg: a tail call through a pointer
		any |= code[i] == 0xff && (code[i + 1] & 0xf8) == 0xe0;
	}
	for (size_t i = 0; !found && !any && i + 1 < n; i++)
		any = code[i] == 0xff && ((code[i + 1] & 0xf8) == 0xe0 || (code[i + 1] >> 3 & 7) == 4);
	free(code);
	return found || any;
}

bool chain_jumps_on(struct chain *c, uint64_t function)
{
	const struct span nobody = {1, 2};
	uint32_t known = idmap_get(&c->jumpers, function);
	if (known != IDMAP_NONE)
		return known == LINK_YES;
	bool is = jumps_to(c->objects, function, &nobody, JUMPS_MOST);
	idmap_set(&c->jumpers, function, is ? LINK_YES : LINK_NO);
	return is;
}

// Did the call before `outer` lead to the function that `inner` lies in?
static bool link_holds(const struct chain *c, uint64_t inner, bool innermost, uint64_t outer)
{
	const struct objects *o = c->objects;
	struct span f;
	uint64_t target;
	if (!code_call_before(o->image, outer, &target))
		return false;
	if (!target)
		return true;
	target = code_through_stub(o->image, target);
	if (sites_engine(c->sites, outer))
		return false; // a switch: whoever made it is suspended there, and called nothing
	if (!objects_function(o, innermost ? inner : inner - 1, &f))
		return true;
	return same_function(o, target, &f) || jumps_to(o, target, &f, JUMPS_MOST);
}

static bool check_link(struct chain *c, uint64_t inner, bool innermost, uint64_t outer)
{
	uint64_t key = (inner * 0x9e3779b97f4a7c15ULL ^ outer) * 2 + innermost;
	uint32_t known = idmap_get(&c->links, key);
	if (known != IDMAP_NONE)
		return known == LINK_YES;
	bool holds = link_holds(c, inner, innermost, outer);
	idmap_set(&c->links, key, holds ? LINK_YES : LINK_NO);
	return holds;
}

// The first thing of a thread: the program's own start, or one of the C library's.
static bool is_native(const struct objects *o, uint64_t pc)
{
	const struct object *of = objects_at(o, pc);
	struct span f, entry;
	if (of && of->entry && objects_function(o, pc - 1, &f) && objects_function(o, of->entry, &entry) &&
	    f.lo == entry.lo)
		return true;
	const char *base = of ? strrchr(of->path, '/') : NULL;
	return base && (!strncmp(base, "/libc.", 6) || !strncmp(base, "/libc-", 6) ||
			!strncmp(base, "/libpthread", 11) || !strncmp(base, "/ld-", 4));
}

// Behind a call that makecontext's code makes once the coroutine's function has returned to it.
static bool is_behind_start(const struct sites *s, uint64_t pc)
{
	enum { START_MOST = 64 };
	for (size_t k = 0; k < s->nstarts; k++)
		if (pc > s->starts[k] && pc - s->starts[k] < START_MOST)
			return true;
	return false;
}

// No call puts a function's first byte on a stack, nor the one behind the byte that marks the code to
// which a signal's handler returns, nor an address of assembly code that is behind no call.
static enum chain_end begins_at(const struct chain *c, uint64_t pc)
{
	struct span f;
	uint64_t target;
	if (!image_is_code(c->objects->image, pc))
		return CHAIN_BROKEN;
	if (!objects_function(c->objects, pc, &f))
		return code_call_before(c->objects->image, pc, &target) ? CHAIN_BROKEN : CHAIN_MADE;
	if (f.lo == pc - 1)
		return CHAIN_MADE;
	return f.lo != pc ? CHAIN_BROKEN : c->sites->nstarts ? CHAIN_WEAK : CHAIN_MADE;
}

enum chain_end chain_check(struct chain *c, const uint64_t *pcs, size_t *n)
{
	if (!*n)
		return CHAIN_BROKEN;
	for (size_t i = 0; i + 1 < *n; i++) {
		uint64_t outer = pcs[i + 1];
		bool start = sites_is_start(c->sites, outer);
		if (is_behind_start(c->sites, outer))
			return CHAIN_ENDED;
		if (!start && check_link(c, pcs[i], i == 0, outer))
			continue;
		*n = i + 1;
		return start ? CHAIN_START : begins_at(c, outer);
	}
	return is_native(c->objects, pcs[*n - 1]) ? CHAIN_NATIVE : CHAIN_OPEN;
}

void chain_deinit(struct chain *c)
{
	idmap_deinit(&c->links);
	idmap_deinit(&c->jumpers);
}
