// SPDX-License-Identifier: MIT
//
// ends.h - words that lead to a frame only because it begins where the block before it ends.
#pragma once

#include "engine/inspect/inspect.h"
#include "search/mark/graph.h"

// Does the word hold the end of the block before, and is the begin of that one beside it, as in a container?
bool ends_word(const struct inspection *l, struct graph *g, const struct graph_edge *e);
// Do words lead to the group, and only such?
bool ends_alone(const struct inspection *l, struct graph *g, uint32_t group);
