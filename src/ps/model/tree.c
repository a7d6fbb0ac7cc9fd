// SPDX-License-Identifier: MIT
//
// A node is a set of items. Its children are everything that any of them created, grouped by
// kind: a thousand readers that created one writer each are two nodes. Nodes are made breadth
// first, so the children of a node are adjacent and each item is visited once; the time does
// not depend on the shape. Below depth TREE_DEEPEST everything is shown at one level:
// otherwise a program in which each coroutine creates the next one fills a page with blanks.
#include "ps/model/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/idmap.h"

#define NONE SIZE_MAX

struct making {
	struct tree *t;
	const struct tree_item *items;
	size_t n;
	bool apart;
	size_t *child, *sibling; // of items: the first, the next
	size_t *parent;          // NONE: a root's child
	size_t done;             // of t->order
};

static size_t number(const struct making *m, const struct tree_item *i)
{
	return (size_t)(i - m->items);
}

// What lies below the items of a node: their children, or, where it is cut, all there are. They come behind
// m->done.
static size_t gather(struct making *m, const struct tree_node *node)
{
	const struct tree_item **to = m->t->order + m->done;
	size_t n = 0;
	for (size_t i = 0; i < node->n; i++)
		for (size_t c = m->child[number(m, m->t->order[node->first_item + i])]; c != NONE;
		     c = m->sibling[c])
			to[n++] = &m->items[c];
	for (size_t i = 0; node->cut && i < n; i++)
		for (size_t c = m->child[number(m, to[i])]; c != NONE; c = m->sibling[c])
			to[n++] = &m->items[c];
	return n;
}

static int by_kind(const void *a, const void *b)
{
	const struct tree_item *x = *(const struct tree_item *const *)a,
			       *y = *(const struct tree_item *const *)b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int add_node(struct tree *t, struct tree_node node)
{
	int e = GROW(t->nodes, t->n, t->capacity);
	if (!e)
		t->nodes[t->n++] = node;
	return e;
}

// The next n of t->order become the children of node `of`.
static int put_children(struct making *m, size_t of, size_t n)
{
	struct tree *t = m->t;
	const struct tree_item **v = t->order + m->done;
	int e = 0;
	if (n)
		qsort(v, n, sizeof(*v), by_kind);
	t->nodes[of].children = t->n;
	for (size_t i = 0; !e && i < n; i++) {
		if (i && !m->apart && v[i]->kind == v[i - 1]->kind) {
			t->nodes[t->n - 1].n++;
			continue;
		}
		e = add_node(t, (struct tree_node){.first_item = m->done + i,
						   .n = 1,
						   .depth = t->nodes[of].depth + 1,
						   .cut = t->nodes[of].depth + 1 == TREE_DEEPEST});
		t->nodes[of].nchildren += !e;
	}
	m->done += n;
	return e;
}

// All below the nodes from `at` on.
static int grow(struct making *m, size_t at)
{
	int e = 0;
	for (; !e && at < m->t->n; at++)
		if (m->t->nodes[at].depth <= TREE_DEEPEST)
			e = put_children(m, at, gather(m, &m->t->nodes[at]));
	return e;
}

static int by_parent(const void *a, const void *b)
{
	const struct tree_item *x = *(const struct tree_item *const *)a,
			       *y = *(const struct tree_item *const *)b;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x < y ? -1 : x > y;
}

// Those whose parent is none of the items lie in t->order[0, n) by parent: a root for each such parent.
static int put_roots(struct making *m, size_t n)
{
	struct tree *t = m->t;
	int e = 0;
	if (n)
		qsort(t->order, n, sizeof(*t->order), by_parent);
	for (size_t i = 0; !e && i < n; i++)
		if (!i || t->order[i]->parent != t->order[i - 1]->parent)
			e = add_node(t, (struct tree_node){.root = t->order[i]->parent});
	t->nroots = t->n;
	for (size_t i = 0; !e && i < t->nroots; i++) {
		size_t end = m->done;
		while (end < n && t->order[end]->parent == t->nodes[i].root)
			end++;
		e = put_children(m, i, end - m->done);
	}
	return e;
}

static int find_parents(struct making *m)
{
	struct idmap by_id = {0};
	int e = 0;
	for (size_t i = 0; !e && i < m->n; i++)
		e = idmap_set(&by_id, m->items[i].id, (uint32_t)i);
	for (size_t i = 0; !e && i < m->n; i++) {
		uint32_t p = idmap_get(&by_id, m->items[i].parent);
		m->parent[i] = p == IDMAP_NONE ? NONE : p;
	}
	idmap_deinit(&by_id);
	return e;
}

// Only damaged tables say that somebody made who made him: a circle is cut at one place. `walk` is zeroed.
static void cut_circles(struct making *m, size_t *walk)
{
	for (size_t i = 0; i < m->n; i++) {
		size_t at = i;
		for (; at != NONE && !walk[at]; at = m->parent[at])
			walk[at] = i + 1;
		if (at != NONE && walk[at] == i + 1)
			m->parent[at] = NONE;
	}
}

// Those without a parent go into t->order: how many.
static size_t link_items(struct making *m)
{
	size_t roots = 0;
	for (size_t i = 0; i < m->n; i++)
		m->child[i] = NONE;
	for (size_t i = m->n; i-- > 0;) {
		size_t p = m->parent[i];
		if (p == NONE) {
			m->t->order[roots++] = &m->items[i];
		} else {
			m->sibling[i] = m->child[p];
			m->child[p] = i;
		}
	}
	return roots;
}

static int by_size(const void *a, const void *b)
{
	const struct tree_node *x = a, *y = b;
	if (x->all != y->all)
		return x->all > y->all ? -1 : 1;
	return x->first_item < y->first_item ? -1 : x->first_item > y->first_item;
}

static void count_all(struct tree *t)
{
	for (size_t i = t->n; i-- > 0;) {
		struct tree_node *x = &t->nodes[i];
		x->all += x->n;
		for (size_t k = 0; k < x->nchildren; k++)
			x->all += t->nodes[x->children + k].all;
	}
	if (t->nroots)
		qsort(t->nodes, t->nroots, sizeof(*t->nodes), by_size);
	for (size_t i = 0; i < t->n; i++)
		if (t->nodes[i].nchildren)
			qsort(t->nodes + t->nodes[i].children, t->nodes[i].nchildren, sizeof(*t->nodes),
			      by_size);
}

int tree_make(struct tree *t, const struct tree_item *items, size_t n, bool apart)
{
	struct tree got = {.order = calloc(n + 1, sizeof(*got.order))};
	struct making m = {.t = &got,
			   .items = items,
			   .n = n,
			   .apart = apart,
			   .child = calloc(n + 1, sizeof(*m.child)),
			   .sibling = calloc(n + 1, sizeof(*m.sibling)),
			   .parent = calloc(n + 1, sizeof(*m.parent))};
	int e = got.order && m.child && m.sibling && m.parent ? find_parents(&m) : -ENOMEM;
	if (!e)
		cut_circles(&m, m.sibling);
	if (!e)
		e = put_roots(&m, link_items(&m));
	if (!e)
		e = grow(&m, got.nroots);
	free(m.child);
	free(m.sibling);
	free(m.parent);
	if (e) {
		tree_deinit(&got);
		return e;
	}
	count_all(&got);
	*t = got;
	return 0;
}

void tree_deinit(struct tree *t)
{
	free(t->nodes);
	free(t->order);
	*t = (struct tree){0};
}
