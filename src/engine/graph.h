// SPDX-License-Identifier: MIT
//
// graph.h - what leads to what: nodes are objects of one or more spans of
// memory, edges are words in one that point into another. Objects whose spans
// overlap are one group, reachable as a whole.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/look.h"

struct graph_edge {
	uint32_t from, to; // groups; from GRAPH_OUTSIDE: no object holds the word
	uint64_t at;       // the word
};
#define GRAPH_OUTSIDE UINT32_MAX

struct graph_part {
	struct span at;
	uint32_t node;
	bool thin; // can be pointed to, but what stands there is not the node's
};

struct graph {
	uint32_t *group;      // of each node: union-find
	struct span *targets; // sorted, disjoint
	uint32_t *owner;      // group of each target
	bool *thin;           // of each target
	size_t n, ntargets;
	struct graph_edge *edges;
	size_t nedges, room;
	bool *reached;        // by group
	bool failed;          // out of memory, or too many edges: nothing can be told
};

// n nodes, with these parts (which are sorted). 0 or -ENOMEM.
int graph_init(struct graph *g, size_t n, struct graph_part *parts, size_t nparts);
void graph_deinit(struct graph *g);
uint32_t graph_group(struct graph *g, uint32_t node);
// A word at `at` points into target `t`.
void graph_word(struct graph *g, uint64_t at, size_t t);
// Reached from outside; what that leads to, too.
void graph_spread(struct graph *g);
