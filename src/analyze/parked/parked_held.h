// SPDX-License-Identifier: MIT
//
// parked_held.h - coroutines that are queued at an object whose owner, a coroutine, has ended (CTP003).
#pragma once

#include "analyze/case/pass.h"

// Of the image; cases from `from` on are of CTP003.
int parked_held(const struct pass *pass, const struct world *w, const struct image *m, struct results *out,
		size_t from);
