// SPDX-License-Identifier: MIT
//
// Its own frames and saved registers lead to such a block, as they use it. In a stack it lies above all
// frames, so the highest addresses come first.
#include "engine/memory/own_blocks.h"

#include <stdbool.h>
#include <stdlib.h>

#include "search/memory/memory.h"

enum { WORD = 8, FROM_TOP = 1 << 16, FROM_SAVED = 1 << 12, PIECE = 512 };

struct blocks {
	const struct suspect *s;
	struct span in[2]; // of the stack, of what holds the saved context
	uint64_t *v;
	size_t n, most;
};

// Those in the stack come before the others; of either, the higher ones.
static bool is_before(const struct blocks *b, uint64_t x, uint64_t y)
{
	bool in = x - b->in[0].lo < b->in[0].hi - b->in[0].lo,
	     other = y - b->in[0].lo < b->in[0].hi - b->in[0].lo;
	return in != other ? in : x > y;
}

static void take(struct blocks *b, uint64_t word)
{
	bool inside = false;
	for (unsigned k = 0; k < 2; k++)
		inside |= word - b->in[k].lo < b->in[k].hi - b->in[k].lo;
	if (!inside || word % WORD)
		return;
	size_t i = 0;
	while (i < b->n && is_before(b, b->v[i], word))
		i++;
	if (i == b->most || (i < b->n && b->v[i] == word))
		return;
	b->n += b->n < b->most;
	for (size_t k = b->n - 1; k > i; k--)
		b->v[k] = b->v[k - 1];
	b->v[i] = word;
}

size_t own_blocks(const struct inspection *l, const struct suspect *s, uint64_t *v, size_t most)
{
	struct blocks b = {.s = s, .v = v, .most = most};
	uint64_t sp = s->s.regs[CTP_REG_SP], hi = s->mine[0].hi, words[PIECE];
	if (!suspect_objects(s) || !most || sp < s->mine[0].lo || sp >= hi)
		return 0;
	uint64_t lo = hi - sp > FROM_TOP ? hi - FROM_TOP : sp & ~(uint64_t)(WORD - 1);
	b.in[0] = (struct span){lo, hi};
	if (s->nmine == 2)
		b.in[1] = (struct span){
			s->s.slot - s->mine[1].lo > FROM_SAVED ? s->s.slot - FROM_SAVED : s->mine[1].lo,
			s->s.slot + 1};
	for (unsigned k = 0; k < CTP_REGS; k++)
		if (k != CTP_REG_SP)
			take(&b, s->s.regs[k]);
	for (uint64_t at = lo; at < hi; at += sizeof(words)) {
		size_t n = memory_peek_touched(&l->memory, at, words,
					       hi - at < sizeof(words) ? hi - at : sizeof(words));
		for (size_t i = 0; i < n / WORD; i++)
			take(&b, words[i]);
		if (n < sizeof(words))
			break;
	}
	return b.n;
}
