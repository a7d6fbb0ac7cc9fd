// SPDX-License-Identifier: MIT
//
// Who created whom. The threads' own stacks are roots. A coroutine that has ended stays in the
// tree while the tables still have it and one of its descendants lives; of other ended ones it
// is only known that they are gone. If coroutines are selected by id, the tree is what is
// below these.
#include "ps/model/forest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/idmap.h"

#define KIND_ENDED (1ULL << 63) // | the function

static bool is_native(const struct report *r, uint64_t id)
{
	for (size_t i = 0; i < r->tables.nthreads; i++)
		if (r->tables.threads[i].native == id)
			return true;
	return false;
}

static int index_groups(struct forest *f, const struct report *r)
{
	f->group_of = calloc(r->tables.n ? r->tables.n : 1, sizeof(*f->group_of));
	if (!f->group_of)
		return -ENOMEM;
	for (size_t g = 0; g < r->groups.n; g++)
		for (size_t i = 0; i < r->groups.v[g].n; i++)
			f->group_of[r->groups.v[g].first - r->tables.coroutines + i] = (uint32_t)g;
	return 0;
}

// Those that have ended and led to somebody who lives: as items, behind the living.
static int add_ended(struct forest *f, const struct report *r)
{
	const struct tables *t = &r->tables;
	struct idmap ended = {0};
	bool *taken = calloc(t->nended + 1, sizeof(*taken));
	int e = taken ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < t->nended; i++)
		e = idmap_set(&ended, t->ended[i].id, (uint32_t)i);
	for (size_t i = 0; !e && i < t->n; i++) {
		uint32_t at = idmap_get(&ended, t->coroutines[i].creator);
		for (; at != IDMAP_NONE && !taken[at]; at = idmap_get(&ended, t->ended[at].creator)) {
			const struct coroutine *c = &t->ended[at];
			taken[at] = true;
			f->items[f->n++] = (struct tree_item){c->id, c->creator, KIND_ENDED | c->entry, c};
		}
	}
	free(taken);
	idmap_deinit(&ended);
	return e;
}

// Who made it before the thread, which lives, had a name: as that.
static uint64_t maker(const struct report *r, const struct coroutine *c)
{
	const struct tables_thread *t = tables_thread(&r->tables, c->maker);
	return t && t->native && t->began <= c->created ? t->native : 0;
}

// A parent that is neither an item nor a thread that lives is nobody.
static int name_parents(struct forest *f, const struct report *r)
{
	struct idmap known = {0};
	int e = 0;
	for (size_t i = 0; !e && i < f->n; i++)
		e = idmap_set(&known, f->items[i].id, (uint32_t)i);
	for (size_t i = 0; !e && i < f->n; i++) {
		uint64_t *parent = &f->items[i].parent;
		if (!*parent)
			*parent = maker(r, f->items[i].what);
		else if (idmap_get(&known, *parent) == IDMAP_NONE && !is_native(r, *parent))
			*parent = 0;
	}
	idmap_deinit(&known);
	return e;
}

static bool asked_for(const struct report_wants *w, uint64_t id)
{
	for (size_t i = 0; i < w->nids; i++)
		if (w->ids[i] == id)
			return true;
	return false;
}

// Keeps what was asked for by id, and what that led to.
static int keep_below(struct forest *f, const struct report *r)
{
	enum { UNKNOWN, ON_THE_WAY, NO, YES };
	struct idmap by_id = {0};
	unsigned char *is = calloc(f->n + 1, 1);
	uint32_t *way = calloc(f->n + 1, sizeof(*way));
	size_t kept = 0;
	int e = is && way ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < f->n; i++)
		e = idmap_set(&by_id, f->items[i].id, (uint32_t)i);
	for (size_t i = 0; !e && i < f->n; i++) {
		uint32_t at = (uint32_t)i;
		size_t n = 0;
		for (; at != IDMAP_NONE && is[at] == UNKNOWN; at = idmap_get(&by_id, f->items[at].parent)) {
			is[at] = ON_THE_WAY;
			way[n++] = at;
		}
		for (bool yes = at != IDMAP_NONE && is[at] == YES; n; is[way[n]] = yes ? YES : NO)
			yes |= asked_for(r->wants, f->items[way[--n]].id);
	}
	for (size_t i = 0; !e && i < f->n; i++)
		if (is[i] == YES)
			f->items[kept++] = f->items[i];
	f->n = e ? f->n : kept;
	free(is);
	free(way);
	idmap_deinit(&by_id);
	return e;
}

int forest_new(struct forest **out, const struct report *r)
{
	const struct tables *t = &r->tables;
	struct forest *f = calloc(1, sizeof(*f));
	int e = f ? index_groups(f, r) : -ENOMEM;
	if (!e && !(f->items = calloc(t->n + t->nended + 1, sizeof(*f->items))))
		e = -ENOMEM;
	for (size_t i = 0; !e && i < t->n; i++)
		f->items[f->n++] = (struct tree_item){t->coroutines[i].id, t->coroutines[i].creator,
						      f->group_of[i], &t->coroutines[i]};
	if (!e)
		e = add_ended(f, r);
	if (!e)
		e = name_parents(f, r);
	if (!e && r->wants->nids)
		e = keep_below(f, r);
	if (!e)
		e = tree_make(&f->tree, f->items, f->n, r->wants->all);
	if (!e)
		e = edges_find(&f->edges, r);
	if (e)
		forest_free(f);
	else
		*out = f;
	return e;
}

void forest_free(struct forest *f)
{
	if (!f)
		return;
	tree_deinit(&f->tree);
	edges_deinit(&f->edges);
	free(f->items);
	free(f->group_of);
	free(f);
}

static int by_time(const void *a, const void *b)
{
	const struct coroutine *x = a, *y = b;
	if (x->since_ns != y->since_ns)
		return x->since_ns > y->since_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

int forest_group(const struct forest *f, const struct report *r, const struct tree_node *node,
		 struct coroutine **copy, struct group *g)
{
	struct coroutine *v = calloc(node->n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	*g = (struct group){.first = v, .n = node->n, .one_creator = true};
	for (size_t i = 0; i < node->n; i++) {
		v[i] = *(const struct coroutine *)f->tree.order[node->first_item + i]->what;
		g->one_creator &= v[i].creator_stack == v[0].creator_stack;
	}
	qsort(v, node->n, sizeof(*v), by_time);
	uint64_t kind = f->tree.order[node->first_item]->kind;
	g->stack = kind < r->groups.n ? r->groups.v[kind].stack : 0;
	*copy = v;
	return 0;
}
