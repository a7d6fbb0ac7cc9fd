// SPDX-License-Identifier: MIT
//
// When a callee lives no longer than its caller, Clang puts its frame into the caller's. Nothing marks its
// end: its two words stay. One whose promise leads to a frame in the same block, which is suspended, is
// awaited.
#include "frames/nested.h"

static bool same_block(const struct stackless *a, const struct stackless *b)
{
	return a->block.hi && a->block.lo == b->block.lo;
}

void nested_judge(struct stackless_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct stackless *s = &l->v[i];
		if ((!s->pair->elided && !s->nested) || s->state == STACKLESS_RUNNING)
			continue;
		const struct stackless *by = s->awaited_by == STACKLESS_NONE ? NULL : &l->v[s->awaited_by];
		if (!by || !same_block(s, by) || s->state == STACKLESS_FINAL)
			s->state = STACKLESS_ENDED;
	}
}
