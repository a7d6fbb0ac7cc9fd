// SPDX-License-Identifier: MIT
//
// witness.h - what ctp-run saw in the kernel and in the program's memory, merged: one
// entry per coroutine and wait (spec/trace.md, "witness.jsonl").
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idmap.h"
#include "ctp/proof.h"

struct witness_item {
	enum holds holds;
	char *text;        // NULL = nothing was said
	uint64_t since_ns; // time of the first look that found it so
};

struct witness {
	unsigned rule; // enum ctp_rule, or a newer one's number
	uint64_t coroutine, changes;
	int64_t fd, gen;
	uint64_t ns; // of the last look
	char *fd_kind, *fd_name;
	struct witness_item items[PROOFS];
	char **open;
	size_t nopen;
	uint64_t turns;
	uint64_t passed_ns; // P4 held of its own threads, and another process may share a set; 0: never seen
	// Another descriptor that leads to it, too; `there`: it may wait for that one as for this.
	struct witness_beside {
		bool is, there;
		int64_t fd, gen;
	} beside;
	bool ticking;     // timers made in one place with its own, which others left disarmed, expire
			  // periodically
	bool left_unread; // bytes of it stayed unread for a second, where that alone speaks for it
	bool left_timed;  // while threads slept with timeouts: a deadline may be what the reader waits for
	bool put_off;     // its event came, and a timer of the program's may be what its turn waits for
	bool wrong_mask;  // it read in vain, and asks for neither what comes nor room
	bool wrote;       // it wrote in vain, and asks for what comes alone
	bool sent;        // it wrote last, all that it gave, and the descriptor is edge-triggered
	bool disguises;   // a look that showed all found nothing that leads to it, in disguise either
	bool unchecked;   // it is parked, and nothing shows that the search finds those that are kept
	bool ended;       // what it waits for, or its registration: there is a candidate
	bool slept_long;  // the loops had slept ten times as long as ever before
	bool pooled;      // all that leads to it is a free list of the program's own
	uint32_t older;   // the entry before this one about the same coroutine, or IDMAP_NONE
};

struct witness_set {
	struct witness *items;
	size_t n, capacity;
	struct idmap last; // coroutine -> its newest entry
	uint64_t bad_lines;
	uint64_t *ran; // those that were shown to be lost, and ran all the same, once each
	size_t nran, ran_room;
	char *control; // why "no pointer found" proves nothing here; NULL: no reason is known
};

// Whether a line about this coroutine with this number of changes counts: 1, 0, or -1: it ran since.
typedef int (*witness_filter)(void *arg, uint64_t coroutine, uint64_t changes);

// Reads all lines; lines that are no looks are counted. No file: an empty set.
int witness_read(struct witness_set *set, int folder, const char *name, witness_filter counts, void *arg);
void witness_deinit(struct witness_set *set);
// The entry about this wait, or NULL.
const struct witness *witness_find(const struct witness_set *set, unsigned rule, uint64_t coroutine,
				   int64_t fd, int64_t gen);
