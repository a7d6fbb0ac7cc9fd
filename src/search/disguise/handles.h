// SPDX-License-Identifier: MIT
//
// handles.h - addresses as 32 bits: their lower half, that of one shifted right, or a distance from a base.
//
// Any 32 bits of a large memory may be so by chance. So a form of 32 bits counts only if it is in use: if it
// hits the addresses that are looked for more often than decoys, addresses of the same kind that nobody
// has; or if the program keeps its living coroutines' addresses so.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum handles_class {
	HANDLES_TARGET, // what is looked for
	HANDLES_DECOY,
	HANDLES_LIVING, // of a coroutine that can be reached
	HANDLES_CLASSES
};

struct handles_value {
	uint32_t value, form, index; // index: which address of its class
	uint8_t class, kept;         // kept: how many words were, outside of what is looked for
	bool hit;                    // there is one
};

struct handles_tally {
	uint32_t n[HANDLES_CLASSES], hits[HANDLES_CLASSES];
};

struct handles_slot {
	uint32_t value, first; // index of its first in v, plus one; 0: none
};

struct handles {
	struct handles_value *v; // by value, once it is ready
	size_t n, room;
	struct handles_tally *forms;
	size_t nforms;
	bool failed;    // out of memory
	uint32_t apart; // a form that is asked for by itself; 0: none
	// what follows is handles.c's
	uint64_t *filter, *filter_apart;
	struct handles_slot *slots;
	unsigned filter_bits, apart_bits, slot_bits;
};

bool handles_init(struct handles *h, size_t nforms);
void handles_deinit(struct handles *h);
void handles_add(struct handles *h, uint32_t value, uint32_t form, enum handles_class class, size_t index);
// No more will be added. False if out of memory.
bool handles_ready(struct handles *h);

static inline uint32_t handles_hash(uint32_t value, unsigned bits)
{
	return value * 0x9e3779b1u >> (32 - bits);
}

// False: nobody has this value. True: somebody may. In a form that is none of those apart,
static inline bool handles_may(const struct handles *h, uint32_t value)
{
	uint32_t bit = handles_hash(value, h->filter_bits);
	return h->filter[bit >> 6] >> (bit & 63) & 1;
}

// or in that one: its bit map stays small, and each word asks both.
static inline bool handles_may_apart(const struct handles *h, uint32_t value)
{
	uint32_t bit = handles_hash(value, h->apart_bits);
	return h->filter_apart[bit >> 6] >> (bit & 63) & 1;
}

// Those with this value; how many.
size_t handles_find(const struct handles *h, uint32_t value, struct handles_value **first);
// It was found where it counts.
void handles_note(struct handles *h, struct handles_value *v);
// Is a form with this tally in use? `calibrated`: whoever uses it keeps all of its coroutines so. If none of
// many living ones is found then, more is asked for.
bool handles_in_use(const struct handles_tally *t, bool calibrated);
