// SPDX-License-Identifier: MIT
//
// one_wait.h - P2 of suspects whose descriptor was closed: whether that is the one thing they wait for.
#pragma once

#include "engine/inspect/inspect.h"

void one_wait_judge(struct inspection *l, struct suspect *s);
// Then, of all: open descriptors that lead to a suspect, too. Needs l->who sorted by coroutine id.
void one_wait_others(struct inspection *l);
// What nobody has refuted may still be, in what was not looked at: a P2 that holds becomes undecided. stuck:
// for the rules of stuck_wait_is(); else for all others.
void one_wait_unsettle(struct inspection *l, bool stuck);
// Another wait of the coroutine than F, whose descriptor is open; NULL: none.
const struct ctp_wait *one_wait_other(const struct inspection *l, const struct suspect *s);
