// SPDX-License-Identifier: MIT
//
// proofs.h - what ctp-run has found out so far about coroutines that are suspended, as it writes it into its
// trace while the program runs.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ps/read/groups.h"

struct proofs_one {
	uint64_t coroutine, changes, ns; // it counts while the coroutine has made no more changes
	uint32_t older;                  // the one before it of the same coroutine, or IDMAP_NONE
	char rule[8];                    // "CTP001"
	char what[128];                  // "fd 12#1 (tcp 127.0.0.1:80)"
	char *lines;                     // the evidence, a line for each item: '+', '-' or '?', then its text
	bool shown;                      // all of it holds that an inspection can show
	enum so_far so_far;              // ctp-run's verdict at its last inspection
};

struct proofs;

int proofs_new(struct proofs **out, pid_t engine); // 0 or -ENOMEM
void proofs_free(struct proofs *p);
// Reads what has come in addition. 0 or -errno.
int proofs_read(struct proofs *p);
// Is there a trace to be read at all?
bool proofs_any(const struct proofs *p);
// The last of a coroutine that stands so, or NULL.
const struct proofs_one *proofs_of(const struct proofs *p, uint64_t coroutine, uint64_t changes);
