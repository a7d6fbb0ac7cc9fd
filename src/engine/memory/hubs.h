// SPDX-License-Identifier: MIT
//
// hubs.h - small objects, such as locks, by which coroutines that are suspended wait.
//
// A hub is looked for where a coroutine waits: its address lies in a register that the coroutine saved, or in
// its innermost frames. What its words say, cycle_hubs.h and hub_holders.h judge.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/span.h"

enum { HUBS_WORDS = 136, HUBS_NODE_WORDS = 12, HUBS_HUB_WORDS = 8, HUBS_CONTROL_BYTES = 1024 };
#define HUBS_NOBODY UINT32_MAX

struct hubs_member {
	uint64_t id;
	uint64_t slot;              // its saved context: an address in its control block, or on its stack
	struct span stack;          // as declared
	uint64_t sp, pc;            // where it left
	uint64_t words[HUBS_WORDS]; // registers that it saved, then its innermost frames from sp on
	unsigned n;
};

struct hubs_query {
	const struct hubs_member *v;
	size_t n;
	void *ctx;
	bool (*is_data)(void *ctx, uint64_t at); // can the program write there, and is it no code?
	size_t (*peek)(void *ctx, uint64_t at, void *to, size_t bytes);
	// Does the object that `handle` points to belong to this member? NULL: it is not asked.
	bool (*is_handle)(void *ctx, uint64_t handle, const struct hubs_member *m);
	// Is a hub part of this member's own control block? NULL: it is not asked.
	bool (*is_own)(void *ctx, uint64_t hub, const struct hubs_member *m);
	bool (*late)(void *ctx);
	// How many bytes has the object of which a hub is part, from there on? NULL: it is not asked.
	uint64_t (*extent)(void *ctx, uint64_t hub);
	// Where does the object begin of which `at` is part? 0: that is not known. NULL: it is not asked, and
	// no list that goes through control blocks is followed.
	uint64_t (*begin)(void *ctx, uint64_t at);
	// Whose context is there (`top`: whose stack ends there), or was, if nobody's is now? An id; 0.
	// NULL: nobody is known.
	uint64_t (*who)(void *ctx, uint64_t at, bool top, bool *lives);
};

struct hubs_place { // a word of a member that may be a hub's address
	uint64_t at;
	uint32_t member;
};

struct hubs {
	const struct hubs_query *q;
	struct hubs_place *places; // sorted
	size_t nplaces;
	struct span *stacks; // of members, sorted; by_stack: whose
	uint32_t *by_stack;
	uint64_t *slots; // sorted, with by_slot
	uint32_t *by_slot;
};

// -ENOMEM. deinit takes what failed, too.
int hubs_init(struct hubs *h, const struct hubs_query *q);
void hubs_deinit(struct hubs *h);

bool hubs_is_address(uint64_t word);
uint32_t hubs_on_stack(const struct hubs *h, uint64_t word);
// Whose handle is it? HUBS_NOBODY.
uint32_t hubs_whose(const struct hubs *h, uint64_t word);
// The words around a link, of the frames of this member alone. How many; 0: it is not there.
size_t hubs_node(const struct hubs *h, const struct hubs_member *m, uint64_t link,
		 uint64_t words[HUBS_NODE_WORDS]);
