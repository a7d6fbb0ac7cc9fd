// SPDX-License-Identifier: MIT
//
// reach.h - P6a: whether a word in the process or in the kernel references a suspect.
#pragma once

#include "engine/inspect/inspect.h"

// A `way` of inspect.h: a thread ran meanwhile, or there was no time. Plain words were all looked at.
#define REACH_HALF "words in disguise were not searched for to the end"
bool reach_half(const struct inspection *l); // is it that one?

// Answers P6a of every suspect whose objects are known (objects.h); takes and releases the threads (hold.h).
void reach_judge(struct inspection *l);
