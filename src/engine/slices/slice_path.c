// SPDX-License-Identifier: MIT
//
// Where a slice that computes spends its time: the calls that most of its samples have in common,
// from the outermost inwards. Below them samples differ; a single one would name another place in
// each run.
#include <stdlib.h>

#include "engine/slices/slice.h"
#include "unwind/oncpu.h"

enum { SAMPLES = 64, MOST = 3, OF = 4 }; // three of four are most

struct slice_path {
	struct oncpu *cpu;
	struct slice_stack v[SAMPLES]; // the newest of them
	size_t n, taken;
};

struct slice_path *slice_path_open(int tid)
{
	struct slice_path *p = calloc(1, sizeof(*p));
	if (p && !(p->cpu = oncpu_open(tid))) {
		free(p);
		return NULL;
	}
	return p;
}

void slice_path_close(struct slice_path *p)
{
	if (!p)
		return;
	oncpu_close(p->cpu);
	free(p);
}

size_t slice_path_take(struct slice_path *p, struct unwind *u, const struct ctp_state *state)
{
	struct unwind_near near;
	struct ctp_state st = *state;
	size_t n = 0;
	while (oncpu_next(p->cpu, st.regs, &near)) {
		struct slice_stack *k = &p->v[p->taken % SAMPLES];
		k->n = unwind_walk(u, &st, &near, k->pcs, UNWIND_FRAMES, NULL);
		if (!k->n)
			continue;
		p->taken++;
		n++;
	}
	p->n = p->taken < SAMPLES ? p->taken : SAMPLES;
	return n;
}

void slice_path_drop(struct slice_path *p, size_t n)
{
	p->taken = n < p->taken ? p->taken - n : 0;
	p->n = p->taken < SAMPLES ? p->taken : SAMPLES;
}

static uint64_t frame(const struct slice_stack *k, size_t level) // 0 is the outermost
{
	return level < k->n ? k->pcs[k->n - 1 - level] : 0;
}

// The pc that most of those that still agree have at this level; *votes: how many.
static uint64_t elect(const struct slice_path *p, const bool *in, size_t level, size_t *votes)
{
	uint64_t best = 0;
	*votes = 0;
	for (size_t i = 0; i < p->n; i++) {
		size_t n = 0;
		uint64_t pc = in[i] ? frame(&p->v[i], level) : 0;
		for (size_t k = i; pc && k < p->n; k++)
			n += in[k] && frame(&p->v[k], level) == pc;
		if (n > *votes) {
			*votes = n;
			best = pc;
		}
	}
	return best;
}

void slice_path_common(const struct slice_path *p, struct slice_stack *out)
{
	bool in[SAMPLES];
	uint64_t path[UNWIND_FRAMES];
	size_t levels = 0, votes = p->n;
	for (size_t i = 0; i < p->n; i++)
		in[i] = true;
	// the frame in which they part is still the same function: it has the same caller
	while (levels < UNWIND_FRAMES && votes * OF >= p->n * MOST) {
		uint64_t pc = elect(p, in, levels, &votes);
		if (!votes)
			break;
		path[levels++] = pc;
		for (size_t i = 0; i < p->n; i++)
			in[i] &= frame(&p->v[i], levels - 1) == pc;
	}
	for (size_t i = 0; i < levels; i++)
		out->pcs[i] = path[levels - 1 - i];
	out->n = levels;
}
