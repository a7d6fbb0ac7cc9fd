// SPDX-License-Identifier: MIT
//
// edges.h - who waits for whom, inside the program.
#pragma once

#include "ps/model/report.h"

enum edge_why {
	EDGE_OTHER_END, // of a pipe, a socketpair, a connection, or who feeds the eventfd
	EDGE_LOCK,      // that one holds the lock, as the lock itself says
	EDGE_HELD,      // that one was suspended with it
};

struct edge {
	uint64_t from, to; // ids of entities
	enum edge_why why;
	int32_t fd; // EDGE_OTHER_END
	uint32_t gen;
	uint64_t lock; // the others
	bool only;     // nothing else that is known would wake it
};

struct edges {
	struct edge *v; // by `from`
	size_t n, capacity;
	uint64_t *cycles; // ids, each cycle ended by 0
	size_t ncycles;   // words of it
	size_t cycles_capacity;
};

// 0 or -errno. The report has its rows of all open descriptors (wants->tree).
int edges_find(struct edges *e, const struct report *r);
// Fills `cycles` from v, which is sorted by `from`.
int edges_find_cycles(struct edges *e);
void edges_deinit(struct edges *e);
