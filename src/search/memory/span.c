// SPDX-License-Identifier: MIT
//
// Without memory the list stays as it is, and says so: what it left out counts as unknown.
#include "search/memory/span.h"

#include <stdlib.h>

void span_add(struct span_list *s, uint64_t lo, uint64_t hi)
{
	if (hi <= lo)
		return;
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		struct span *more = realloc(s->v, room * sizeof(*more));
		if (!more) {
			s->failed = true;
			return;
		}
		s->v = more;
		s->room = room;
	}
	s->v[s->n++] = (struct span){lo, hi};
}

static int by_lo(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

size_t spans_tidy(struct span *v, size_t n)
{
	size_t k = 0;
	if (n)
		qsort(v, n, sizeof(*v), by_lo);
	for (size_t i = 0; i < n; i++) {
		if (v[i].hi <= v[i].lo)
			continue;
		if (k && v[i].lo <= v[k - 1].hi) {
			if (v[i].hi > v[k - 1].hi)
				v[k - 1].hi = v[i].hi;
		} else {
			v[k++] = v[i];
		}
	}
	return k;
}
