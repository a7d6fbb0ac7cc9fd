// SPDX-License-Identifier: MIT
//
// timer_taken.h - coroutines whose sleep ended with another's: the timer that they had armed was disarmed
// before it expired (CTP027).
#pragma once

#include "analyze/case/pass.h"

// Cases, SUSPECT at most.
int timer_taken(const struct pass *pass, const struct world *w, const struct image *m, struct results *out);
