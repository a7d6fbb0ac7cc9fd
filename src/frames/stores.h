// SPDX-License-Identifier: MIT
//
// stores.h - the instructions of a coroutine's function that store its state, and the branches that lead to
// them.
#pragma once

#include "frames/dispatch.h"

// Adds those of this code, which is not the resume function's if `ramp`, to *d, whose field is known. 0 or
// -ENOMEM.
int stores_sweep(struct dispatch *d, const uint8_t *code, size_t n, uint64_t at, bool ramp);
// Does the code at `from` come to `to`, before it calls or decides anything?
bool stores_meet(const struct dispatch_code *code, uint64_t from, uint64_t to);
