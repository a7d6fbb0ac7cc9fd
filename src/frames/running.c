// SPDX-License-Identifier: MIT
//
// A coroutine that runs has a return address into its resume function on a thread's stack, unless it is the
// innermost function, and there its frame's address as well. One that awaits another may still have both.
#include "frames/running.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum { STACK_MOST = 1 << 20 };

struct text { // a resume function
	uint64_t lo, hi;
};

static int by_lo(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool is_resumed(const struct text *v, size_t n, uint64_t word)
{
	size_t i = FIRST_NOT(n, k, v[k].lo < word); // a return address is never the first byte
	return i && word <= v[i - 1].hi;
}

// Does the stack hold a return address into the frame's function?
static bool returns_into(const uint64_t *words, size_t n, const struct pair *p)
{
	for (size_t i = 0; i < n; i++)
		if (words[i] > p->codes[0].at && words[i] <= p->codes[0].at + p->codes[0].bytes)
			return true;
	return false;
}

static void mark(struct stackless_list *l, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t row = words[i] % 8 ? STACKLESS_NONE : stackless_row(l, words[i]);
		struct stackless *s = row == STACKLESS_NONE ? NULL : &l->v[row];
		if (s && s->state == STACKLESS_SUSPENDED && s->awaits == STACKLESS_NONE && s->pair->ncodes &&
		    returns_into(words, n, s->pair))
			s->state = STACKLESS_RUNNING;
	}
}

int running_mark(struct stackless_list *l, const struct stackless_where *w)
{
	const struct pairs *p = w->pairs;
	struct text *v = calloc(p->n + 1, sizeof(*v));
	uint64_t *words = malloc(STACK_MOST);
	if (!v || !words) {
		free(v);
		free(words);
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->n; i++)
		v[i] = (struct text){p->v[i].resume,
				     p->v[i].resume + (p->v[i].ncodes ? p->v[i].codes[0].bytes : 1)};
	qsort(v, p->n, sizeof(*v), by_lo);
	for (size_t i = 0; i < w->nstacks && l->n; i++) {
		uint64_t bytes = w->stacks[i].hi - w->stacks[i].sp;
		size_t n = memory_peek(w->memory, w->stacks[i].sp, words,
				       bytes < STACK_MOST ? bytes : STACK_MOST, false) /
			   8;
		bool any = false;
		for (size_t k = 0; k < n && !any; k++)
			any = is_resumed(v, p->n, words[k]);
		if (any)
			mark(l, words, n);
	}
	free(v);
	free(words);
	return 0;
}
