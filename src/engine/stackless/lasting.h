// SPDX-License-Identifier: MIT
//
// lasting.h - the coroutines that the last look reported, each with what its frame held then: is it
// unchanged?
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "engine/stackless/awaiting.h"

struct lasting {
	struct lasting_one *v; // by address
	size_t n, room;
	bool doubted;
	uint64_t control; // the first one that went on though no word had led to it; 0: none is known
};

// A look could tell of these; what was known before goes, but for whether one of the lost has gone on.
void lasting_note(struct lasting *l, const struct awaiting *a, const struct ctp_region *r, pid_t pid,
		  uint64_t deadline);
// Appends that the program keeps coroutines in a form that is not searched for, if that is known.
void lasting_control(const struct lasting *l, FILE *out);
// Appends a line for each that was resumed or destroyed since, and forgets it. pid 0: the process is gone,
// and the table of births alone can tell. False: of some it could not be told.
bool lasting_check(struct lasting *l, FILE *out, const struct ctp_region *r, pid_t pid, uint64_t deadline);
// Appends that nobody could ask again what leads to them.
void lasting_doubt(struct lasting *l, FILE *out, const char *why);
void lasting_deinit(struct lasting *l);
