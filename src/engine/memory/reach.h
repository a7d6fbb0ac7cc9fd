// SPDX-License-Identifier: MIT
//
// reach.h - P6a: whether a word in the process or in the kernel references a suspect.
#pragma once

#include "engine/inspect/inspect.h"

// Answers P6a of every suspect whose objects are known (objects.h); takes and releases the threads (hold.h).
void reach_judge(struct inspection *l);
