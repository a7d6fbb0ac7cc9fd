// SPDX-License-Identifier: MIT
//
// awaiting_ways.h - of each C++20 coroutine: may what leads to it resume it?
#pragma once

#include "engine/stackless/awaiting.h"
#include "search/mark/graph.h"

// The search has ended, and what leads where is about to be followed: takes words out that mean something
// else, or that nobody reads: memory that has such ones is added to *unused.
void awaiting_ways_prepare(struct awaiting *a, struct inspection *l, struct graph *g,
			   struct span_list *unused);
// What leads where is known: sets a->v[].answer.
void awaiting_ways_answer(struct awaiting *a, struct inspection *l, struct graph *g);
