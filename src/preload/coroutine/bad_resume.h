// SPDX-License-Identifier: MIT
//
// bad_resume.h - CTP010 to 012: what is entered although it runs already, has
// ended, or has lost its stack.
#pragma once

#include "preload/guest/guest.h"

// The guest's own words of a state (0 to 3: station.c, coroutine.c), of the release that
// took its stack: from, to, who, and its stack | ENTERED_BLOCK.
#define ENTERED_LO guest[4]
#define ENTERED_HI guest[5]
#define ENTERED_BY guest[6]
#define ENTERED_AT guest[7]
#define ENTERED_BLOCK (1ULL << 32) // by free, of one allocation

// Control is about to pass to s, which runs or lives no more. g->current is still the
// leaver, and its state says where it left. In the table before it happens.
void bad_resume_find(struct guest *g, struct ctp_state *s);
