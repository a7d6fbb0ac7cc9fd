// SPDX-License-Identifier: MIT
//
// pauses.h - programs that take the interest in a descriptor away under its waiter for a while: rate
// limiters, backpressure. It looks like a fault until it is given back.
#pragma once

#include "analyze/case/obligations.h"

// SUSPECT at most, unless nothing can resume the coroutine, or its loops have slept for much longer than they
// ever did: where the program has paused a descriptor before and gone on with it, or may (`always`).
void pauses_weaken(struct obligations *o, const struct suspect *s, bool always);
