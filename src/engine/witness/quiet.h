// SPDX-License-Identifier: MIT
//
// quiet.h - P6b: whether the whole process is quiescent.
#pragma once

#include "engine/inspect/inspect.h"

void quiet_judge(struct inspection *l);
// Mask of the signals for which the process has a handler, but those of faults; all if that cannot be seen.
uint64_t quiet_handled(pid_t pid);
