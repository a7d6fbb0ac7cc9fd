// SPDX-License-Identifier: MIT
//
// tree.h - who created whom, with equal coroutines grouped.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_DEEPEST = 32 };

struct tree_item {
	uint64_t id, parent; // parent: an id; one that is not among the items stands for a root of its own
	uint64_t kind;       // those of one kind below one node are put together
	const void *what;    // the caller's
};

// Items of one kind below one node; or, as the first of all nodes are, a root without any.
struct tree_node {
	uint64_t root;              // a root: the id that its children name as their parent
	size_t first_item, n;       // in tree.order
	size_t all;                 // items here and below
	size_t children, nchildren; // in tree.nodes: the largest first
	int depth;                  // 0: a root
	bool cut;                   // what lies deeper is put here side by side
};

struct tree {
	struct tree_node *nodes;
	size_t n, nroots, capacity;
	const struct tree_item **order;
};

// The items outlive it. `apart`: nothing is put together. 0 or -ENOMEM.
int tree_make(struct tree *t, const struct tree_item *items, size_t n, bool apart);
void tree_deinit(struct tree *t);
