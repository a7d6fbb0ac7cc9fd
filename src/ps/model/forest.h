// SPDX-License-Identifier: MIT
//
// forest.h - a program's coroutines as a tree of who created whom.
#pragma once

#include "ps/model/edges.h"
#include "ps/model/tree.h"

struct forest {
	struct tree tree;
	struct tree_item *items; // `what` is a struct coroutine
	size_t n;
	struct edges edges;
	uint32_t *group_of; // of the report's groups, for each of tables.coroutines
};

int forest_new(struct forest **out, const struct report *r); // 0 or -errno
void forest_free(struct forest *f);
// A node's coroutines as a group, the longest wait first: `*copy` holds them, free it. 0 or -ENOMEM.
int forest_group(const struct forest *f, const struct report *r, const struct tree_node *node,
		 struct coroutine **copy, struct group *g);
