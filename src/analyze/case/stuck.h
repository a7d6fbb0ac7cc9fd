// SPDX-License-Identifier: MIT
//
// stuck.h - shared by the passes about a coroutine whose descriptor is open (CTP003, 004,
// 005, 008, 009, 027). It walks over the engine's inspections under the pass's rule and
// decides the obligations; the pass decides how far the verdict goes, and adds what only
// its rule knows.
#pragma once

#include "analyze/case/pass.h"

struct stuck_terms {
	// o->verdict is SUSPECT: nothing stands against it. Returns how sure that is.
	enum verdict (*conclude)(const struct suspect *s, const struct obligations *o);
	// Adds what the rule alone knows; may be NULL. fd: the descriptor's entry, or NULL.
	void (*describe)(struct verdict_case *c, const struct ctp_fd *fd, struct results *out);
};

int stuck_run(const struct pass *pass, const struct world *w, struct results *out,
	      const struct stuck_terms *terms);
// What most conclude: PROVEN when quiet and sure, LIKELY when every thread has slept and `likely`, nothing
// when weak.
enum verdict stuck_conclude(const struct obligations *o, bool likely);
// All of P1, P2 hold, and of P0 to P4: nothing but P6 is left to be shown.
bool stuck_sure(const struct obligations *o);
static inline bool stuck_holds(const struct obligations *o, enum proof p)
{
	return o->items[p].holds == HOLDS_TRUE;
}
