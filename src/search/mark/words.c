// SPDX-License-Identifier: MIT
//
// A list that is bounded: a program may hold a great many words that look alike.
#include "search/mark/words.h"

#include <stdlib.h>

static int by_at(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	return x->at < y->at ? -1 : x->at > y->at;
}

void words_add(struct words *w, uint64_t at, uint64_t address)
{
	enum { MOST = 1 << 20 };
	if (w->n == w->room) {
		size_t room = w->room ? w->room * 2 : 256;
		struct word *more = room <= MOST ? realloc(w->v, room * sizeof(*more)) : NULL;
		if (!more) {
			w->failed = true;
			return;
		}
		w->v = more;
		w->room = room;
	}
	w->v[w->n++] = (struct word){at, address};
}

void words_sort(struct words *w)
{
	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), by_at);
}
