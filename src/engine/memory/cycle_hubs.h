// SPDX-License-Identifier: MIT
//
// cycle_hubs.h - circles of suspended coroutines that wait for each other's locks.
//
// A hub is a small object, such as a lock, that holds a word by which one coroutine is queued, and another's
// handle. A lock looks like this whatever library it is of: the handle is its owner's. A circle of hubs is
// a deadlock; a word in a frame alone says nothing, since healthy mailboxes look the same by those.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/span.h"

enum { CYCLE_HUBS_WORDS = 136, CYCLE_HUBS_LONGEST = 8 };

struct cycle_hubs_member {
	uint64_t id;
	uint64_t slot;     // its saved context: an address in its control block, or on its stack
	struct span stack; // as declared
	uint64_t sp, pc;   // where it left
	uint64_t words[CYCLE_HUBS_WORDS]; // registers that it saved, then its innermost frames from sp on
	unsigned n;
};

struct cycle_hubs_query {
	const struct cycle_hubs_member *v;
	size_t n;
	void *ctx;
	bool (*is_data)(void *ctx, uint64_t at); // can the program write there, and is it no code?
	size_t (*peek)(void *ctx, uint64_t at, void *to, size_t bytes);
	// Does the object that `handle` points to belong to this member? NULL: it is not asked.
	bool (*is_handle)(void *ctx, uint64_t handle, const struct cycle_hubs_member *m);
	bool (*late)(void *ctx);
};

struct cycle_hubs_circle {
	size_t n;
	bool firm; // the queues' words and the handles differ: each lock says who waits, and who has it
	struct {
		uint32_t member; // it waits at this hub; the next one's handle is in it
		uint64_t hub;
	} at[CYCLE_HUBS_LONGEST];
};

// Finds circles in which no coroutine is in two. How many, of `most`; -ENOMEM.
int cycle_hubs_find(const struct cycle_hubs_query *q, struct cycle_hubs_circle *out, size_t most);
