// SPDX-License-Identifier: MIT
//
// Without memory the list stays as it is, and says so: what it left out counts as unknown.
#include "search/span.h"

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
