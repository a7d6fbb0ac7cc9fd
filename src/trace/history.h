// SPDX-License-Identifier: MIT
//
// history.h - the state of each entity by its records, for a trace without last tables:
// ctp-run was killed before it could write them.
#pragma once

#include "base/idmap.h"
#include "ctp/record.h"
#include "trace/image.h"

struct history_entity {
	uint64_t time; // ticks of its last record
	uint32_t n;    // low bits of its number as of then, if it has one
	bool numbered;
	uint8_t life; // enum ctp_life
	bool native;
};

struct history {
	struct history_entity *items;
	size_t n, capacity;
	struct idmap by_id;
	uint64_t last; // ticks
};

// Takes records of one thread; threads may come in any order. 0 or -ENOMEM.
int history_add(struct history *h, const struct ctp_event *events, size_t n);
// How many coroutines are in which state.
void history_count(const struct history *h, struct image_counts *counts);
void history_deinit(struct history *h);
