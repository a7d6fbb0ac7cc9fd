// SPDX-License-Identifier: MIT
//
// The steps, each in its file: frames, what state they are in, who awaits whom, which lie in others.
#include "frames/stackless.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "frames/chain.h"
#include "frames/find.h"
#include "frames/nested.h"
#include "frames/running.h"
#include "frames/window.h"

const char *stackless_state_name(enum stackless_state s)
{
	static const char *const names[] = {"suspended", "initial",    "final",
					    "running",   "destroying", "may have ended"};
	return names[s];
}

struct dispatch *stackless_dispatch(struct stackless_list *l, const struct pair *p)
{
	size_t i = (size_t)(p - l->pairs->v);
	if (!l->is_learned[i] && dispatch_learn(&l->learned[i], p, &l->code))
		return NULL;
	l->is_learned[i] = true;
	return &l->learned[i];
}

static void add_store(struct suspension *c, const struct dispatch_store *store)
{
	c->store = store->at;
	c->merged = store->by_register || !store->alone;
	c->nbehind = store->alone || store->value ? store->n : 0; // zeros may be another object's
	memcpy(c->behind, store->behind, sizeof(c->behind));
}

struct suspension stackless_at(struct stackless_list *l, const struct stackless *s)
{
	struct dispatch *d = s->known ? stackless_dispatch(l, s->pair) : NULL;
	struct suspension c = {.gcc = s->pair->maker == PAIR_GCC,
			       .resume = s->pair->resume,
			       .initial = s->state == STACKLESS_INITIAL,
			       .may_be_initial = stackless_may_be_initial(s)};
	if (!d || s->state == STACKLESS_FINAL || s->state == STACKLESS_DESTROYING)
		return c;
	c.asks = d->asks;
	c.landing = dispatch_landing(d, s->pair, &l->code, s->index);
	const struct dispatch_store *store = dispatch_store(d, s->index);
	const struct dispatch_branch *b = dispatch_branch(d, s->index);
	if (store)
		add_store(&c, store);
	c.nbefore = b ? b->n : 0;
	if (b)
		memcpy(c.before, b->before, sizeof(c.before));
	return c;
}

bool stackless_may_be_initial(const struct stackless *s)
{
	return s->pair->maker == PAIR_CLANG && s->state == STACKLESS_SUSPENDED && s->known && !s->index;
}

uint32_t stackless_row(const struct stackless_list *l, uint64_t at)
{
	size_t i = FIRST_NOT(l->n, k, l->v[k].at < at);
	return i < l->n && l->v[i].at == at ? (uint32_t)i : STACKLESS_NONE;
}

// GCC counts a coroutine's suspensions by two, from 2, and adds one when it is to be destroyed; Clang by one,
// from 0. GCC's first is the initial one; what Clang's first is, the caller may know by its line.
static void decide(struct stackless *s)
{
	if (s->state == STACKLESS_FINAL || !s->known || s->pair->maker != PAIR_GCC)
		return;
	if (s->index & 1)
		s->state = STACKLESS_DESTROYING;
	else if (s->index <= 2)
		s->state = STACKLESS_INITIAL;
}

static int read_states(struct stackless_list *l, struct window *w)
{
	for (size_t i = 0; i < l->n; i++) {
		struct stackless *s = &l->v[i];
		struct dispatch *d = stackless_dispatch(l, s->pair);
		if (!d)
			return -ENOMEM;
		s->known = d->known && window_read(w, s->at + d->index.offset, &s->index, d->index.width);
		decide(s);
		if (s->known && s->state != STACKLESS_FINAL && s->state != STACKLESS_DESTROYING)
			dispatch_landing(d, s->pair, &l->code,
					 s->index); // now that the program's memory can be read
	}
	return 0;
}

static int look(struct stackless_list *l, const struct stackless_where *w)
{
	struct window window;
	size_t n = w->pairs->n;
	l->learned = calloc(n + 1, sizeof(*l->learned));
	l->is_learned = calloc(n + 1, sizeof(*l->is_learned));
	if (!l->learned || !l->is_learned || !window_init(&window, w->memory))
		return -ENOMEM;
	int e = find_frames(l, w);
	if (!e)
		e = read_states(l, &window);
	if (!e)
		e = chain_frames(l, &window);
	if (!e)
		e = running_mark(l, w);
	if (!e)
		nested_judge(l);
	window_deinit(&window);
	return e;
}

int stackless_find(struct stackless_list *out, const struct stackless_where *w)
{
	struct stackless_list l = {.pairs = w->pairs, .code = w->code};
	int e = look(&l, w);
	if (e)
		stackless_deinit(&l);
	else
		*out = l;
	return e;
}

void stackless_deinit(struct stackless_list *l)
{
	for (size_t i = 0; l->learned && i < l->pairs->n; i++)
		dispatch_deinit(&l->learned[i]);
	free(l->learned);
	free(l->is_learned);
	free(l->v);
	*l = (struct stackless_list){0};
}
