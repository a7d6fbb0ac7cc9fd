// SPDX-License-Identifier: MIT
//
// awaiting_closes.h - C++20 coroutines that waited for a descriptor which was closed.
#pragma once

#include "engine/stackless/awaiting.h"
#include "search/mark/graph.h"

// Sets a->v[].close of each to whose frame the data of a closed registration leads.
void awaiting_closes_join(struct awaiting *a, const struct inspection *l, struct graph *g);
