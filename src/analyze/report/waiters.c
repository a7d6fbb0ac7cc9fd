// SPDX-License-Identifier: MIT
//
// Groups are found by a map: there may be a million waiters, and few stacks.
#include "analyze/report/waiters.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/report/group_by.h"
#include "base/grow.h"
#include "base/idmap.h"

static int note_found(struct idmap *found, const struct report *r, const struct image *m)
{
	int e = 0;
	for (size_t i = 0; !e && i < r->results.ncases; i++)
		if (r->results.cases[i].about.image == m)
			e = idmap_set(found, r->results.cases[i].id, 1);
	return e;
}

static int take(struct waiters *w, const struct report *r, struct idmap *groups, const struct image *m,
		const struct ctp_state *s, enum account kind)
{
	uint64_t key = group_by_key(r, m, s, image_told_stack(m, s)) << 3 | kind;
	uint32_t at = idmap_get(groups, key);
	if (at != IDMAP_NONE) {
		struct waiters_group *g = &w->items[at];
		g->n++;
		g->oldest = s->since < g->oldest->since ? s : g->oldest;
		return 0;
	}
	int e = GROW(w->items, w->n, w->capacity);
	if (!e)
		e = idmap_set(groups, key, (uint32_t)w->n);
	if (!e)
		w->items[w->n++] = (struct waiters_group){m, s, kind, 1};
	return e;
}

static int collect(struct waiters *w, const struct report *r, const struct image *m)
{
	struct idmap groups = {0}, found = {0};
	int e = note_found(&found, r, m);
	for (size_t i = 0; !e && i < m->stations.n; i++) {
		enum account kind = r->accounts[m - r->world->images][i];
		const struct ctp_state *s = image_state(m, i);
		if (kind != ACCOUNT_NONE && kind != ACCOUNT_FOUND && s->runs &&
		    idmap_get(&found, s->id) == IDMAP_NONE)
			e = take(w, r, &groups, m, s, kind);
	}
	idmap_deinit(&groups);
	idmap_deinit(&found);
	return e;
}

static int by_age(const void *a, const void *b)
{
	const struct waiters_group *x = a, *y = b;
	return (x->oldest->since > y->oldest->since) - (x->oldest->since < y->oldest->since);
}

int waiters_collect(struct waiters *w, const struct report *r)
{
	int e = 0;
	*w = (struct waiters){0};
	for (size_t i = 0; !e && i < r->world->nimages; i++) {
		const struct image *m = &r->world->images[i];
		if (m->has_tables && !m->replaced)
			e = collect(w, r, m);
	}
	if (e)
		waiters_deinit(w);
	else if (w->n)
		qsort(w->items, w->n, sizeof(*w->items), by_age);
	return e;
}

void waiters_deinit(struct waiters *w)
{
	free(w->items);
	*w = (struct waiters){0};
}

uint64_t waiters_age_ns(const struct report *r, const struct waiters_group *g)
{
	uint64_t since = world_ns(r->world, g->oldest->since);
	uint64_t shot = g->image->snapshot_ns ? g->image->snapshot_ns : r->world->snapshot_ns;
	return shot > since ? shot - since : 0;
}
