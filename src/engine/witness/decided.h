// SPDX-License-Identifier: MIT
//
// decided.h - what ctp-analyze would say of a suspect, were the trace to end now: only where that can be told
// for certain.
#pragma once

#include "engine/inspect/inspect.h"

enum decided {
	DECIDED_NOT, // no finding, SUSPECT, or not to be told here
	DECIDED_LIKELY,
	DECIDED_PROVEN,
};

// After an inspection that answered for *s. Partner: conclude() in analyze/case/obligations.c and
// obligations_stuck.c, which this never exceeds.
enum decided decided_of(const struct ctp_region *r, const struct suspect *s);
// Has it begun to end, or may a signal that it took just now be its end?
bool decided_ending(const struct ctp_region *r);
