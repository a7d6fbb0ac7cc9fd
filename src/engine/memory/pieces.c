// SPDX-License-Identifier: MIT
//
// The suspects' memory, and the coroutines and threads around it, in the terms of src/search.
#include "engine/memory/pieces.h"

#include <stdlib.h>

#include "ctp/there.h"

struct search_piece *pieces_take(const struct inspection *l, size_t *n)
{
	struct search_piece *v = calloc(2 * l->n + 1, sizeof(*v));
	*n = 0;
	for (size_t i = 0; v && i < l->n; i++) {
		const struct suspect *s = l->who[i];
		struct span stack = {s->s.lo < s->s.hi ? s->s.lo : s->mine[0].lo, s->s.hi};
		bool handle = s->s.how == CTP_HOW_FCONTEXT ||
			      s->s.how == CTP_HOW_ONTOP; // its context lies on the stack
		for (unsigned k = 0; k < suspect_objects(s); k++) {
			struct search_piece *p = &v[(*n)++];
			*p = (struct search_piece){.at = s->mine[k], .node = (uint32_t)i, .heap = s->heap[k]};
			if (k == 0) {
				p->stack = stack;
				p->made = s->nmine == (handle ? 1 : 2) && !(s->s.flags & CTP_STATE_FOREIGN);
			}
		}
	}
	return v;
}

// Coroutines whose stacks may begin where a suspect's memory ends.
static void tell_neighbours(struct stack_ends *ends, const struct inspection *l)
{
	const struct ctp_ext *x = l->r->ext;
	struct ctp_walk w = ctp_walk_states(l->r);
	for (uint64_t i = ctp_walk_from(&w, 0); ends->nstacks && i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state s;
		const struct ctp_state *from = &l->r->states[i];
		if (w.rows % 4096 == 0 && inspect_late(l))
			break; // fewer words are explained then
		if (ctp_load32(&from->owner) != CTP_OWNER_GUEST ||
		    (!stack_ends_wants(ends, from->lo) && !stack_ends_wants(ends, from->block_lo)) ||
		    !ctp_state_read(from, &s) || s.entity != CTP_COROUTINE ||
		    (s.life != CTP_SUSPENDED && s.life != CTP_RUNNING))
			continue;
		bool handle = s.life == CTP_SUSPENDED &&
			      (s.how == CTP_HOW_FCONTEXT || s.how == CTP_HOW_ONTOP);
		struct stack_ends_coroutine c = {
			{s.lo, s.hi}, {s.block_lo, s.block_hi}, {0, 0}, handle ? s.slot : 0};
		if (s.slot)
			c.context = (struct span){s.slot, s.slot + x->context_off + 8ULL * x->context_words};
		stack_ends_coroutine(ends, &c);
	}
}

void pieces_find_ends(struct stack_ends *ends, const struct inspection *l, const struct search_piece *pieces,
		      size_t n)
{
	struct stack_ends_thread *t = calloc(l->tasks.n + 1, sizeof(*t));
	stack_ends_init(ends, &l->memory, pieces, n);
	if (!t)
		return; // fewer words are explained then
	for (size_t i = 0; i < l->tasks.n; i++)
		t[i] = (struct stack_ends_thread){l->tasks.v[i].tid, l->tasks.v[i].sp};
	tell_neighbours(ends, l);
	stack_ends_find(ends, t, l->tasks.n);
	free(t);
}
