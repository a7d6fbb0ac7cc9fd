// SPDX-License-Identifier: MIT
//
// parked_slices.h - a history for tests of the rules on parked coroutines: each is made by the loop at first,
// then runs in slices of 0.1 ms. To be included after the sources under test, with transitions_walk as
// `history`.
#pragma once

#include "tables.h"

enum { FIRST = 4, LOOP = 1, SLICES = 64, MADE_MOST = 16 };
#define MS 1000000ULL
#define S (1000 * MS)

static struct slice {
	uint64_t at_ms, id;
	uint32_t stack; // on which it is suspended at its end
	bool ends;
} slices[SLICES];
static size_t nslices;
static uint32_t made_at[MADE_MOST]; // by coroutine, from FIRST on: the stack of its creation
static size_t nmade;

int history(const struct world *w, transitions_sink *each, void *arg)
{
	struct ctp_merge_entity loop = {.id = LOOP, .native = true}, of[MADE_MOST];
	(void)w;
	for (unsigned i = 0; i < nmade; i++) {
		struct transition made = {
			.kind = CTP_EV_CREATE, .from = &of[i], .to = &loop, .stack = made_at[i]};
		of[i] = (struct ctp_merge_entity){.id = FIRST + i};
		each(arg, &made);
	}
	for (const struct slice *s = slices; s < slices + nslices; s++) {
		struct ctp_merge_entity *c = &of[s->id - FIRST];
		struct transition in = {.kind = CTP_EV_SWITCH, .from = &loop, .to = c, .ns = s->at_ms * MS};
		struct transition ran = {
			.kind = CTP_EV_SWITCH, .from = c, .to = &loop, .ns = in.ns + MS / 10};
		each(arg, &in);
		ran.stack = s->stack;
		ran.how = s->ends ? CTP_HOW_RETURN : 0;
		each(arg, &ran);
		c->since_ns = ran.ns;
		c->stack = s->stack;
		c->suspended = true;
	}
	return 0;
}

// No slices yet, of n coroutines that were made at one place.
static void slices_begin(size_t n, uint32_t at)
{
	assert_true(n <= MADE_MOST);
	nslices = 0;
	for (nmade = 0; nmade < n; nmade++)
		made_at[nmade] = at;
}

static void runs(uint64_t at_ms, unsigned user, uint32_t stack)
{
	assert_true(nslices < SLICES);
	slices[nslices++] = (struct slice){.at_ms = at_ms, .id = FIRST + user, .stack = stack};
}

// Its last slice.
static inline void over(uint64_t at_ms, unsigned user)
{
	runs(at_ms, user, 0);
	slices[nslices - 1].ends = true;
}

// That has left it where it is suspended; NULL: it has not run, or has ended.
static const struct slice *slices_last(uint64_t id)
{
	const struct slice *last = NULL;
	for (const struct slice *s = slices; s < slices + nslices; s++)
		last = s->id == id ? s : last;
	return last && !last->ends ? last : NULL;
}
