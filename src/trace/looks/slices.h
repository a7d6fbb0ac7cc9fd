// SPDX-License-Identifier: MIT
//
// slices.h - how long coroutines held their loop, and how deep their stacks were, as
// ctp-run sampled it: one entry per rule, coroutine and site (spec/trace.md,
// "slices.jsonl" and "highwater.jsonl").
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct json_t json_t;

// Their stacks stand beside the image's own: ids from here on.
#define SLICES_STACK 0x80000000u
#define SLICES_STACK_WORDS 64
// One of their flags, beside CTP_STACK_*: of what is inlined there, only the outermost function is meant.
#define SLICES_OUTERMOST 0x80000000u

struct slices_item {
	unsigned rule;
	uint64_t coroutine, changes, site;
	uint64_t count;                        // times that it happened
	uint64_t began_ns, slice_ns, total_ns; // the worst slice; all of them
	uint64_t cpu_ns, delayed_ns, blocked_ns, asleep_ns;
	bool over, disk, waited;
	uint64_t others, served;
	uint32_t went_on, left;           // stack ids of the image
	uint32_t stack, owner_stack;      // stack ids; 0 = none
	char *call, *fd_kind, *lock_name; // NULL: none
	int32_t fd;                       // -1: none
	uint32_t gen;
	uint64_t lock, owner, owner_tid, blocked_tid;
	uint64_t size, unused; // of its stack
};

struct slices_stack {
	uint64_t pcs[SLICES_STACK_WORDS];
	unsigned n;
	uint32_t flags;
};

struct slices_set {
	struct slices_item *items;
	size_t n, capacity;
	struct slices_stack *stacks;
	size_t nstacks, stacks_capacity;
	uint64_t dropped, bad_lines;
};

// Reads all lines, a later one about the same supersedes. No file: nothing is added. 0 or -errno.
int slices_read(struct slices_set *s, int folder, const char *name);
// The id of a stack as JSON has it; 0: there is none. 0 or -errno.
int slices_stack(struct slices_set *s, const json_t *addresses, uint32_t *id);
int slices_stack_of(struct slices_set *s, const json_t *addresses, uint32_t flags, uint32_t *id);
void slices_deinit(struct slices_set *s);
