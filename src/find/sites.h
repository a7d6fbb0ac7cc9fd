// SPDX-License-Identifier: MIT
//
// sites.h - the addresses behind calls of functions that switch stacks: a suspended coroutine has
// one of these as its innermost return address.
#pragma once

#include "base/idmap.h"
#include "find/objects.h"
#include "find/recipe.h"

enum site_kind {
	SITE_ASSEMBLY, // a switch function, as its recipe says
	SITE_SWAPCONTEXT,
	SITE_GETCONTEXT,
	SITE_SETJMP,
};

struct site_engine {
	enum site_kind kind;
	struct recipe recipe; // of SITE_ASSEMBLY
	uint64_t function;
};

struct site {
	uint64_t addr;
	uint32_t engine;
};

struct site_label { // where a context of this engine begins that never ran
	uint64_t addr;
	uint32_t engine;
};

enum { SITES_STARTS = 8 };

struct sites {
	const struct objects *objects;
	struct site_engine *engines;
	size_t nengines, engines_capacity;
	struct site *v; // by address, each once
	size_t n, capacity;
	struct site_label *labels; // by address
	size_t nlabels, labels_capacity;
	uint64_t starts[SITES_STARTS]; // what makecontext puts on a stack as the return address
	size_t nstarts;
	struct idmap by_addr; // of v; after sites_find
	struct idmap labels_by_addr, leaves;
	// what follows is sites.c's
	struct idmap functions; // what leads to which engine; IGNORED: none
	uint64_t *loads;        // where stack pointers are loaded; by address
	size_t nloads, loads_capacity;
	uint8_t *granules; // a hash of where targets may lie
	bool failed, grown;
};

int sites_find(struct sites *s, const struct objects *o); // 0 or -errno
void sites_deinit(struct sites *s);
const struct site_engine *sites_engine(const struct sites *s, uint64_t addr); // of a return site, or NULL
bool sites_is_leave(const struct sites *s, uint64_t function);                // longjmp, by whatever name
bool sites_is_start(const struct sites *s, uint64_t addr);
