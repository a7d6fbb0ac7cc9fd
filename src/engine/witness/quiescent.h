// SPDX-License-Identifier: MIT
//
// quiescent.h - P6b: whether the whole process is quiescent.
#pragma once

#include "engine/inspect/inspect.h"

void quiescent_judge(struct inspection *l);
// Mask of the signals for which the process has a handler, but those of faults; all if that cannot be seen.
uint64_t quiescent_handled(pid_t pid);
