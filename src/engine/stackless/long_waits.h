// SPDX-License-Identifier: MIT
//
// long_waits.h - the coroutines that wait, by where they and those that await them stand, and since when each
// is known to. It outlasts the look, so that the last lines of the file can be written anew without one.
#pragma once

#include <stdio.h>

#include "base/idmap.h"
#include "engine/stackless/awaiting.h"

enum { LONG_PLACES = 64 };

struct long_waits {
	struct idmap told; // places that the file tells of
	struct long_place *places;
	struct long_one *v;
	size_t nplaces, n, room;
	long begin, end; // the last lines of the file
};

// The file is begun anew.
void long_waits_clear(struct long_waits *w);
// Who waits, as this look has seen it.
void long_waits_note(struct long_waits *w, struct awaiting *a);
enum long_waits_of {
	LONG_FULL,  // the look that the file tells of
	LONG_AGAIN, // a later one, which could not tell what leads where
	LONG_STILL, // no thread has run since
};
// Puts the lines at the end of the file, or in the place of those that are there.
void long_waits_write(struct long_waits *w, FILE *out, uint64_t ns, enum long_waits_of of);
void long_waits_deinit(struct long_waits *w);
