// SPDX-License-Identifier: MIT
//
// watch_order.h - which rows are listed, one by one or in groups, and in which order.
#pragma once

#include "ps/watch/watch_model.h"

enum watch_column {
	WATCH_ID,
	WATCH_ENTRY,
	WATCH_STATE,
	WATCH_WHERE,
	WATCH_WAITS,
	WATCH_SINCE,
	WATCH_RATE,
	WATCH_CPU,
	WATCH_SLICE,
	WATCH_STACK, // how much of a stack is used is only known of what is shown: nothing is sorted by it
	WATCH_COLUMNS,
};

// A line of the list: a coroutine, or several that have the same first function, state and stack.
struct watch_item {
	uint32_t row; // of a group: the one that has been so for longest
	uint32_t n;   // how many
	uint64_t since, slice_ns;
	float rate, cpu; // of a group: the sum of those that are known
	bool closed;
};

struct watch_order {
	struct watch_item *items;
	size_t n, capacity;
	struct watch_key *keys, *spare; // of as many
};

struct watch_wish {
	enum watch_column column;
	bool reverse, grouped;
	const struct watch_row *only; // none but those that are of one group with this one; NULL = all
	bool (*listed)(void *arg, const struct watch_row *r);         // NULL = all
	uint32_t (*rank)(void *arg, const struct watch_row *r);       // of its name among all names
	uint32_t (*rank_place)(void *arg, const struct watch_row *r); // of the place where it is suspended
	void *arg;
};

// Lists what is wished for, sorted. 0 or -ENOMEM: then nothing is listed.
int watch_order_make(struct watch_order *o, const struct watch_model *m, const struct watch_wish *w);
void watch_order_deinit(struct watch_order *o);
// Where the coroutine stands in the list (or its group, by its first one); o->n if it does not.
size_t watch_order_place(const struct watch_order *o, const struct watch_model *m, uint64_t id);
bool watch_order_alike(const struct watch_row *a, const struct watch_row *b);
