// SPDX-License-Identifier: MIT
//
// Addresses are as if they were returned to, so that they are looked up like all others.
#include "engine/stackless/stackless_stack.h"

#include "base/json.h"

// For readers that do not know "place": GCC's landing has the line of the await, or the next one; Clang's
// store has.
static uint64_t place_of(const struct stackless *s, const struct suspension *c)
{
	bool by_store = s->pair->maker == PAIR_CLANG || s->state == STACKLESS_INITIAL;
	uint64_t pc = by_store && c->store ? c->store : c->landing ? c->landing : c->store;
	return (pc ? pc : s->pair->resume) + 1;
}

static json_t *steps(const struct suspension_step *v, unsigned n)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(
			a, v[i].calls ? json_pack("[o, o]", json_hex(v[i].at), json_hex(v[i].calls)) :
					json_hex(v[i].at));
	return a;
}

static void put_place(FILE *out, uint64_t pc, const struct suspension *c)
{
	json_line(out,
		  json_pack("{s:i, s:s, s:o, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "v", 1, "what",
			    "place", "pc", json_hex(pc), "by", c->gcc ? "gcc" : "clang", "initial",
			    (int)c->initial, "merged", (int)c->merged, "resume", json_hex(c->resume), "asks",
			    json_hex(c->asks), "landing", json_hex(c->landing), "store", json_hex(c->store),
			    "behind", steps(c->behind, c->nbehind), "before", steps(c->before, c->nbefore)));
}

// Each place is told once: debug information is needed to make a line of it. Two states may have one address:
// the second one's is then further within the same instruction.
static uint64_t told_place(FILE *out, struct idmap *told, const struct stackless *s,
			   const struct suspension *c)
{
	enum { WITHIN = 3 };
	uint64_t pc = place_of(s, c);
	uint32_t state = (uint32_t)((s->pair->resume << 8 ^ s->index ^ (uint64_t)s->state << 24) & INT32_MAX);
	for (unsigned i = 0; i < WITHIN; i++) {
		uint32_t there = idmap_get(told, pc + i);
		if (there == state)
			return pc + i;
		if (there == IDMAP_NONE && !idmap_set(told, pc + i, state)) {
			put_place(out, pc + i, c);
			return pc + i;
		}
	}
	return pc;
}

json_t *stackless_stack_lines(FILE *out, struct awaiting *a, struct idmap *told, uint32_t row)
{
	json_t *v = json_array();
	for (size_t n = 0; row != STACKLESS_NONE && n < STACKLESS_STACK_MOST;
	     n++, row = a->list.v[row].awaited_by) {
		const struct suspension c = stackless_at(&a->list, &a->list.v[row]);
		json_array_append_new(v, json_hex(told_place(out, told, &a->list.v[row], &c)));
	}
	return v;
}
