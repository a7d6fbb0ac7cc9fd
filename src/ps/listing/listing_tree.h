// SPDX-License-Identifier: MIT
//
// listing_tree.h - groups in the order of a tree: each below the group that awaits it.
#pragma once

#include "ps/listing/listing.h"

enum { LISTING_TREE_DEEPEST = 32 };

struct listing_tree_line {
	const struct listing_group *group;
	unsigned depth; // 0: nobody awaits it; what is deeper than LISTING_TREE_DEEPEST has that depth
};

// l->ngroups lines, which the caller frees. 0 or -ENOMEM.
int listing_tree(const struct listing *l, struct listing_tree_line **out);
