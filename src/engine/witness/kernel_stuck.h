// SPDX-License-Identifier: MIT
//
// kernel_stuck.h - P2 and P3 of suspects whose descriptor is open (the rules of stuck_wait_rule()).
#pragma once

#include "engine/inspect/inspect.h"

// After kernel_judge(), which sorts l->who by coroutine id.
void kernel_stuck(struct inspection *l);
