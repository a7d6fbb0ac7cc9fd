// SPDX-License-Identifier: MIT
//
// stack_ends.h - helpers of the search for what leads to a coroutine: which words that
// look like the end of a suspect's mapping are the start of what lies behind
// it; words put aside; and whose stack an address lies on.
#pragma once

#include "engine/inspect/look.h"

// A word in `by` that holds `at` means what begins there, not what ends there;
// so does one in a block of the heap that holds the handle of what begins there.
struct end {
	uint64_t at;
	struct span by;
	uint64_t handle; // 0: none is known
};

struct ends {
	struct end *v; // sorted
	size_t n, room;
};

void stack_ends_init(struct ends *e, const struct look *l);
void stack_ends_deinit(struct ends *e);
bool stack_ends_explain(const struct ends *e, uint64_t at, uint64_t address);
// Could it be explained by the block it lies in? Is it?
bool stack_ends_may_explain(const struct ends *e, uint64_t address);
bool stack_ends_explain_in(const struct ends *e, pid_t pid, struct span block, uint64_t address);

struct word {
	uint64_t at, address;
};

struct words {
	struct word *v;
	size_t n, room;
	bool failed; // some are missing
};

void words_add(struct words *w, uint64_t at, uint64_t address);
void words_sort(struct words *w); // by place

struct owner {
	struct span stack;
	uint64_t id;
};

struct owners {
	struct owner *v; // sorted
	size_t n;
};

void owners_init(struct owners *o, const struct look *l);
void owners_deinit(struct owners *o);
uint64_t owners_find(const struct owners *o, uint64_t addr); // id; 0
