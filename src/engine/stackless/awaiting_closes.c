// SPDX-License-Identifier: MIT
//
// A descriptor was closed. Its registration's data led into a frame, or to an object that holds the address
// of one: that coroutine, or the innermost one that it awaits, waited for the descriptor.
#include "engine/stackless/awaiting_closes.h"

#include <string.h>

#include "base/search.h"
#include "ctp/births.h"
#include "engine/inspect/site.h"

enum { CLOSES_MOST = 4096, OBJECT_BYTES = 512, CLOSER_FRAMES = 32 };

// Does the frame belong to another coroutine than the one that was there at the close?
static bool is_younger(const struct inspection *l, uint64_t at, const struct closes_one *c)
{
	struct ctp_birth b;
	return ctp_births_find(l->r, at, &b) && b.created > c->end.closed;
}

// Was it closed by a coroutine of the same function, after its event had come? Then that one was resumed by
// it, and waits for something else since.
static bool is_own_close(const struct inspection *l, const struct stackless *s, const struct closes_one *c)
{
	uint64_t pcs[CLOSER_FRAMES];
	size_t n = closes_delivered(c) ? site_pcs(l->r, c->end.closer_stack, pcs, CLOSER_FRAMES) : 0;
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < s->pair->ncodes; k++)
			if (pcs[i] - s->pair->codes[k].at - 1 < s->pair->codes[k].bytes)
				return true;
	return false;
}

// A closed registration's data led into the frame of `row`. What waits there is that coroutine, or the one
// that it awaits. The last close counts.
static void note_close(struct awaiting *a, const struct inspection *l, uint32_t row,
		       const struct closes_one *c)
{
	row = awaiting_innermost(a, row);
	if (row == STACKLESS_NONE || a->list.v[row].state != STACKLESS_SUSPENDED ||
	    is_younger(l, a->list.v[row].at, c))
		return;
	struct awaiting_one *one = &a->v[row];
	if (one->closed > c->end.closed)
		return;
	one->closed = c->end.closed;
	one->close = is_own_close(l, &a->list.v[row], c) ? NULL : c;
}

// Where the object ends that a registration's data leads to, at the latest: where that of another one begins.
static uint64_t object_end(const struct awaiting *a, const struct inspection *l, uint64_t data)
{
	uint64_t end = data + OBJECT_BYTES;
	for (size_t i = 0; i < l->registrations.n; i++) {
		uint64_t other = l->registrations.v[i].data & SPAN_ADDRESS_MASK;
		end = other > data && other < end ? other : end;
	}
	for (size_t i = 0; i < a->closes->n; i++) {
		uint64_t other = a->closes->v[i].was.reg_data & SPAN_ADDRESS_MASK;
		end = other > data && other < end ? other : end;
	}
	return end;
}

// Does the word belong to that object? In malloc's heap it lies in the same block, which is in use: one that
// was freed with its coroutine has neighbours that tell nothing of it.
static bool in_object(const struct awaiting *a, const struct inspection *l, struct graph *g, uint64_t data,
		      uint64_t at)
{
	uint32_t of_data[GRAPH_OWNERS], of_word[GRAPH_OWNERS];
	const struct maps_line *m = proc_maps_find(&l->maps, data);
	if (at >= object_end(a, l, data))
		return false;
	if (graph_has(g, data) || graph_has(g, at))
		return graph_has(g, data) && graph_has(g, at) && graph_owners(g, data, of_data) &&
		       graph_owners(g, at, of_word) && of_data[0] == of_word[0];
	return m && strcmp(m->path, "[heap]");
}

// A registration's data leads to a frame: into it, or to an object that holds its address.
void awaiting_closes_join(struct awaiting *a, const struct inspection *l, struct graph *g)
{
	uint64_t words[OBJECT_BYTES / 8];
	size_t first = a->closes->n > CLOSES_MOST ? a->closes->n - CLOSES_MOST : 0;
	for (size_t k = first; k < a->closes->n && !inspect_late(l); k++) {
		const struct closes_one *c = &a->closes->v[k];
		uint64_t data = c->was.reg_data & SPAN_ADDRESS_MASK;
		uint32_t row = awaiting_row_at(a, data);
		if (row != STACKLESS_NONE) {
			note_close(a, l, row, c);
			continue;
		}
		size_t n = !memory_map(&l->memory, data) ?
				   0 :
				   memory_peek(&l->memory, data & ~7ULL, words, sizeof(words), false) / 8;
		for (size_t i = 0; i < n; i++) {
			row = stackless_row(&a->list, words[i]);
			row = row == STACKLESS_NONE ? stackless_row(&a->list, words[i] - 16) : row;
			if (row != STACKLESS_NONE && in_object(a, l, g, data, (data & ~7ULL) + 8 * i))
				note_close(a, l, row, c);
		}
	}
}
