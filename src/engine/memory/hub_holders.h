// SPDX-License-Identifier: MIT
//
// hub_holders.h - locks that nobody will release: hubs at which coroutines are queued, and which hold the
// handle of an owner that is one of these, or that has ended. Other objects look the same: a mailbox has an
// owner, too, and a channel may remember its last writer.
#pragma once

#include "engine/memory/hubs.h"

enum { HUB_HOLDERS_WAITERS = 16 };

struct hub_holder {
	uint64_t hub;
	uint64_t ended; // id; 0: the one waiter holds it itself
	uint32_t kept;  // that one, if it is a member: its library keeps it, suspended; or HUBS_NOBODY
	uint32_t waiters[HUB_HOLDERS_WAITERS]; // members
	size_t n;
};

struct hub_queue { // coroutines that are queued at a hub, whoever has it
	uint64_t hub;
	size_t word; // which one of the hub leads to the first
	uint32_t waiters[HUB_HOLDERS_WAITERS];
	size_t n;
};

// How many, of `most`. Who is first in two queues is told of the hub that begins nearest to its word.
size_t hub_queues_find(const struct hubs *h, struct hub_queue *out, size_t most);
// How many, of `most`.
size_t hub_holders_find(const struct hubs *h, struct hub_holder *out, size_t most);
