// SPDX-License-Identifier: MIT
//
// tracks_names.h - how timelines call stacks and coroutines; each text is made once.
#pragma once

#include "analyze/report/finding.h"
#include "base/idmap.h"

struct tracks_site {              // a stack; texts are "" where nothing is known
	uint32_t id;              // from 1
	const char *function;     // that waits, past the library that switches: "conn_reader"
	const char *place;        // "conn_reader src/conn.c:141"
	const char *caller;       // the innermost function of the program's own, and its place: who made the
	const char *caller_place; // call, where the stack is one of a call that blocks
	const char *stack;        // all frames, a line each
};

struct tracks_names {
	struct idmap by_stack, by_called;
	struct tracks_site **sites;
	size_t nsites, sites_capacity;
	char **called;
	size_t ncalled, called_capacity;
};

// Of a stack of this image (NULL, 0: not known), or, where there is none, of a pc. NULL: no memory.
const struct tracks_site *tracks_names_site(struct tracks_names *n, const struct report *r,
					    const struct image *m, uint32_t stack, uint64_t pc);
// What a coroutine is called that began in this function. "" if nobody knows.
const char *tracks_names_called(struct tracks_names *n, const struct report *r, const struct image *m,
				uint64_t id, uint64_t entry);
void tracks_names_deinit(struct tracks_names *n);
