// SPDX-License-Identifier: MIT
#include "engine/stackless/seen_waits.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"

const struct seen_wait *seen_waits_find(const struct seen_waits *s, uint64_t at)
{
	size_t i = FIRST_NOT(s->n, k, s->v[k].at < at);
	return i < s->n && s->v[i].at == at ? &s->v[i] : NULL;
}

bool seen_waits_same(const struct seen_wait *then, const struct seen_wait *now)
{
	return then->created == now->created && then->digest && then->digest == now->digest &&
	       then->event == now->event;
}

void seen_waits_add(struct seen_waits *s, const struct seen_wait *w)
{
	if (!GROW(s->v, s->n, s->room))
		s->v[s->n++] = *w;
}

void seen_waits_deinit(struct seen_waits *s)
{
	free(s->v);
	*s = (struct seen_waits){0};
}
