// SPDX-License-Identifier: MIT
//
// graph.h - what leads to what: nodes are objects of one or more spans of
// memory, edges are words in one that point into another. Objects whose spans
// overlap are one group, reachable as a whole.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/span.h"

struct graph_edge {
	uint32_t from, to; // groups; from GRAPH_OUTSIDE: no object holds the word
	uint64_t at;       // the word
};
#define GRAPH_OUTSIDE UINT32_MAX

struct graph_part {
	struct span at;
	uint32_t node;
	bool point; // only at.lo: it leads to the node, but what stands there is not the node's
};

struct graph {
	uint32_t *group;           // of each node: union-find
	struct span *spans;        // of objects: sorted, disjoint
	uint32_t *owner;           // group of each
	struct graph_part *points; // sorted
	struct span *targets;      // all that can be pointed to: sorted, disjoint
	size_t n, nspans, npoints, ntargets;
	struct graph_edge *edges;
	size_t nedges, room;
	uint32_t *to, *first_to; // after graph_spread: edges by what they lead to; where a group's begin
	bool *reached;           // by group
	bool failed;             // out of memory, or too many edges: nothing can be told
};

// n nodes, with these parts (which are sorted). 0 or -ENOMEM.
int graph_init(struct graph *g, size_t n, struct graph_part *parts, size_t nparts);
void graph_deinit(struct graph *g);
uint32_t graph_group(struct graph *g, uint32_t node);
// The groups that an address leads to. How many.
enum { GRAPH_OWNERS = 4 };
unsigned graph_owners(struct graph *g, uint64_t value, uint32_t owners[GRAPH_OWNERS]);
bool graph_has(const struct graph *g, uint64_t addr); // does it lie in an object?
// The word at `at` holds this address, which leads to somebody.
void graph_word(struct graph *g, uint64_t at, uint64_t value);
// Reached from outside; what that leads to, too. Again, once there are more words. False if out of memory.
bool graph_spread(struct graph *g);
// Marks what the groups that are marked lead to, too. False if out of memory.
bool graph_follow(struct graph *g, bool *marked);
// The n-th word that leads to a group, NULL if there are no more; after graph_spread.
const struct graph_edge *graph_edge_to(const struct graph *g, uint32_t group, size_t n);
