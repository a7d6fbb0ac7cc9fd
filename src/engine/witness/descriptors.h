// SPDX-License-Identifier: MIT
//
// descriptors.h - the open descriptors that suspended coroutines wait for, or have used.
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"

// What the kernel said, of one that has a peer, and what the tables had of it then.
struct descriptors_answer {
	int fd, bytes;
	uint32_t gen;
	uint64_t ns, event_time, last_in;
	uint64_t ready_ns; // since then it was readable whenever it was asked; 0: it is not
};

// What descriptors.jsonl has. Begins as zeros.
struct descriptors_told {
	struct descriptors_answer *v; // by number
	size_t n, room, lines;
};

// Writes descriptors.jsonl anew, and what of them is unread. At the deadline, or where the process ends, it
// leaves what is there if that is more.
void descriptors_write(FILE *out, struct descriptors_told *told, const struct ctp_region *r, pid_t pid,
		       uint64_t deadline_ns);
void descriptors_told_deinit(struct descriptors_told *told);
// Is a coroutine suspended of which the descriptor that it waits for, or used last, may tell more?
bool descriptors_wanted(const struct ctp_region *r);
