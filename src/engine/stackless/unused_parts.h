// SPDX-License-Identifier: MIT
//
// unused_parts.h - words that were left behind in the unused part of a container of the C++ library.
#pragma once

#include "engine/stackless/ends.h"

// Takes words out of the graph, before it is spread, that lie in a block of a std::vector or std::deque where
// no element of it is now. Such parts are added to *unused. False: no memory; then some count.
bool unused_parts_take(struct ends *t, struct span_list *unused, const struct inspection *l, struct graph *g);
