// SPDX-License-Identifier: MIT
//
// The stack of a group's coroutines names all that await them, so those that await the coroutines of one
// group are of one group, too. Only of chains deeper than a stack is recorded, a group may await itself: it
// is a root.
#include "ps/listing/listing_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/idmap.h"

#define NONE SIZE_MAX

struct walk {
	const struct listing *l;
	size_t *parent, *child, *next; // by group; NONE: there is none
	struct idmap group_of;         // by id
};

static int index_rows(struct walk *w)
{
	int e = 0;
	for (size_t g = 0; !e && g < w->l->ngroups; g++)
		for (size_t i = 0; !e && i < w->l->groups[g].n; i++)
			e = idmap_set(&w->group_of, w->l->groups[g].first[i].id, (uint32_t)g);
	return e;
}

static void find_parents(struct walk *w)
{
	for (size_t g = 0; g < w->l->ngroups; g++) {
		uint64_t id = w->l->groups[g].first->awaited_by;
		uint32_t by = id ? idmap_get(&w->group_of, id) : IDMAP_NONE;
		w->parent[g] = by == IDMAP_NONE ? NONE : by;
	}
}

// A circle is cut at one place. `seen` is zeroed.
static void cut_circles(struct walk *w, size_t *seen)
{
	for (size_t g = 0; g < w->l->ngroups; g++) {
		size_t at = g;
		for (; at != NONE && !seen[at]; at = w->parent[at])
			seen[at] = g + 1;
		if (at != NONE && seen[at] == g + 1)
			w->parent[at] = NONE;
	}
}

static void link_groups(struct walk *w)
{
	size_t n = w->l->ngroups;
	find_parents(w);
	cut_circles(w, w->child);
	for (size_t g = 0; g < n; g++)
		w->child[g] = NONE;
	for (size_t g = n; g-- > 0;) {
		size_t by = w->parent[g];
		w->next[g] = by == NONE ? NONE : w->child[by];
		if (by != NONE)
			w->child[by] = g;
	}
}

// The group behind g, in the order of the tree; NONE: its root has none left.
static size_t after(const struct walk *w, size_t g, unsigned *depth)
{
	if (w->child[g] != NONE) {
		++*depth;
		return w->child[g];
	}
	while (g != NONE && w->next[g] == NONE) {
		g = w->parent[g];
		--*depth;
	}
	return g == NONE ? NONE : w->next[g];
}

static void put(const struct walk *w, struct listing_tree_line *v)
{
	size_t n = 0;
	for (size_t root = 0; root < w->l->ngroups; root++) {
		unsigned depth = 0;
		for (size_t g = w->parent[root] == NONE ? root : NONE; g != NONE; g = after(w, g, &depth))
			v[n++] = (struct listing_tree_line){&w->l->groups[g], depth < LISTING_TREE_DEEPEST ?
										      depth :
										      LISTING_TREE_DEEPEST};
	}
}

int listing_tree(const struct listing *l, struct listing_tree_line **out)
{
	size_t n = l->ngroups + 1;
	struct walk w = {
		l, calloc(n, sizeof(size_t)), calloc(n, sizeof(size_t)), calloc(n, sizeof(size_t)), {0}};
	struct listing_tree_line *v = calloc(n, sizeof(*v));
	int e = w.parent && w.child && w.next && v ? index_rows(&w) : -ENOMEM;
	if (!e) {
		link_groups(&w);
		put(&w, v);
		*out = v;
	} else {
		free(v);
	}
	free(w.parent);
	free(w.child);
	free(w.next);
	idmap_deinit(&w.group_of);
	return e;
}
