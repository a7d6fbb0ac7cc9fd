// SPDX-License-Identifier: MIT
//
// What a word leads to is looked at in its turn: of a stack what is in use, of a block all of it; and whose
// control block lies in a block that is reached, is reached.
#include "find/marker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"

void marker_undecided(struct marker *m, const char *why)
{
	struct lost *l = m->out;
	if (!l->undecided) {
		snprintf(l->why, sizeof(l->why), "%s", why);
		l->undecided = l->why;
	}
}

struct marker_block *marker_block_of(const struct marker *m, uint64_t addr)
{
	size_t lo = 0, hi = m->nblocks;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (m->blocks[mid].at + MARKER_HEADER <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	struct marker_block *b = lo ? &m->blocks[lo - 1] : NULL;
	return b && addr < b->at + b->size + 8 ? b : NULL;
}

const struct marker_stack *marker_stack_of(const struct marker *m, uint64_t addr)
{
	size_t lo = 0, hi = m->nstacks;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (m->stacks[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	const struct marker_stack *s = lo ? &m->stacks[lo - 1] : NULL;
	return s && addr < s->hi ? s : NULL;
}

// -------------------------------------------------------------------------- marks

void marker_reach(struct marker *m, uint32_t i)
{
	if (m->out->reached[i])
		return;
	m->out->reached[i] = true;
	if (GROW(m->todo, m->ntodo, m->todo_capacity))
		m->failed = true;
	else
		m->todo[m->ntodo++] = i;
}

static void reach_block(struct marker *m, struct marker_block *b)
{
	if (b->reached || b->idle)
		return;
	b->reached = true;
	if (GROW(m->blocks_todo, m->nblocks_todo, m->blocks_todo_capacity))
		m->failed = true;
	else
		m->blocks_todo[m->nblocks_todo++] = (uint64_t)(b - m->blocks);
}

void marker_lead_from(struct marker *m, uint64_t addr, bool head)
{
	const struct marker_stack *s = marker_stack_of(m, addr);
	struct marker_block *b = s ? NULL : marker_block_of(m, addr);
	if (s)
		marker_reach(m, s->context);
	if (!b)
		return;
	// the header of a chunk that is not in use: the allocator's own pointer
	struct marker_block *next = b + 1 < m->blocks + m->nblocks ? b + 1 : NULL;
	if (head && next && addr == next->at && next->idle)
		return;
	reach_block(m, b);
}

void marker_lead(struct marker *m, uint64_t addr)
{
	marker_lead_from(m, addr, false);
}

static void look_at(struct marker *m, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i++) {
		uint64_t w;
		memcpy(&w, bytes + i, 8);
		w &= SPAN_ADDRESS_MASK;
		if (w >= m->least && w < m->most)
			marker_lead(m, w);
	}
	for (size_t i = 0; m->c->image->guard && i + 8 <= n; i += 8) {
		uint64_t w;
		memcpy(&w, bytes + i, 8);
		w = (w >> MARKER_DISGUISE | w << (64 - MARKER_DISGUISE)) ^ m->c->image->guard;
		if (w >= m->least && w < m->most)
			marker_lead(m, w);
	}
}

static void look_at_memory(struct marker *m, uint64_t lo, uint64_t hi)
{
	enum { PIECE = 1 << 16 };
	unsigned char *room = malloc(PIECE + 8);
	if (!room) {
		m->failed = true;
		return;
	}
	for (; lo < hi; lo += PIECE) {
		size_t want = hi - lo < PIECE + 8 ? hi - lo : PIECE + 8;
		size_t n = image_peek(m->c->image, lo, room, want);
		look_at(m, room, n);
		if (n < want)
			marker_undecided(m, "a stack could not be read to its end");
		if (n < want)
			break;
	}
	free(room);
}

// All whose control blocks lie there: contexts are sorted by these.
static void reach_placed_in(struct marker *m, const struct marker_block *b)
{
	const struct contexts *c = m->c;
	uint64_t lo = b->at + MARKER_HEADER, hi = b->at + b->size + 8;
	for (size_t i = FIRST_NOT(c->n, k, c->v[k].id < lo); i < c->n && c->v[i].id < hi; i++)
		if (c->v[i].shape.block)
			marker_reach(m, (uint32_t)i);
}

static void look_at_block(struct marker *m, struct marker_block *b)
{
	reach_placed_in(m, b);
	for (size_t i = 0; i < m->nregions; i++) {
		const struct marker_region *r = &m->regions[i];
		uint64_t lo = b->at + MARKER_HEADER, hi = b->at + b->size + 8;
		const struct marker_stack *s = marker_stack_of(m, lo);
		if (lo < r->lo || lo >= r->hi)
			continue;
		if (s && s->hi >= b->at + b->size) // it is a stack: only what is in use of it
			return;
		look_at(m, r->bytes + (lo - r->lo), (hi < r->hi ? hi : r->hi) - lo);
		return;
	}
}

static void look_at_context(struct marker *m, uint32_t i)
{
	const struct context *x = &m->c->v[i];
	struct marker_block *b = x->shape.block ? marker_block_of(m, x->shape.block) : NULL;
	for (size_t k = 0; k < m->nstacks; k++)
		if (m->stacks[k].context == i)
			look_at_memory(m, m->stacks[k].live, m->stacks[k].hi);
	if (b)
		reach_block(m, b);
}

void marker_spread(struct marker *m)
{
	while (!m->failed && (m->ntodo || m->nblocks_todo)) {
		if (m->ntodo)
			look_at_context(m, m->todo[--m->ntodo]);
		else
			look_at_block(m, &m->blocks[m->blocks_todo[--m->nblocks_todo]]);
	}
}
