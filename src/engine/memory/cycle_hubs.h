// SPDX-License-Identifier: MIT
//
// cycle_hubs.h - circles of suspended coroutines that wait for each other's locks.
//
// A hub is a small object, such as a lock, that holds a word by which one coroutine is queued, and another's
// handle. A lock looks like this whatever library it is of: the handle is its owner's. A circle of hubs is
// a deadlock; a word in a frame alone says nothing, since healthy mailboxes look the same by those.
#pragma once

#include "engine/memory/hubs.h"

enum { CYCLE_HUBS_LONGEST = 8 };

struct cycle_hubs_circle {
	size_t n;
	bool firm;      // the queues' words and the handles differ: each lock says who waits, and who has it
	bool container; // by container_hubs.h
	struct {
		uint32_t member; // it waits at this hub; the next one's handle is in it
		uint64_t hub;
	} at[CYCLE_HUBS_LONGEST];
};

// Finds circles in which no coroutine is in two. How many, of `most`; -ENOMEM.
int cycle_hubs_find(const struct hubs *hubs, struct cycle_hubs_circle *out, size_t most);
