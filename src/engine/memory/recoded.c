// SPDX-License-Identifier: MIT
#include "engine/memory/recoded.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/disguise/images.h"

static int by_word(const void *a, const void *b)
{
	const struct recoded_word *x = a, *y = b;
	return (x->word > y->word) - (x->word < y->word);
}

static void add(struct recoded *r, uint64_t address)
{
	struct image i;
	for (unsigned which = images_texts(); which < images_count(); which++)
		if (image_of(which, address, &i) && i.n == sizeof(uint64_t)) {
			memcpy(&r->v[r->n].word, i.bytes, sizeof(uint64_t));
			r->v[r->n++].address = address;
		}
}

static void make(struct recoded *r, const struct graph *g)
{
	size_t n = g->nspans < IMAGES_TARGETS ? g->nspans : IMAGES_TARGETS;
	r->v = calloc(n * (images_count() - images_texts()) + 1, sizeof(*r->v));
	for (size_t i = 0; r->v && i < n; i++)
		add(r, g->spans[i].lo);
	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), by_word);
}

uint64_t recoded_find(struct recoded *r, const struct graph *g, uint64_t word)
{
	if (!r->v)
		make(r, g);
	size_t i = FIRST_NOT(r->n, k, r->v[k].word < word);
	return i < r->n && r->v[i].word == word ? r->v[i].address : 0;
}

void recoded_deinit(struct recoded *r)
{
	free(r->v);
	*r = (struct recoded){0};
}
