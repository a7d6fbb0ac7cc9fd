// SPDX-License-Identifier: MIT
//
// ends.h - words that lead to a frame only because it begins where the block before it ends.
#pragma once

#include "engine/inspect/inspect.h"
#include "search/mark/graph.h"

// Does the word hold the end of the block before, and is the begin of that one beside it, as in a container?
bool ends_word(const struct inspection *l, struct graph *g, const struct graph_edge *e);
struct ends {
	struct graph_edge *v; // what was taken out
	size_t n, room;
};

// Takes such words out of the graph, before it is spread. False: no memory; then some count.
bool ends_take(struct ends *t, const struct inspection *l, struct graph *g);
// Once it is spread: marks the groups that would be reached by what was taken out. False: no memory.
bool ends_mark(const struct ends *t, struct graph *g, bool *marked);
void ends_deinit(struct ends *t);
